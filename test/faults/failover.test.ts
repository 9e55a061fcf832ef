/**
 * The way to PostgreSQL fails under load: it slows to a crawl, and it leads to another server, which at first is still
 * a standby. Till is told nothing and goes on behind the same address.
 */
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { effort } from '../support/effort.ts';
import { TcpLine } from '../support/tcp-line.ts';
import { endure } from './rig/endure.ts';
import { copyFiles, promote, replicaSettings, startOnCopy } from './rig/postgres-copy.ts';
import { PostgresServer } from './rig/postgres-server.ts';
import { startRig } from './rig/rig.ts';

/** Each way: a round trip takes longer than the second after which a database counts as down. */
const crawlDelayMs = effort({ short: 600, long: 2_500 });
const crawlMs = effort({ short: 1_000, long: 30_000 });
const failovers = effort({ short: 1, long: 3 });
const silentFailovers = effort({ short: 1, long: 2 });

test('the way to PostgreSQL crawls, then leads to another server', async (t) => {
  let primary = await PostgresServer.start(replicaSettings);
  const line = await TcpLine.open(primary.socketPath);
  const rig = await startRig(t, { databaseUrl: primary.urlBy(line.port) });
  t.after(() => primary.remove());
  t.after(() => line.close());
  const load = rig.startLoad();
  const health = rig.watchHealth();
  await load.progressed(15);

  await t.test('every response takes more than a second', (step) =>
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
      step.after(() => former.remove());
      await endure(step, load, health, {
        down: ['database'],
        begin: async () => {
          await former.stop('fast');
          primary = await startOnCopy(await copyFiles(former), 'standby');
          line.leadTo(primary.socketPath);
        },
        meanwhile: () => load.meetsFault(performance.now()),
        end: () => promote(primary),
      });
    });

  for (let count = 1; count <= silentFailovers; count += 1)
    await t.test('failover away from a server that hangs, with every connection to it open', async (step) => {
      const former = primary;
      // It must not run again: what it did would be lost. A frozen server also keeps a failed test from ending.
      step.after(() => former.remove());
      await endure(step, load, health, {
        down: ['database'],
        begin: () => former.freeze(),
        end: async () => {
          primary = await startOnCopy(await copyFiles(former), 'primary');
          line.leadTo(primary.socketPath);
        },
      });
    });

  await t.test('nothing was lost, nothing was done twice', () => rig.check(load));
});
