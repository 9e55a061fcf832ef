/**
 * Some seconds of mixed load, then four times what the service can do. By hand, for longer:
 *   LOAD_MINUTES=60 npm run test:faults -- test/load/mixed.test.ts
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Stripe } from 'stripe';
import type { Load } from '../faults/rig/load.ts';
import type { Attempt } from '../faults/rig/load-client.ts';
import { type Rig, startRig } from '../faults/rig/rig.ts';
import { webhookSecrets } from '../support/backend.ts';
import { testKey } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { connectionsMax, type Hit, OpenLoop, type Shot } from './open-loop.ts';
import { type Holding, holdingOf, median, percentile } from './process-watch.ts';

const loadMinutes = Number(process.env['LOAD_MINUTES'] ?? effort({ short: 0.1, long: 5 }));
/** Until then, caches fill, code is compiled, and the heap grows to its size. */
const warmUpShare = 0.25;
/** Then every pool has its size, and objects of every kind exist, even on a busy machine. */
const warmUpRounds = 100;
const slowWarmUpRounds = effort({ short: 20, long: 100 });
const lookDelayMs = 250;
/**
 * Slower in the long form, which tests a long time and not a high rate: this process keeps a record of every request.
 */
const paceMs = effort({ short: 30, long: 150 });

/**
 * The allowed growth between the first and the last third. A leak of a kilobyte for each request exceeds it in the long
 * form.
 */
const rssGrowthMax = 1.25;
/**
 * The heap grows until its first full collection, and settles at about 300 MB within minutes. Below this size it may
 * still grow.
 */
const rssSettledMegabytes = 400;
/** Pools grow to their size and shrink again. A leak in one of a hundred requests exceeds this. */
const handlesGrowthMax = 30;

/**
 * The allowed growth of the median latency between the first and the last third. Other work on the machine can slow
 * requests down, but a leak exceeds this.
 */
const latencyGrowthMax = 2;
/** Fewer requests of a kind in a third show nothing about its latency. */
const latencyCountMin = 30;

const capacityShots = effort({ short: 1_000, long: 2_000 });
/** Enough to keep the service busy, and too few to overload it. */
const capacityLanes = 32;
const overloadFactor = 4;
const overloadSeconds = effort({ short: 1, long: 20 });
const overloadShotsMax = 200_000;
/** Each attempt offers up to four times the rate of the one before. */
const overloadAttemptsMax = 5;
/** "Within seconds": from the last response during the overload until every request is served again. */
const recoveryMsMax = 5_000;

test('under mixed load memory, handles and connections stay flat; four times what it can do is shed, webhooks first', async (t) => {
  const rig = await startRig(t);
  const load = rig.startLoad({ workers: 8, paceMs });
  await load.progressed(warmUpRounds);
  await assertFlat(t, rig, load);
  await assertSheds(t, rig, load);
  await rig.check(load);
});

test('the same stays flat at a processor that is as slow and as strict as a real account', async (t) => {
  const rig = await startRig(t);
  const load = rig.startLoad({ workers: 8, paceMs });
  await rig.withManners(async () => {
    await load.progressed(slowWarmUpRounds);
    await assertFlat(t, rig, load);
    await load.end();
  });
  await rig.check(load);
});

async function assertFlat(t: TestContext, rig: Rig, load: Load): Promise<void> {
  const pid = await rig.tills[0]?.pid();
  assert.ok(pid !== undefined);
  const startedAtMs = performance.now();
  const looks: Holding[] = [];
  const count = Math.ceil((loadMinutes * 60_000) / lookDelayMs);
  for (let look = 0; look < count; look += 1) {
    await setTimeout(lookDelayMs);
    looks.push(holdingOf(pid));
  }
  const warmAtMs = startedAtMs + (performance.now() - startedAtMs) * warmUpShare;
  assertLatenciesFlat(
    t,
    load.ledger.client.attempts.filter(({ atMs }) => atMs >= warmAtMs),
  );
  const warm = looks.slice(Math.floor(count * warmUpShare));
  const third = Math.floor(warm.length / 3);
  const medianOf = (part: readonly Holding[], what: keyof Holding) => median(part.map((look) => look[what]));
  const growth = (what: keyof Holding) => {
    const [first, last] = [medianOf(warm.slice(0, third), what), medianOf(warm.slice(-third), what)];
    t.diagnostic(`${what}: ${first.toFixed(0)} in the first third, ${last.toFixed(0)} in the last`);
    return { last, by: last - first, times: last / first };
  };
  const rss = growth('rssMegabytes');
  assert.ok(rss.last < rssSettledMegabytes || rss.times < rssGrowthMax, 'memory grows');
  assert.ok(growth('handles').by < handlesGrowthMax, 'handles pile up');
  assert.ok(growth('connections').by < handlesGrowthMax, 'connections pile up');
}

function assertLatenciesFlat(t: TestContext, attempts: readonly Attempt[]): void {
  for (const [what, group] of Map.groupBy(attempts, (attempt) => attempt.what)) {
    const took = group.map(({ tookMs }) => tookMs);
    const tell = (part: readonly number[]) =>
      [0.5, 0.95, 0.99].map((share) => percentile(part, share).toFixed(1)).join(', ');
    const third = Math.floor(took.length / 3);
    const [first, last] = [took.slice(0, third), took.slice(-third)];
    t.diagnostic(`${what}: ${took.length} requests; p50, p95, p99 in ms: ${tell(took)}`);
    if (third < latencyCountMin) continue;
    t.diagnostic(`${what}: in the first third ${tell(first)}, in the last ${tell(last)}`);
    assert.ok(median(last) < median(first) * latencyGrowthMax, `${what} becomes slower`);
  }
}

