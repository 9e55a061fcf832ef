import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { migrate } from '../../src/platform/migrate.ts';
import { type RedisServer, redisVariable, startRedis } from './redis-server.ts';
import { databaseVariable, templateDatabase } from './test-database.ts';

const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url));
const logger = createLogger('error');

let dataDir: string | undefined;
let postgres: EmbeddedPostgres | undefined;
let redis: RedisServer | undefined;

/**
 * One PostgreSQL and one Redis for the whole run. The database is migrated once, as a template: cloning it takes
 * milliseconds, so every test file has a database of its own, and files run side by side.
 */
export async function globalSetup(): Promise<void> {
  dataDir = await mkdtemp(join(tmpdir(), 'till-test-'));
  postgres = await startEmbeddedPostgres({
    dataDir,
    logger,
    // Nothing of a test run needs to survive a power cut.
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '300' },
  });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`create database ${templateDatabase}`);
  await client.end();
  await migrate({ url: withDatabase(postgres.url, templateDatabase), folder: migrationsFolder, logger });
  process.env[databaseVariable] = postgres.url;
  redis = await startRedis();
  if (redis !== undefined) process.env[redisVariable] = redis.url;
}

export async function globalTeardown(): Promise<void> {
  await redis?.stop();
  await postgres?.stop();
  if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true });
}

function withDatabase(url: string, name: string): string {
  return url.replace('/postgres?', `/${name}?`);
}
