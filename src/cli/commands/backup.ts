import { resolve } from 'node:path';
import { BackupError } from '../../backup/backup-error.ts';
import { createLogger } from '../../platform/logger.ts';
import type { Config } from '../../till/config.ts';
import { defineCommand } from '../command.ts';

/** Only the embedded database consists of files that belong to Till. */
export function refuseOwnDatabase({ databaseUrl }: Config, verb: 'Back up' | 'Restore'): void {
  if (databaseUrl === undefined) return;
  throw new BackupError(
    `DATABASE_URL is set, and this command is for the embedded database. ${verb} your own database with pg_dump and ` +
      'pg_restore, or with the tools of its provider: see docs/backup-and-restore.md.',
  );
}

export const backup = defineCommand({
  name: 'backup',
  summary: 'copy the embedded database into a folder, even while the service runs',
  positionals: [{ name: 'FOLDER', about: 'the folder to create; it must not exist' }],
  details: `The backup has everything that was acknowledged before it began. If Till uses the embedded sandbox, it also has the
sandbox's data. It contains personal data and the password of the embedded database, so only you can read it. It does
not contain the API key in DATA_DIR. The folder gets its name when the backup is complete; repeat an interrupted backup.`,
  run: async ({ config: readConfig, positionals: [folder = ''], output, signal }) => {
    const config = readConfig();
    refuseOwnDatabase(config, 'Back up');
    const { backUp } = await import('../../backup/backup.ts');
    const path = resolve(folder);
    const { files, ...manifest } = await backUp({
      dataDir: config.dataDir,
      target: path,
      hasSandbox: config.processor.secretKey === undefined,
      logger: createLogger('error', output.stderr),
      signal,
    });
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const { id, createdAt, tillVersion, postgresMajorVersion, schemaVersion, hasSandbox } = manifest;
    output.result(
      { path, id, createdAt, tillVersion, postgresMajorVersion, schemaVersion, hasSandbox, bytes },
      `The backup is in ${path} (${Math.ceil(bytes / 1_000_000)} MB).`,
    );
  },
});
