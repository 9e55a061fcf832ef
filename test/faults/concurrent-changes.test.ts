import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { billed } from '../support/billed.ts';
import { type Subscribed, subscribed } from '../support/changes.ts';
import { effort } from '../support/effort.ts';
import type { EventPage } from '../support/event-feed.ts';
import { createPlan, type PlanBody } from '../support/objects.ts';
import { startTill } from '../support/till.ts';

const backend = await startBackend({ after });
const first = await startTill({ in: 'process', on: backend });
const second = await startTill({ in: 'process', on: backend });

const free = await createPlan(first, { interval: 'day', amount: 0 });
const daily = await createPlan(first, { interval: 'day', amount: 900 });
const dearer = await createPlan(first, { interval: 'day', amount: 4_000 });
const monthly = await createPlan(first, { interval: 'month', amount: 8_000 });
const grouped = await createPlan(first, { interval: 'month', amount: 7_000, group: 'concurrent' });

const prorations = ['none', 'nextInvoice', 'invoice'] as const;

/** How many requests meet. */
const requestsAtOnce = effort<readonly number[]>({ short: [2, 9], long: [2, 3, 9, 50] });

const pairs = [
  [daily, monthly],
  [free, daily],
  [daily, dearer],
  [dearer, daily],
  [daily, grouped],
] as const;

/**
 * Every pair of plans. In the short form a pair meets one proration, but each proration has a new period, which each of
 * the requests could bill. Many requests meet only over that.
 */
function pairsFor(count: number, place: number): readonly (readonly [PlanBody, PlanBody])[] {
  const few = pairs.filter((_, index) => index === 0 || (count === 2 && index % prorations.length === place));
  return effort({ short: few, long: [...pairs] });
}

function subscribe(plan: PlanBody): Promise<Subscribed> {
  return subscribed(first, { planId: plan.id, customerCard: 'pm_card_visa' });
}

/** Prorates from the start of the period, so that the time of the request does not matter. */
async function bodyOf(scene: Subscribed, change: object): Promise<object> {
  const { currentPeriodStart } = await scene.read();
  const isProrated = 'proration' in change && change.proration !== 'none';
  return isProrated ? { ...change, prorationDate: currentPeriodStart } : change;
}

/** Sends the requests at once, to two processes in turn. The odd ones have idempotency keys of their own. */
function sendAtOnce(path: string, bodies: readonly object[]) {
  return Promise.all(
    bodies.map((body, index) =>
      (index % 2 === 0 ? first : second).tryPatch(
        path,
        body,
        index % 2 === 0 ? undefined : `${path}-${index}`,
      ),
    ),
  );
}

for (const count of requestsAtOnce)
  for (const [place, proration] of prorations.entries())
    for (const [from, to] of pairsFor(count, place))
      test(`${count} equal changes at once from ${from.amount} a ${from.interval} to ${to.amount} a ${to.interval} with proration ${proration} are billed once`, async () => {
        const [met, sequential] = [await subscribe(from), await subscribe(from)];
        const change = { planId: to.id, proration };
        const responses = await sendAtOnce(met.path, new Array(count).fill(await bodyOf(met, change)));
        assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
        const body = await bodyOf(sequential, change);
        for (let sent = 0; sent < count; sent += 1) await sequential.changed(body);
        assert.deepEqual(
          await billed(backend, met.subscription),
          await billed(backend, sequential.subscription),
        );
        assert.equal((await met.read()).planId, to.id);
      });

/** Different changes: of the plan, even with another interval, and of the quantity. */
function unprorated(count: number): readonly object[] {
  const plans = [daily, dearer, monthly, free];
  return Array.from({ length: count }, (_, index) => ({
    ...(index % 3 === 0 ? { quantity: 1 + (index % 5) } : { planId: plans[index % plans.length]?.id }),
    proration: 'none',
  }));
}

/** The same within a period, billed now, later or never. */
function prorated(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    ...(index % 3 === 0 ? { quantity: 1 + (index % 5) } : { planId: (index % 2 === 0 ? daily : dearer).id }),
    proration: prorations[index % prorations.length],
  }));
}

/** The indexes of the requests that had an effect, in the order of their turns: each wrote an event in its turn. */
async function orderOf({ subscription: { id } }: Subscribed, name: string): Promise<readonly number[]> {
  const { data } = await first.get<EventPage>(`/events?objectId=${id}&limit=1000`);
  return data.flatMap(({ cause: { requestId } }) => {
    const [prefix, index] = String(requestId).split('.');
    return prefix === name ? [Number(index)] : [];
  });
}

for (const changesOf of [unprorated, prorated])
  for (const count of requestsAtOnce)
    test(`${count} different ${changesOf.name} changes at once are billed like the same ones one after the other`, async () => {
      const [met, sequential] = [await subscribe(daily), await subscribe(daily)];
      const changes = await Promise.all(changesOf(count).map((change) => bodyOf(met, change)));
      const name = `${changesOf.name}-${count}`;
      const responses = await Promise.all(
        changes.map((change, index) =>
          (index % 2 === 0 ? first : second).call('PATCH', met.path, change, {
            'x-request-id': `${name}.${index}`,
          }),
        ),
      );
      assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
      const order = await orderOf(met, name);
      assert.equal(new Set(order).size, order.length);
      for (const index of order)
        await sequential.changed(await bodyOf(sequential, changesOf(count)[index] ?? {}));
      assert.deepEqual(
        await billed(backend, met.subscription),
        await billed(backend, sequential.subscription),
      );
      const [shown, expected] = [await met.read(), await sequential.read()];
      assert.deepEqual([shown.planId, shown.quantity], [expected.planId, expected.quantity]);
    });
