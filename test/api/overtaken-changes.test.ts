import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { readJson } from '../support/client.ts';
import { type CreatedSubscriptionBody, createPlan, type SubscriptionBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { changed, patch, subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

const backend = await startBackend({ after });
const { stripe } = backend;
const proxy = await startProcessorProxy(backend);
const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url, mustNotLogErrors: true });

afterEach(() => proxy.releaseAll());

const other = await createPlan(till, { interval: 'day', amount: 4_000 });
const third = await createPlan(till, { interval: 'day', amount: 6_000 });
const monthly = await createPlan(till, { interval: 'month', amount: 8_000 });

const schedules = '/v1/subscription_schedules';

interface Overtaken {
  readonly body: object;
  /** The call that another request overtakes. */
  readonly path: string;
  readonly by: () => Promise<unknown>;
}

/** Sends a change, and lets another one happen before the call arrives. */
async function overtaken(subscription: SubscriptionBody, { body, path, by }: Overtaken): Promise<Response> {
  proxy.hold(path);
  const response = patch(till, subscription, body);
  const held = await heldBefore(response);
  await by();
  held.release();
  proxy.releaseAll();
  return response;
}

/** The next call that is held back. Fails if the request ends without one. */
function heldBefore(response: Promise<Response>) {
  return Promise.race([proxy.nextHeld(), response.then(() => assert.fail('no call was held back'))]);
}

async function changedOf(response: Response): Promise<SubscriptionBody> {
  return (await readJson<CreatedSubscriptionBody>(response, 200)).subscription;
}

async function changePrice(
  { processorSubscriptionId }: SubscriptionBody,
  plan: { readonly processorPriceId: string; readonly interval?: string },
): Promise<void> {
  const { items } = await stripe.subscriptions.retrieve(processorSubscriptionId);
  await stripe.subscriptions.update(processorSubscriptionId, {
    items: [{ id: String(items.data[0]?.id), price: plan.processorPriceId }],
    proration_behavior: 'none',
    ...(plan === monthly ? { billing_cycle_anchor: { type: 'now' } } : {}),
  });
}

function there({ processorSubscriptionId }: SubscriptionBody) {
  return stripe.subscriptions.retrieve(processorSubscriptionId);
}

test('409: a change at the end of a period that became the last one', async () => {
  const subscription = await subscribe(till);
  const { processorSubscriptionId: id } = subscription;
  const response = await overtaken(subscription, {
    body: { quantity: 3, when: 'periodEnd' },
    path: schedules,
    by: () => stripe.subscriptions.update(id, { cancel_at_period_end: true }),
  });
  await readProblem(response, 409, 'subscription_ending');
  const { schedule, cancel_at: end } = await there(subscription);
  assert.equal(schedule, null);
  assert.equal(Number(end) * 1_000, Date.parse(String(subscription.currentPeriodEnd)));
});

test('200: a change at the end of the period of a subscription whose plan has changed meanwhile', async () => {
  for (const plan of [other, monthly]) {
    const subscription = await subscribe(till);
    const response = await overtaken(subscription, {
      body: { quantity: 3, when: 'periodEnd' },
      path: schedules,
      by: () => changePrice(subscription, plan),
    });
    const { planId, pendingChange, currentPeriodEnd } = await changedOf(response);
    assert.equal(planId, plan.id);
    assert.deepEqual(pendingChange, { planId: plan.id, quantity: 3, addOns: [], at: currentPeriodEnd });
  }
});

test('200: a change at the end of the period, though its schedule is released meanwhile', async () => {
  const subscription = await subscribe(till);
  await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
  const { schedule } = await there(subscription);
  const response = await overtaken(subscription, {
    body: { planId: third.id, when: 'periodEnd' },
    path: `${schedules}/${schedule}`,
    by: () => stripe.subscriptionSchedules.release(String(schedule)),
  });
  assert.equal((await changedOf(response)).pendingChange?.planId, third.id);
});

test('200: a change now of a subscription that another request has changed meanwhile', async () => {
  for (const [body, plan, expected] of [
    [{ quantity: 4 }, other, { planId: other.id, quantity: 4 }],
    // The change starts a period, because the interval is another one by then.
    [{ planId: other.id, proration: 'none' }, monthly, { planId: other.id, quantity: 1 }],
  ] as const) {
    const subscription = await subscribe(till);
    const { processorSubscriptionId: id } = subscription;
    const response = await overtaken(subscription, {
      body,
      path: `/v1/subscriptions/${id}`,
      by: () => changePrice(subscription, plan),
    });
    const { planId, quantity } = await changedOf(response);
    assert.deepEqual({ planId, quantity }, expected);
  }
});

test('200: the end of a subscription that is under a schedule meanwhile', async () => {
  const subscription = await subscribe(till);
  const { processorSubscriptionId: id } = subscription;
  const response = await overtaken(subscription, {
    body: { cancelAtPeriodEnd: true },
    path: `/v1/subscriptions/${id}`,
    by: () => stripe.subscriptionSchedules.create({ from_subscription: id }),
  });
  assert.equal((await changedOf(response)).cancelAtPeriodEnd, true);
  assert.equal((await there(subscription)).schedule, null);
});

test('409: a change that is overtaken again and again says to repeat it, with the same idempotency key too', async () => {
  const subscription = await subscribe(till);
  const body = { quantity: 3, when: 'periodEnd', idempotencyKey: `overtaken-${subscription.id}` };
  proxy.hold(schedules);
  const response = patch(till, subscription, body);
  for (const plan of [other, third, other]) {
    const held = await heldBefore(response);
    await changePrice(subscription, plan);
    held.release();
  }
  const { detail } = await readProblem(await response, 409, 'concurrent_change');
  assert.match(detail, /Repeat/);
  proxy.releaseAll();
  assert.equal((await there(subscription)).schedule, null);
  const { planId, pendingChange } = await changedOf(await patch(till, subscription, body));
  assert.deepEqual([planId, pendingChange?.quantity], [other.id, 3]);
});
