import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from '../../support/redis-server.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { projectFolder } from '../../support/till-in-child.ts';
import { startWholeTill } from '../../support/whole-till.ts';

/** Many times what a page takes on a busy machine. */
const pageTimeoutMs = 120_000;
/** The addresses that pages name, because `npm start` uses them. */
const documented = { till: 'http://127.0.0.1:3000', sandbox: 'http://127.0.0.1:3001', receiver: 4000 };

/** A folder and a running Till, as a reader has them after `npm start`. */
export interface ExamplePlace {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Puts the addresses of this Till in place of the documented ones. */
  adapt(text: string): string;
}

/** A Till with its sandbox on a database of its own: pages move the clock, and must not meet each other's objects. */
export async function startPlace(t: TestContext): Promise<ExamplePlace> {
  const folder = await mkdtemp(join(tmpdir(), 'till-docs-'));
  const database = await createTestDatabase();
  const dataDir = join(folder, '.till');
  const receiverPort = await freePort();
  const till = await startWholeTill({
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true',
  });
  t.after(async () => {
    await till.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });
  await installPackages(folder);
  const sandboxUrl = /http:\S+/.exec(till.facts.processor)?.[0] ?? '';
  return {
    folder,
    environment: {
      PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      // Without it, each page would compile the client again.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      // For `till` commands, which join the service.
      DATABASE_URL: database.url,
      SANDBOX_PORT: new URL(sandboxUrl).port,
      DATA_DIR: dataDir,
      TILL_API_KEY: (await readFile(join(dataDir, 'api-key'), 'utf8')).trim(),
    },
    timeoutMs: pageTimeoutMs,
    adapt: (text) =>
      text
        .replaceAll(documented.till, till.url)
        .replaceAll(documented.sandbox, sandboxUrl)
        .replaceAll(
          new RegExp(`(127\\.0\\.0\\.1:|listen\\()${documented.receiver}\\b`, 'g'),
          `$1${receiverPort}`,
        ),
  };
}

/** The packages that the examples import, as in a project that has installed them. The client is that of this checkout. */
export async function installPackages(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, '@till/client'), { recursive: true });
  await symlink(join(projectFolder, 'client/src'), join(modules, '@till/client/src'));
  await writeFile(
    join(modules, '@till/client/package.json'),
    JSON.stringify({ name: '@till/client', type: 'module', exports: './src/index.ts' }),
  );
  for (const name of ['standardwebhooks', '@types', 'stripe'])
    await symlink(join(projectFolder, 'node_modules', name), join(modules, name));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
}
