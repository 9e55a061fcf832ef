import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLogger } from '#core/platform/logger.ts';
import { migrate } from '#core/platform/migrate.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#runtime/embedded-postgres.ts';
import { bundlePrograms, bundleVariable } from './bundle.ts';
import { clusterVariable, copyCluster } from './cluster-template.ts';
import { type RedisServer, redisVariable, startRedis } from './redis-server.ts';
import { databaseVariable, runOnServer, templateDatabase } from './test-database.ts';

const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url));
const logger = createLogger('error');

let folder: string | undefined;
let postgres: EmbeddedPostgres | undefined;
let redis: RedisServer | undefined;

/**
 * One PostgreSQL and one Redis for the whole run. The database is migrated once, as a template: cloning it takes
 * milliseconds, so every test file has a database of its own, and files run side by side. The cluster is initialised
 * once as well, for tests that start a server of their own. A whole run also bundles what it starts often.
 */
export async function globalSetup({ isWholeRun = false } = {}): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'till-test-'));
  if (isWholeRun) {
    process.env[bundleVariable] = join(folder, 'bundles');
    await bundlePrograms(join(folder, 'bundles'));
  }
  const cluster = join(folder, 'cluster');
  const fresh = await startEmbeddedPostgres({ dataDir: cluster, logger, settings: { fsync: 'off' } });
  await fresh.stop();
  process.env[clusterVariable] = cluster;
  const dataDir = join(folder, 'server');
  copyCluster(dataDir, cluster);
  takePlainPasswords(dataDir);
  postgres = await startEmbeddedPostgres({
    dataDir,
    logger,
    // Nothing of a test run needs to survive a power cut, and no database lives long enough to need a vacuum.
    settings: { fsync: 'off', full_page_writes: 'off', autovacuum: 'off', max_connections: '500' },
  });
  await hashPasswordOnce(postgres.url);
  await runOnServer(postgres.url, `create database ${templateDatabase}`);
  const template = withDatabase(postgres.url, templateDatabase);
  await migrate({ url: template, folder: migrationsFolder, logger });
  // PostgreSQL caches the catalogue in a file at the first connection; the copies get that file too.
  await runOnServer(template, 'select 1');
  process.env[databaseVariable] = postgres.url;
  redis = await startRedis();
  if (redis !== undefined) process.env[redisVariable] = redis.url;
}

export async function globalTeardown(): Promise<void> {
  await redis?.stop();
  await postgres?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

/**
 * A wrong password is still refused. But proving to know it, without sending it, takes both sides as much CPU time as
 * the rest of a connection, and tests make thousands of connections to their own machine.
 */
function takePlainPasswords(dataDir: string): void {
  const file = join(dataDir, 'postgres/cluster/data/pg_hba.conf');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('scram-sha-256', 'password'));
}

/** A password is hashed 4096 times at every connection. Tests make thousands of connections, and guard no secret. */
async function hashPasswordOnce(url: string): Promise<void> {
  const { username, password } = new URL(url.replace('@/', '@localhost/'));
  const set = `alter role ${username} password '${decodeURIComponent(password)}'`;
  await runOnServer(url, `set scram_iterations = 1; ${set}`);
}

function withDatabase(url: string, name: string): string {
  return url.replace('/postgres?', `/${name}?`);
}
