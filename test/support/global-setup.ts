import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '#core/platform/logger.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#runtime/embedded-postgres.ts';
import { bundlePrograms, bundleVariable } from './bundle.ts';
import { clusterVariable, copyCluster } from './cluster-template.ts';
import { prepareClusters } from './prepared-clusters.ts';
import { type RedisServer, redisVariable, startRedis } from './redis-server.ts';
import { databaseVariable } from './test-database.ts';

let folder: string | undefined;
let postgres: EmbeddedPostgres | undefined;
let redis: RedisServer | undefined;

/**
 * One PostgreSQL and one Redis for the whole run. Every test file has a database of its own, and files run side by
 * side. A whole run also bundles what it starts often.
 */
export async function globalSetup({ isWholeRun = false } = {}): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'till-test-'));
  if (isWholeRun) {
    process.env[bundleVariable] = join(folder, 'bundles');
    await bundlePrograms(join(folder, 'bundles'));
  }
  const { empty, shared } = await prepareClusters(folder);
  process.env[clusterVariable] = empty;
  const dataDir = join(folder, 'server');
  copyCluster(dataDir, shared);
  const starting = startEmbeddedPostgres({
    dataDir,
    logger: createLogger('error'),
    // Nothing of a test run needs to survive a power cut, and no database lives long enough to need a vacuum.
    settings: { fsync: 'off', full_page_writes: 'off', autovacuum: 'off', max_connections: '500' },
  });
  [postgres, redis] = await Promise.all([starting, startRedis()]);
  process.env[databaseVariable] = postgres.url;
  if (redis !== undefined) process.env[redisVariable] = redis.url;
}

export async function globalTeardown(): Promise<void> {
  await redis?.stop();
  await postgres?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}
