/**
 * PostgreSQL as users run it when one machine is not enough: three servers under Patroni, with etcd and HAProxy. The
 * primary changes under load, by order and because its machine dies. Till is told nothing. It is only a part of
 * `npm run test:faults`, because a cluster that shares two cores with other tests changes its primary by itself.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { assertEventsComplete } from '../support/checks/outbox.ts';
import { createClient } from '../support/client.ts';
import { inTurn } from '../support/in-turn.ts';
import { assertSame, createLostCases, inventory, sendLost } from '../support/lost-cases.ts';
import { createCustomer } from '../support/objects.ts';
import { FeedReader } from './rig/feed-reader.ts';
import { HealthWatch } from './rig/health-watch.ts';
import type { Load } from './rig/load.ts';
import { PatroniCluster, skipWithoutPatroni } from './rig/patroni-cluster.ts';
import { type Rig, startRig } from './rig/rig.ts';

/** How often the primary is changed, and how often it dies. */
const rounds = Number(process.env['CLUSTER_ROUNDS'] ?? 1);
const skip = skipWithoutPatroni();
/** Recovery begins within seconds after a failover; more is a defect. */
const backMsMax = 60_000;
const lookDelayMs = 100;

const ways = {
  'through HAProxy': ({ proxyUrl }: PatroniCluster) => proxyUrl,
  'with several hosts in DATABASE_URL': ({ hostsUrl }: PatroniCluster) => hostsUrl,
};

for (const [way, urlOf] of Object.entries(ways))
  test(`a synchronous cluster, ${way}`, { skip }, async (t) => {
    const { cluster, rig, readers } = await startStage(t, { isSynchronous: true, urlOf });
    const load = rig.startLoad();
    const watches = rig.tills.map((till) => new HealthWatch(() => till.url));
    for (const watch of watches) rig.atEnd(() => watch.stop());
    await load.progressed(20);
    const report = (step: TestContext, sinceMs: number) => describeErrors(step, load, watches, sinceMs);

    for (let round = 1; round <= rounds; round += 1) {
      await t.test(`switchover ${round}`, async (step) => {
        const beganAtMs = performance.now();
        await cluster.switchOver();
        await load.progressed(20);
        report(step, beganAtMs);
        await cluster.isWhole();
      });
      await t.test(`kill ${round}`, async (step) => {
        const beganAtMs = performance.now();
        const startAgain = await cluster.killPrimary();
        await cluster.hasPrimary();
        await load.progressed(20);
        report(step, beganAtMs);
        await startAgain();
        await cluster.isWhole();
      });
    }

    await t.test('nothing was lost, nothing was done twice', () => rig.check(load));
    await t.test('every reader saw every event once', () => assertReadOnce(rig, readers));
    const { attempts } = load.ledger.client;
    t.diagnostic(
      `${2 * rounds} changes of the primary, ${attempts.length} requests, ${attempts.filter(isError).length} errors, ` +
        `${load.ledger.made.length} created, ${readers[0]?.events.length} events`,
    );
  });

