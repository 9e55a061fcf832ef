import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import type Stripe from 'stripe';
import { readJson } from '../support/client.ts';
import {
  createPlan,
  createSubscription,
  type PlanBody,
  readSubscription,
  type SubscriptionBody,
  saveCard,
} from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { changed, daySeconds, patch, subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

beforeEach(async () => {
  await till.clearFaults();
  await endSubscriptions(till);
});

const daily = (values: { readonly amount?: number; readonly group?: string } = {}) =>
  createPlan(till, { interval: 'day', amount: 4_000, ...values });

function scheduleOf({ processorSubscriptionId: id }: SubscriptionBody) {
  return stripe.subscriptions
    .retrieve(id, { expand: ['schedule'] })
    .then(({ schedule }) => schedule as Stripe.SubscriptionSchedule | null);
}

async function schedulesOf({ processorSubscriptionId: id }: SubscriptionBody) {
  const { customer } = await stripe.subscriptions.retrieve(id);
  return (await stripe.subscriptionSchedules.list({ customer: String(customer), limit: 100 })).data;
}

/** As the dashboard does: only the phases name it. */
async function enableTaxOfPhases(subscription: SubscriptionBody): Promise<void> {
  const schedule = await scheduleOf(subscription);
  const phases = schedule?.phases.map(({ items, start_date, end_date }) => ({
    items: items.map(({ price, quantity = 1 }) => ({ price: String(price), quantity })),
    ...{ start_date, end_date, automatic_tax: { enabled: true } },
  }));
  await stripe.subscriptionSchedules.update(String(schedule?.id), { phases: phases ?? [] });
}

async function nextPeriod(): Promise<void> {
  await till.control('clock', { advanceSeconds: daySeconds + 60 });
  await till.settle();
}

const pending = (plan: Pick<PlanBody, 'id'>, quantity: number, { currentPeriodEnd }: SubscriptionBody) => ({
  ...{ planId: plan.id, quantity, addOns: [], at: currentPeriodEnd },
});

describe('a change at the end of the period', () => {
  test('200: is shown as pending, and applies when the period ends', async () => {
    const subscription = await subscribe(till);
    const other = await daily();
    const body = { planId: other.id, quantity: 3, when: 'periodEnd' };
    const response = await readJson<{ subscription: SubscriptionBody; clientSecret: null }>(
      await patch(till, subscription, body),
      200,
    );
    assert.equal(response.clientSecret, null);
    assert.deepEqual(response.subscription.pendingChange, pending(other, 3, subscription));
    assert.deepEqual(
      [response.subscription.planId, response.subscription.quantity],
      [subscription.planId, 1],
    );
    await till.settle();
    const waiting = await readSubscription(till, subscription);
    assert.deepEqual(waiting.pendingChange, pending(other, 3, subscription));
    await nextPeriod();
    const later = await readSubscription(till, subscription);
    assert.deepEqual(
      [later.planId, later.quantity, later.pendingChange, later.status],
      [other.id, 3, null, 'active'],
    );
    // The old period is neither credited nor billed again.
    await till.control('clock', { advanceSeconds: 2 * 3_600 });
    const { data } = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
    assert.deepEqual(
      data.map(({ total }) => total),
      [12_000, 900],
    );
    // A period later the processor lets the subscription go on without a schedule.
    await nextPeriod();
    assert.equal(await scheduleOf(subscription), null);
    const last = await readSubscription(till, subscription);
    assert.deepEqual([last.planId, last.quantity, last.status], [other.id, 3, 'active']);
  });

  test('200: absent fields keep their values', async () => {
    const subscription = await subscribe(till);
    const first = await changed(till, subscription, { quantity: 5, when: 'periodEnd' });
    assert.deepEqual(first.pendingChange, pending({ id: subscription.planId }, 5, subscription));
    const other = await daily();
    // The quantity that the subscription has, not that of the change which this one replaces.
    const second = await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    assert.deepEqual(second.pendingChange, pending(other, 1, subscription));
  });

  test('200: to another interval, a new billing cycle starts with it', async () => {
    const subscription = await subscribe(till);
    const monthly = await createPlan(till, { interval: 'month', intervalCount: 2, amount: 30_000 });
    await changed(till, subscription, { planId: monthly.id, when: 'periodEnd' });
    await nextPeriod();
    const later = await readSubscription(till, subscription);
    assert.deepEqual([later.planId, later.currentPeriodStart], [monthly.id, subscription.currentPeriodEnd]);
    const end = new Date(subscription.currentPeriodEnd ?? '');
    end.setUTCMonth(end.getUTCMonth() + 2);
    assert.equal(later.currentPeriodEnd?.slice(0, 7), end.toISOString().slice(0, 7));
  });

  test('200: in a trial, the trial stays and the plan counts from its end', async () => {
    const plan = await createPlan(till, { interval: 'day' });
    const { subscription } = await createSubscription(till, { planId: plan.id, trialPeriodDays: 3 });
    const { paymentMethodId } = await saveCard(till, { id: subscription.customerId });
    await changed(till, subscription, { paymentMethodId });
    const other = await createPlan(till, { interval: 'week', amount: 7_000 });
    const planned = await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    assert.deepEqual([planned.status, planned.trialEnd], ['trialing', subscription.trialEnd]);
    assert.deepEqual(planned.pendingChange, pending(other, 1, subscription));
    await till.control('clock', { advanceSeconds: 3 * daySeconds + 2 * 3_600 });
    await till.settle();
    const later = await readSubscription(till, subscription);
    assert.deepEqual([later.planId, later.status, later.pendingChange], [other.id, 'active', null]);
    assert.equal(later.currentPeriodStart, subscription.trialEnd);
    assert.equal(later.defaultPaymentMethodId, paymentMethodId);
  });

  test('200: discount, card and metadata are carried over', async () => {
    const subscription = await subscribe(till);
    const id = subscription.processorSubscriptionId;
    const coupon = await stripe.coupons.create({ percent_off: 25, duration: 'forever' });
    await stripe.subscriptions.update(id, { discounts: [{ coupon: coupon.id }] });
    const other = await daily();
    await changed(till, subscription, { metadata: { team: 'red' } });
    const planned = await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    assert.equal(planned.discount?.percentOff, 25);
    await changed(till, subscription, { metadata: { team: 'blue' } });
    await nextPeriod();
    const later = await readSubscription(till, subscription);
    assert.deepEqual(
      [later.planId, later.discount?.percentOff, later.defaultPaymentMethodId, later.metadata],
      [other.id, 25, subscription.defaultPaymentMethodId, { team: 'blue' }],
    );
  });

  test('200: other items of the subscription stay', async () => {
    const subscription = await subscribe(till);
    const id = subscription.processorSubscriptionId;
    const values = { currency: 'eur', unit_amount: 100, product_data: { name: 'Add-on' } };
    const extra = await stripe.prices.create({ ...values, recurring: { interval: 'day' } });
    await stripe.subscriptions.update(id, { items: [{ price: extra.id, quantity: 2 }] });
    const other = await daily();
    await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    await nextPeriod();
    const { items } = await stripe.subscriptions.retrieve(id);
    assert.deepEqual(items.data.map(({ price, quantity }) => [price.id, quantity]).sort(), [
      ...[
        [extra.id, 2],
        [other.processorPriceId, 1],
      ].sort(),
    ]);
  });

  test('200: of a subscription that ends later, the end stays', async () => {
    const subscription = await subscribe(till);
    const id = subscription.processorSubscriptionId;
    const end = Date.parse(subscription.currentPeriodEnd ?? '') / 1_000 + 5 * daySeconds;
    await stripe.subscriptions.update(id, { cancel_at: end });
    const other = await daily();
    const planned = await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    const cancelAt = new Date(end * 1_000).toISOString();
    assert.deepEqual([planned.cancelAt, planned.pendingChange?.planId], [cancelAt, other.id]);
    await nextPeriod();
    const later = await readSubscription(till, subscription);
    assert.deepEqual([later.planId, later.cancelAt], [other.id, cancelAt]);
    const dropped = await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    assert.equal(dropped.cancelAt, cancelAt);
    assert.equal(await scheduleOf(subscription), null);
  });

  test('200: the same idempotency key plans it once and returns the current state', async () => {
    const subscription = await subscribe(till);
    const [other, another] = [await daily(), await daily()];
    const body = { planId: other.id, when: 'periodEnd' };
    const key = `planned-${subscription.id}`;
    const first = await changed(till, subscription, body, key);
    const again = await patch(till, subscription, body, key);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual((await readJson<{ subscription: unknown }>(again, 200)).subscription, first);
    await changed(till, subscription, { planId: another.id, when: 'periodEnd' });
    const replayed = await changed(till, subscription, body, key);
    assert.equal(replayed.pendingChange?.planId, another.id);
    assert.equal((await schedulesOf(subscription)).length, 1);
  });
});

describe('a change that waits for the end of the period', () => {
  test('is replaced by a new one, even if it was planned in the dashboard', async () => {
    const subscription = await subscribe(till);
    const id = subscription.processorSubscriptionId;
    const [theirs, ours] = [await daily(), await daily()];
    const created = await stripe.subscriptionSchedules.create({ from_subscription: id });
    const [phase] = created.phases;
    await stripe.subscriptionSchedules.update(created.id, {
      phases: [
        {
          ...{ start_date: Number(phase?.start_date), end_date: Number(phase?.end_date) + daySeconds },
          items: [{ price: String(phase?.items[0]?.price) }],
        },
        { items: [{ price: theirs.processorPriceId, quantity: 7 }] },
        { items: [{ price: theirs.processorPriceId, quantity: 8 }] },
      ],
    });
    const planned = await changed(till, subscription, { planId: ours.id, when: 'periodEnd' });
    assert.deepEqual(planned.pendingChange, pending(ours, 1, subscription));
    await nextPeriod();
    const later = await readSubscription(till, subscription);
    assert.deepEqual([later.planId, later.quantity, later.pendingChange], [ours.id, 1, null]);
    assert.equal(later.defaultPaymentMethodId, subscription.defaultPaymentMethodId);
  });

  for (const from of ['the subscription', 'a phase'])
    test(`keeps automatic taxes of ${from}, even after another card`, async () => {
      const subscription = await subscribe(till);
      const { processorSubscriptionId: id } = subscription;
      const { customer } = await stripe.subscriptions.retrieve(id);
      await stripe.customers.update(String(customer), { address: { country: 'DE' } });
      if (from === 'the subscription')
        await stripe.subscriptions.update(id, { automatic_tax: { enabled: true } });
      const other = await daily();
      await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
      if (from === 'a phase') await enableTaxOfPhases(subscription);
      const { paymentMethodId } = await saveCard(till, { id: subscription.customerId });
      await changed(till, subscription, { paymentMethodId });
      const isTaxed = async () => (await stripe.subscriptions.retrieve(id)).automatic_tax.enabled;
      assert.equal(await isTaxed(), true);
      await changed(till, subscription, { planId: other.id, quantity: 2, when: 'periodEnd' });
      await nextPeriod();
      assert.equal((await readSubscription(till, subscription)).quantity, 2);
      assert.equal(await isTaxed(), true);
    });

  test('is replaced by a change now', async () => {
    const subscription = await subscribe(till);
    const [planned, now] = [await daily(), await daily()];
    await changed(till, subscription, { planId: planned.id, when: 'periodEnd' });
    const after = await changed(till, subscription, { planId: now.id });
    assert.deepEqual([after.planId, after.pendingChange], [now.id, null]);
    assert.equal(await scheduleOf(subscription), null);
    await nextPeriod();
    assert.equal((await readSubscription(till, subscription)).planId, now.id);
  });

  for (const when of ['periodEnd', 'now'])
    test(`is dropped by a change to the current plan and quantity, ${when}`, async () => {
      const subscription = await subscribe(till);
      const other = await daily();
      await changed(till, subscription, { planId: other.id, quantity: 2, when: 'periodEnd' });
      const { planId } = subscription;
      const dropped = await changed(till, subscription, { planId, quantity: 1, when });
      assert.deepEqual([dropped.planId, dropped.quantity, dropped.pendingChange], [planId, 1, null]);
      await nextPeriod();
      assert.equal((await readSubscription(till, subscription)).planId, planId);
      // Nothing is left to drop.
      const again = await changed(till, subscription, { quantity: 1, when });
      assert.equal(again.pendingChange, null);
    });

  test('replaces a change that waits for its payment, whose invoice is voided', async () => {
    const subscription = await subscribe(till);
    const { setupIntentId, paymentMethodId } = await saveCard(
      till,
      { id: subscription.customerId },
      'pm_card_authenticationRequired',
    );
    await till.control(`setup_intents/${setupIntentId}/authenticate`, { result: 'succeeded' });
    await changed(till, subscription, { paymentMethodId });
    const [billed, other] = [await daily(), await daily()];
    const waiting = await changed(till, subscription, { planId: billed.id, proration: 'invoice' });
    assert.deepEqual(waiting.pendingChange, { planId: billed.id, quantity: 1, addOns: [], at: null });
    const planned = await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    assert.deepEqual(planned.pendingChange, pending(other, 1, subscription));
    const { data } = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
    assert.deepEqual(
      data.map(({ status }) => status),
      ['void', 'paid'],
    );
  });

  test('twenty at once leave one schedule with one of the changes', async () => {
    const subscription = await subscribe(till);
    const quantities = Array.from({ length: 20 }, (_, index) => index + 2);
    const responses = await Promise.all(
      quantities.map((quantity) => patch(till, subscription, { quantity, when: 'periodEnd' })),
    );
    for (const response of responses) await readJson(response, 200);
    await till.settle();
    const { pendingChange } = await readSubscription(till, subscription);
    const schedule = await scheduleOf(subscription);
    assert.equal(schedule?.phases.length, 2);
    assert.equal(schedule?.phases[1]?.items[0]?.quantity, pendingChange?.quantity);
    assert.equal((await schedulesOf(subscription)).length, 1);
  });

  test('409: counts as a subscription to the group of its plan', async () => {
    const group = `group-${Math.trunc(performance.now())}`;
    const grouped = await daily({ group });
    const first = await subscribe(till);
    await changed(till, first, { planId: grouped.id, when: 'periodEnd' });
    const { customerId } = first;
    const create = () => call('POST', '/subscriptions', { customerId, planId: grouped.id });
    const problem = await readProblem(await create(), 409, 'already_subscribed');
    assert.equal(Object(problem).subscriptionId, first.id);
    const second = await subscribe(till, { customerId });
    for (const when of ['now', 'periodEnd']) {
      const refused = await patch(till, second, { planId: grouped.id, when });
      assert.equal(Object(await readProblem(refused, 409, 'already_subscribed')).subscriptionId, first.id);
    }
    await changed(till, first, { planId: first.planId, when: 'periodEnd' });
    await changed(till, second, { planId: grouped.id, when: 'periodEnd' });
    await readProblem(await create(), 409, 'already_subscribed');
  });
});

describe('a change at the end of the period is refused', () => {
  test('409: while the subscription ends with its period', async () => {
    const subscription = await subscribe(till);
    await changed(till, subscription, { cancelAtPeriodEnd: true });
    const body = { quantity: 2, when: 'periodEnd' };
    const key = `ending-${subscription.id}`;
    await readProblem(await patch(till, subscription, body, key), 409, 'subscription_ending');
    assert.equal(await scheduleOf(subscription), null);
    await changed(till, subscription, { cancelAtPeriodEnd: false });
    // The refusal has freed the idempotency key.
    assert.equal((await changed(till, subscription, body, key)).pendingChange?.quantity, 2);
  });

  test('409: to an archived plan, even if only the processor knows it', async () => {
    const subscription = await subscribe(till);
    const [archived, there] = [await daily(), await daily()];
    await call('POST', `/plans/${archived.id}/archive`);
    await stripe.prices.update(there.processorPriceId, { active: false });
    for (const { id } of [archived, there])
      await readProblem(
        await patch(till, subscription, { planId: id, when: 'periodEnd' }),
        409,
        'plan_archived',
      );
    // Nothing is left of the schedule that the refused change needed.
    assert.equal(await scheduleOf(subscription), null);
  });

  test('409: to a plan in another currency', async () => {
    const subscription = await subscribe(till);
    const values = { name: 'Gold', amount: 900, currency: 'usd', interval: 'day' };
    const { id } = await readJson<PlanBody>(await call('POST', '/plans', values), 201);
    const response = await patch(till, subscription, { planId: id, when: 'periodEnd' });
    await readProblem(response, 409, 'currency_mismatch');
    assert.equal(await scheduleOf(subscription), null);
  });

  test('409: of a subscription that has ended, or whose first payment is missing', async () => {
    const body = { quantity: 2, when: 'periodEnd' };
    const { subscription: open } = await createSubscription(till);
    await readProblem(await patch(till, open, body), 409, 'subscription_incomplete');
    const subscription = await subscribe(till);
    await stripe.subscriptions.cancel(subscription.processorSubscriptionId);
    await readProblem(await patch(till, subscription, body), 409, 'subscription_ended');
    await till.settle();
    await readProblem(await patch(till, subscription, body), 409, 'subscription_ended');
  });

  test('404 and 400: an unknown plan, and a prorationDate', async () => {
    const subscription = await subscribe(till);
    const unknown = { planId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90', when: 'periodEnd' };
    await readProblem(await patch(till, subscription, unknown), 404, 'not_found');
    const dated = { quantity: 2, when: 'periodEnd', prorationDate: '2026-11-15T09:30:00Z' };
    await readProblem(await patch(till, subscription, dated), 400, 'invalid_request');
  });
});
