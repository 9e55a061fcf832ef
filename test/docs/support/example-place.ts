import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Lifetime } from '../../support/backend.ts';
import { programFile } from '../../support/bundle.ts';
import { freePort } from '../../support/free-port.ts';
import { installCommand } from '../../support/install-command.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { projectFolder } from '../../support/till-in-child.ts';
import { startWholeTill } from '../../support/whole-till.ts';

/** Many times what a page takes on a busy machine. */
const pageTimeoutMs = 120_000;
/** The addresses that pages name, because `npm start` uses them. */
const documented = { till: 'http://127.0.0.1:3000', sandbox: 'http://127.0.0.1:3001', receiver: 4000 };

/** A running Till with its sandbox, as `npm start` starts it. */
export interface ExampleTill {
  readonly url: string;
  readonly sandboxUrl: string;
  readonly databaseUrl: string;
  /** Where its API key is. Undefined if there is no Till. */
  readonly dataDir: string | undefined;
}

/** A folder beside a running Till, as a reader has it after `npm start`. */
export interface ExamplePlace {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Puts the addresses of this Till in place of the documented ones. */
  adapt(text: string): string;
}

export async function startExampleTill(life: Lifetime): Promise<ExampleTill> {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-docs-data-'));
  const database = await createTestDatabase();
  const till = await startWholeTill({ DATABASE_URL: database.url, DATA_DIR: dataDir });
  life.after(async () => {
    await till.stop();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const sandboxUrl = /http:\S+/.exec(till.facts.processor)?.[0] ?? '';
  return { url: till.url, sandboxUrl, databaseUrl: database.url, dataDir };
}

export async function openPlace(life: Lifetime, till: ExampleTill): Promise<ExamplePlace> {
  const folder = await mkdtemp(join(tmpdir(), 'till-docs-'));
  life.after(() => rm(folder, { recursive: true, force: true }));
  const key = till.dataDir === undefined ? '' : await readFile(join(till.dataDir, 'api-key'), 'utf8');
  await mkdir(join(folder, '.till'));
  await writeFile(join(folder, '.till/api-key'), key);
  await installPackages(folder);
  const receiverPort = await freePort();
  const receiver = new RegExp(`(127\\.0\\.0\\.1:|listen\\()${documented.receiver}\\b`, 'g');
  return {
    folder,
    environment: {
      PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      // Without it, each page would compile the client again.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      // npm would look for a newer npm.
      npm_config_update_notifier: 'false',
      // For `till` commands, which join the service.
      DATABASE_URL: till.databaseUrl,
      SANDBOX_PORT: new URL(till.sandboxUrl).port,
      TILL_API_KEY: key.trim(),
    },
    timeoutMs: pageTimeoutMs,
    adapt: (text) =>
      text
        .replaceAll(documented.till, till.url)
        .replaceAll(documented.sandbox, till.sandboxUrl)
        .replaceAll(receiver, `$1${receiverPort}`),
  };
}

/**
 * The packages that the examples import, as in a project that has installed them. The client is that of this checkout.
 */
export async function installPackages(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, '@till/client'), { recursive: true });
  const client = resolve(projectFolder, programFile('client/src/index.ts'));
  await symlink(join(projectFolder, 'client/src'), join(modules, '@till/client/src'));
  await symlink(dirname(client), join(modules, '@till/client/run'));
  const exports = { types: './src/index.ts', default: `./run/${basename(client)}` };
  await writeFile(
    join(modules, '@till/client/package.json'),
    JSON.stringify({ name: '@till/client', type: 'module', exports }),
  );
  await installCommand(folder);
  for (const name of ['standardwebhooks', '@types', 'stripe'])
    await symlink(join(projectFolder, 'node_modules', name), join(modules, name));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
}