test('an asynchronous cluster that loses the newest commits', { skip }, async (t) => {
  const { cluster, rig, readers } = await startStage(t, {
    isSynchronous: false,
    urlOf: ways['with several hosts in DATABASE_URL'],
  });
  const { client } = rig;
  const load = rig.startLoad();
  await load.progressed(20);
  await rig.check(load);
  const cases = await createLostCases(rig, client);
  await cluster.isWhole();

  const goOn = await cluster.pauseReplication();
  const lost = await inTurn(cases, async (one) => {
    const response = await sendLost(client, one);
    assert.equal(response.status, one.status, `${one.name}: ${JSON.stringify(response.body)}`);
    return { one, response };
  });
  const customers = await inTurn([1, 2, 3], () => createCustomer(client));
  for (const reader of readers) await reader.hasRead(customers.at(-1)?.id ?? '');
  const existing = await inventory(rig);
  const readBefore = readers.map(({ ids }) => ids.length);
  const startAgain = await cluster.killPrimary();
  goOn();
  await cluster.hasPrimary();
  const promotedAtMs = performance.now();

  await t.test('what was acknowledged is back at once', async (step) => {
    for (const { id } of customers)
      while ((await client.tryGet(`/customers/${id}`).catch(() => undefined))?.status !== 200) {
        assert.ok(performance.now() - promotedAtMs < backMsMax, 'it is not back');
        await setTimeout(lookDelayMs);
      }
    step.diagnostic(`back ${seconds(performance.now() - promotedAtMs)} after the promotion`);
  });
  await t.test('repeated requests get what was acknowledged, and create and charge nothing', async () => {
    for (const one of lost) assertSame(one, await sendLost(client, one.one));
    assert.deepEqual(await inventory(rig), existing);
  });
  await t.test('readers get what exists, and each new event once', async () => {
    const last = await createCustomer(client);
    const all = new FeedReader(client);
    rig.atEnd(() => all.stop());
    for (const reader of [all, ...readers]) await reader.hasRead(last.id);
    assert.equal(new Set(all.ids).size, all.ids.length);
    for (const [index, reader] of readers.entries()) {
      const before = new Set(reader.ids.slice(0, readBefore[index]));
      const after = reader.ids.slice(readBefore[index]);
      assert.ok(
        [...before].some((id) => !all.ids.includes(id)),
        'some events that it read are lost',
      );
      assert.deepEqual(
        after,
        all.ids.filter((id) => !before.has(id)),
      );
    }
    await assertEventsComplete(client, rig.sql);
  });
  await startAgain();
  await cluster.isWhole();
});

interface StageOptions {
  readonly isSynchronous: boolean;
  readonly urlOf: (cluster: PatroniCluster) => string;
}

/** A cluster, two processes, and a reader of events at each. */
async function startStage(t: TestContext, { isSynchronous, urlOf }: StageOptions) {
  const cluster = await PatroniCluster.start({ isSynchronous });
  const rig = await startRig(t, {
    databaseUrl: cluster.proxyUrl,
    processes: 2,
    environment: { DATABASE_URL: urlOf(cluster) },
  });
  t.after(() => cluster.remove());
  const readers = rig.tills.map((till) => new FeedReader(createClient(till)));
  for (const reader of readers) rig.atEnd(() => reader.stop());
  return { cluster, rig, readers };
}

async function assertReadOnce({ client, atEnd }: Rig, readers: readonly FeedReader[]): Promise<void> {
  const last = await createCustomer(client);
  const all = new FeedReader(client);
  atEnd(() => all.stop());
  for (const reader of [all, ...readers]) await reader.hasRead(last.id);
  assert.equal(new Set(all.ids).size, all.ids.length);
  for (const { ids } of readers) assert.deepEqual(ids, all.ids);
}

/** Says what clients saw, and whether /health said so. */
function describeErrors(t: TestContext, load: Load, watches: readonly HealthWatch[], sinceMs: number): void {
  const attempts = load.ledger.client.attempts.filter(({ atMs, tookMs }) => atMs + tookMs >= sinceMs);
  const errors = attempts.filter(isError);
  const endsMs = errors.map(({ atMs, tookMs }) => atMs + tookMs);
  const looks = watches.flatMap(({ looks: own }) =>
    own.filter(({ respondedAtMs }) => respondedAtMs >= sinceMs),
  );
  const downsMs = looks.filter(({ down }) => down?.length !== 0).map(({ respondedAtMs }) => respondedAtMs);
  const early = endsMs.filter((ms) => ms < Math.min(...downsMs)).length;
  const late = endsMs.filter((ms) => ms > Math.max(...downsMs)).length;
  t.diagnostic(
    `${attempts.length} requests, ${errors.length} errors in ${seconds(Math.max(...endsMs) - Math.min(...endsMs))}; ` +
      `/health said so for ${seconds(Math.max(...downsMs) - Math.min(...downsMs))}, ` +
      `${early} errors came before and ${late} after`,
  );
}

function isError({ status }: { readonly status: number }): boolean {
  return status === 0 || status >= 500;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
