/**
 * The way to PostgreSQL fails under load: it slows to a crawl, and it leads to another server, which at first is still
 * a standby. Till is told nothing and goes on behind the same address.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { effort } from '../support/effort.ts';
import { TcpLine } from '../support/tcp-line.ts';
import { endure } from './rig/endure.ts';
import { PostgresServer } from './rig/postgres-server.ts';
import { startRig } from './rig/rig.ts';

/** Each way: a round trip takes longer than the second after which a database counts as down. */
const crawlDelayMs = effort({ short: 600, long: 2_500 });
const crawlMs = effort({ short: 1_000, long: 30_000 });
const failovers = effort({ short: 1, long: 3 });
/** Every connection has to be given up before one is made that leads somewhere: too long for the short form. */
const silentFailovers = effort({ short: 0, long: 2 });
/** A standby follows its primary's log, which must say enough for that. */
const settings = { wal_level: 'replica', hot_standby: 'on' };

test('the way to PostgreSQL crawls, then leads to another server', async (t) => {
  let primary = await PostgresServer.start(settings);
  const line = await TcpLine.open(primary.socketPath);
  const rig = await startRig(t, { databaseUrl: primary.urlBy(line.port) });
  t.after(() => primary.remove());
  t.after(() => line.close());
  const load = rig.startLoad();
  const health = rig.watchHealth();
  await load.progressed(15);

  await t.test('every answer takes more than a second', (step) =>
    endure(step, load, health, {
      down: ['database'],
      begin: () => line.slowDown(crawlDelayMs),
      meanwhile: () => setTimeout(crawlMs),
      end: () => line.slowDown(0),
    }),
  );

  for (let count = 1; count <= failovers; count += 1)
    await t.test('failover to another server, which is a standby at first', async (step) => {
      const former = primary;
      await endure(step, load, health, {
        down: ['database'],
        begin: async () => {
          await former.stop('fast');
          primary = await startCopy(former, 'standby');
          line.leadTo(primary.socketPath);
        },
        meanwhile: () => load.meetsFault(performance.now()),
        end: () => promote(primary),
      });
      await former.remove();
    });

  for (let count = 1; count <= silentFailovers; count += 1)
    await t.test('failover away from a server that hangs, with every connection to it open', async (step) => {
      const former = primary;
      await endure(step, load, health, {
        down: ['database'],
        begin: () => former.freeze(),
        end: async () => {
          primary = await startCopy(former);
          line.leadTo(primary.socketPath);
        },
      });
      // It must not come to life again: what it still did would be lost.
      await former.remove();
    });

  await t.test('nothing was lost, nothing was done twice', () => rig.check(load));
});

/** Another server on a copy of what the first one has written down; a standby can be read, not written to. */
async function startCopy(former: PostgresServer, as: 'primary' | 'standby' = 'primary') {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-failover-'));
  const cluster = 'postgres/cluster';
  await copy(join(former.dataDir, cluster), join(dataDir, cluster));
  const data = join(dataDir, cluster, 'data');
  // It names the process that works on the original.
  await rm(join(data, 'postmaster.pid'), { force: true });
  if (as === 'standby') await writeFile(join(data, 'standby.signal'), '');
  return PostgresServer.start(settings, dataDir);
}

/** With its owners and modes, on which PostgreSQL insists. */
async function copy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await promisify(execFile)('cp', ['-a', from, to]);
}

async function promote(server: PostgresServer): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query<{ promoted: boolean }>('select pg_promote() as promoted');
  await client.end();
  assert.equal(rows[0]?.promoted, true);
}
