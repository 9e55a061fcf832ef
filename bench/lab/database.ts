import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { createLogger } from '#core/platform/logger.ts';
import { migrate } from '#core/platform/migrate.ts';
import { startEmbeddedPostgres } from '#runtime/embedded-postgres.ts';

const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url));

/**
 * The settings of a small production server: every commit reaches the disk (the embedded server's default), the buffers
 * are a quarter of the memory of a 2 GB machine, and the log is large enough for a burst without a checkpoint.
 */
const settings = { max_connections: '150', shared_buffers: '512MB', max_wal_size: '4GB' };

/** Runs one statement at a time. */
export interface BenchSession extends AsyncDisposable {
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface BenchDatabase extends BenchSession {
  readonly name: string;
  readonly url: string;
  /** Another session, for statements that run at the same time. */
  openSession(): Promise<BenchSession>;
}

export interface DatabaseServer extends AsyncDisposable {
  readonly pid: number;
  create(kind: 'till' | 'empty'): Promise<BenchDatabase>;
  /** Writes out what earlier work left in memory, so that it does not slow down the next contestant. */
  settle(): Promise<void>;
}

/** One PostgreSQL server for all contestants. Each has its own database. */
export async function startDatabaseServer(folder: string): Promise<DatabaseServer> {
  const logger = createLogger('error', process.stderr);
  const postgres = await startEmbeddedPostgres({ dataDir: folder, logger, settings });
  const pidFile = await readFile(join(folder, 'postgres', 'cluster', 'data', 'postmaster.pid'), 'utf8');
  const server = await connect(postgres.url);
  // A peer's migrations refer to this role.
  await server.query('create role postgres');
  let count = 0;
  return {
    pid: Number(pidFile.split('\n')[0]),
    create: async (kind) => {
      count += 1;
      const name = `bench_${count}`;
      await server.query(`create database ${name}`);
      const url = postgres.url.replace('/postgres?', `/${name}?`);
      if (kind === 'till') await migrate({ url, folder: migrationsFolder, logger });
      const session = await openSession(url);
      return {
        ...session,
        name,
        url,
        openSession: () => openSession(url),
        [Symbol.asyncDispose]: async () => {
          await session[Symbol.asyncDispose]();
          await server.query(`drop database ${name} with (force)`);
        },
      };
    },
    settle: async () => {
      await server.query('checkpoint');
    },
    [Symbol.asyncDispose]: async () => {
      await server.end();
      await postgres.stop();
    },
  };
}

async function openSession(url: string): Promise<BenchSession> {
  const client = await connect(url);
  return {
    query: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await client.query<Row>(text, [...values])).rows,
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // A connection that the server ends emits an error. Without a listener, the error would end this process.
  client.on('error', () => {});
  await client.connect();
  return client;
}
