import { randomUUID } from 'node:crypto';
import pg from 'pg';

/** Where the global set-up leaves the address of the test server for the test processes. */
export const databaseVariable = 'TEST_DATABASE_URL';
export const templateDatabase = 'till_template';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** The connections of this process that create and drop databases. */
let server: pg.Pool | undefined;

/** A database of the test's own: a clone of the migrated template, or an empty one. */
export async function createTestDatabase(from: 'template' | 'empty' = 'template'): Promise<TestDatabase> {
  const serverUrl = process.env[databaseVariable];
  if (serverUrl === undefined)
    throw new Error(`${databaseVariable} is not set: run the tests with "npm test"`);
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const template = from === 'template' ? templateDatabase : 'template0';
  // They stay open for the next database, and do not keep the process alive.
  server ??= openPool({ connectionString: serverUrl, max: 2, allowExitOnIdle: true });
  // Copying the files takes an eighth of the time that writing every page to the log takes.
  await server.query(`create database ${name} template ${template} strategy file_copy`);
  return {
    url: serverUrl.replace('/postgres?', `/${name}?`),
    drop: async () => void (await server?.query(`drop database if exists ${name} with (force)`)),
  };
}

/** Runs statements on a connection of their own. */
export async function runOnServer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/**
 * A pool for a test's own queries. `end()` resolves before the sessions have ended, so dropping the database right
 * after it may end them first; without a listener that error would fail the test.
 */
export function openPool(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(options);
  pool.on('error', () => {});
  return pool;
}
