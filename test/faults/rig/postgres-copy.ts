import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { PostgresServer } from './postgres-server.ts';

/** A standby follows its primary's log, which must say enough for that. */
export const replicaSettings = { wal_level: 'replica', hot_standby: 'on' };

/** The same for a primary that standbys stream from. */
export const streamedSettings = { ...replicaSettings, max_wal_senders: '5' };

const cluster = 'postgres/cluster';

/** Copies what a server has written down. It must be stopped or frozen. Returns the folder of the copy. */
export async function copyFiles(former: PostgresServer): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-failover-'));
  await copy(join(former.dataDir, cluster), join(dataDir, cluster));
  // It names the process that works on the original.
  await rm(join(dataDir, cluster, 'data', 'postmaster.pid'), { force: true });
  return dataDir;
}

/** Another server on a copy; a standby can be read, not written to. */
export async function startOnCopy(
  dataDir: string,
  as: 'primary' | 'standby',
  settings: Readonly<Record<string, string>> = replicaSettings,
): Promise<PostgresServer> {
  if (as === 'standby') await writeFile(join(dataDir, cluster, 'data', 'standby.signal'), '');
  return PostgresServer.start(settings, dataDir);
}

/** A primary, and a standby that streams its log. */
export async function startStreamingPair(): Promise<{
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
}> {
  const primary = await PostgresServer.start(streamedSettings);
  await primary.stop('fast');
  const copy = await copyFiles(primary);
  await primary.start();
  const standby = await startOnCopy(copy, 'standby', {
    ...streamedSettings,
    primary_conninfo: primary.url,
    // A lost connection to the primary is not what these tests wait for.
    wal_retrieve_retry_interval: '100ms',
  });
  return { primary, standby };
}

export async function promote(server: PostgresServer): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query<{ promoted: boolean }>('select pg_promote() as promoted');
  await client.end();
  assert.equal(rows[0]?.promoted, true);
}

/** With its owners and modes, on which PostgreSQL insists. */
async function copy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await promisify(execFile)('cp', ['-a', from, to]);
}