async function assertSheds(t: TestContext, rig: Rig, load: Load): Promise<void> {
  const loop = new OpenLoop(rig.url());
  rig.atEnd(() => loop.close());
  const payment = load.ledger.made.find(({ kind }) => kind === 'payments');
  assert.ok(payment !== undefined);
  const shots = (count: number, label: string) => makeShots(payment.id, count, label);

  const startedAtMs = performance.now();
  const calm = await loop.fireInLanes(shots(capacityShots, 'calm'), capacityLanes);
  const served = calm.filter(isServed).length;
  const perSecond = (served / (performance.now() - startedAtMs)) * 1_000;
  assert.equal(served, capacityShots, 'nothing is shed before its time');

  await loop.fireApart(shots(connectionsMax, 'arriving'), capacityLanes);
  const { hits, sentAtMs, offered, done } = await overload(loop, perSecond, shots);
  const endedAtMs = performance.now();
  for (let isWell = false; !isWell; )
    isWell = (await loop.fireInLanes(shots(20, `well-${performance.now()}`), 4)).every(isServed);
  const recoveryMs = performance.now() - endedAtMs;
  const drainMs = endedAtMs - sentAtMs;

  const [webhooks, reads] = ['webhook', 'read'].map((kind) => hits.filter(({ shot }) => shot.kind === kind));
  const [webhooksShed, readsShed] = [shedShare(webhooks ?? []), shedShare(reads ?? [])];
  t.diagnostic(`it did ${done.toFixed(0)} requests/s and was offered ${offered.toFixed(0)}`);
  t.diagnostic(`shed: ${percent(webhooksShed)} of the webhooks, ${percent(readsShed)} of the reads`);
  const took = hits.filter(isServed).map(({ tookMs }) => tookMs);
  t.diagnostic(
    `served meanwhile: p50 ${median(took).toFixed(0)} ms, p99 ${percentile(took, 0.99).toFixed(0)} ms`,
  );
  t.diagnostic(
    `all is served again ${recoveryMs.toFixed(0)} ms after the last response, which came ${drainMs.toFixed(0)} ms after the last request`,
  );
  const odd = hits.filter((hit) => !isServed(hit) && !(isShed(hit) && hit.hasRetryAfter));
  assert.deepEqual(odd.slice(0, 3), [], `${odd.length} responses are neither served nor shed`);
  assert.ok(offered >= overloadFactor * done, 'it never had four times what it can do');
  assert.ok(webhooksShed > 0, 'an overload is shed');
  assert.ok(webhooksShed > readsShed, 'webhooks are shed before reads');
  assert.ok(recoveryMs < recoveryMsMax, `recovery took ${recoveryMs.toFixed(0)} ms`);
  await assertKept(rig, [...calm, ...(webhooks ?? [])].filter(isServed));
}

/**
 * Offers four times the rate that the service can serve. That rate is known only during an overload, because concurrent
 * requests share database statements. If the service served more than the measurement without an overload had shown,
 * the rate is raised and offered again.
 */
async function overload(
  loop: OpenLoop,
  perSecond: number,
  shots: (count: number, label: string) => readonly Shot[],
) {
  let offered = overloadFactor * perSecond;
  for (let attempt = 1; ; attempt += 1) {
    const count = Math.min(overloadShotsMax, Math.round(offered * overloadSeconds));
    const crowd = shots(count, `crowd-${attempt}`);
    const startedAtMs = performance.now();
    const { hits, sentAtMs } = await loop.fire(crowd, offered);
    const done = (hits.filter(isServed).length / (performance.now() - startedAtMs)) * 1_000;
    if (offered >= overloadFactor * done || attempt === overloadAttemptsMax)
      return { hits, sentAtMs, offered, done };
    offered = overloadFactor * done;
  }
}

const isServed = ({ status }: Hit) => status === 200;
const isShed = ({ status }: Hit) => status === 503 || status === 429;
const percent = (share: number) => `${(share * 100).toFixed(0)} %`;

function shedShare(hits: readonly Hit[]): number {
  return hits.filter(isShed).length / hits.length;
}

/** Every webhook that was acknowledged is in the inbox. */
async function assertKept(rig: Rig, served: readonly Hit[]): Promise<void> {
  const rows = await rig.sql<{ id: string }>('select id from till.webhook_events');
  const kept = new Set(rows.map(({ id }) => id));
  const lost = served.filter(({ shot }) => shot.kind === 'webhook' && !kept.has(shot.id));
  assert.deepEqual(lost.slice(0, 3), [], `${lost.length} acknowledged webhooks are lost`);
}

/** Half of the requests read a payment. The others are webhooks of a type that is stored and changes no mirror. */
function makeShots(paymentId: string, count: number, label: string): readonly Shot[] {
  const key = `x-api-key: ${testKey}\r\n`;
  const read = Buffer.from(`GET /api/v1/payments/${paymentId} HTTP/1.1\r\nhost: till\r\n${key}\r\n`);
  return Array.from({ length: count }, (_, index) => {
    const id = `evt_${label}_${index}`;
    if (index % 2 === 0) return { kind: 'read', id, bytes: read };
    const payload = JSON.stringify({
      id,
      object: 'event',
      type: 'balance.available',
      api_version: '2026-10-28.endive',
      created: Math.floor(Date.now() / 1_000),
      livemode: false,
      data: { object: { object: 'balance', available: [{ amount: index, currency: 'eur' }] } },
    });
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: webhookSecrets[0] });
    const head = `POST /webhooks/processor HTTP/1.1\r\nhost: till\r\ncontent-type: application/json\r\n`;
    const length = `content-length: ${Buffer.byteLength(payload)}\r\n`;
    const bytes = Buffer.from(`${head}${length}stripe-signature: ${signature}\r\n\r\n${payload}`);
    return { kind: 'webhook', id, bytes };
  });
}
