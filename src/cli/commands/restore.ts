import { resolve } from 'node:path';
import type { Restored } from '../../backup/restore.ts';
import { createLogger } from '../../platform/logger.ts';
import { defineCommand } from '../command.ts';
import { refuseOwnDatabase } from './backup.ts';

export const restore = defineCommand({
  name: 'restore',
  summary: 'put a backup of the embedded database in place, while no service runs',
  positionals: [{ name: 'FOLDER', about: 'the folder of the backup' }],
  options: {
    replace: { type: 'boolean', about: 'move an existing database aside' },
    'with-sandbox': {
      type: 'boolean',
      about: "also replace the sandbox's data, which is otherwise restored only if there is none",
    },
  },
  details: `The checksums of the backup are verified before anything changes. Existing data is moved aside, never deleted. An
interrupted restore can be repeated. After it, start the service and run "till resync --all".`,
  run: async ({ config: readConfig, positionals: [folder = ''], values, output, signal }) => {
    const config = readConfig();
    refuseOwnDatabase(config, 'Restore');
    const { restore: putInPlace } = await import('../../backup/restore.ts');
    const backup = resolve(folder);
    const isSandbox = config.processor.secretKey === undefined;
    const restored = await putInPlace({
      dataDir: config.dataDir,
      backup,
      replace: values.replace,
      sandbox: values['with-sandbox'] ? 'replace' : isSandbox ? 'missing' : 'never',
      logger: createLogger('error', output.stderr),
      signal,
    });
    const { aside, hasSandbox, manifest, isNew } = restored;
    const { id, createdAt } = manifest;
    output.result(
      { dataDir: config.dataDir, id, createdAt, isNew, hasSandbox, aside },
      describe(restored, config.dataDir),
    );
    output.note('Start the service, then run "till resync --all".');
  },
});

function describe({ manifest, isNew, hasSandbox, aside }: Restored, dataDir: string): string {
  const what = `the database${hasSandbox ? ' and the sandbox' : ''} of ${manifest.createdAt}`;
  return [
    isNew ? `Restored ${what} to ${dataDir}.` : `${dataDir} has ${what} already.`,
    ...aside.map((path) => `The data that was there before is in ${path}.`),
  ].join('\n');
}
