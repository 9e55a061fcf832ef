import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, beforeEach, describe, test } from 'node:test';
import { dumpTables } from '../support/dump-tables.ts';
import {
  createCustomer,
  createPlan,
  createSubscription,
  readSubscription,
  type SubscriptionBody,
  saveCard,
} from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { changed, daySeconds, patch, subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { stripe } = till;

beforeEach(async () => {
  await till.clearFaults();
  await endSubscriptions(till);
});

const daily = () => createPlan(till, { interval: 'day', amount: 4_000 });

const thereOf = ({ processorSubscriptionId }: SubscriptionBody) =>
  stripe.subscriptions.retrieve(processorSubscriptionId);

async function nextPeriod(): Promise<void> {
  await till.control('clock', { advanceSeconds: daySeconds + 60 });
  await till.settle();
}

describe('cancelAtPeriodEnd', () => {
  test('200: on and off again, with metadata', async () => {
    const subscription = await subscribe(till);
    const ending = await changed(till, subscription, { cancelAtPeriodEnd: true, metadata: { why: 'price' } });
    assert.deepEqual(
      [ending.cancelAtPeriodEnd, ending.cancelAt, ending.status, ending.metadata],
      [true, subscription.currentPeriodEnd, 'active', { why: 'price' }],
    );
    assert.notEqual(ending.canceledAt, null);
    const going = await changed(till, subscription, { cancelAtPeriodEnd: false, metadata: { why: null } });
    assert.deepEqual(
      [going.cancelAtPeriodEnd, going.cancelAt, going.canceledAt, going.metadata],
      [false, null, null, {}],
    );
    await changed(till, subscription, { cancelAtPeriodEnd: true });
    await nextPeriod();
    assert.equal((await readSubscription(till, subscription)).status, 'canceled');
  });

  test('200: a reason is kept at the processor, replaced, and gone when the cancellation is taken back', async () => {
    const subscription = await subscribe(till);
    const commentOf = async () => (await thereOf(subscription)).cancellation_details?.comment;
    const [first, second] = ['Too expensive', `✓ ${'x'.repeat(498)}`];
    const ending = await changed(till, subscription, { cancelAtPeriodEnd: true, cancellationReason: first });
    assert.deepEqual([ending.cancellationReason, await commentOf()], [first, first]);
    assert.equal((await changed(till, subscription, { cancelAtPeriodEnd: true })).cancellationReason, first);
    const again = { cancelAtPeriodEnd: true, cancellationReason: second };
    assert.equal((await changed(till, subscription, again)).cancellationReason, second);
    const going = await changed(till, subscription, { cancelAtPeriodEnd: false });
    assert.deepEqual([going.cancellationReason, await commentOf()], [null, null]);
    // As the portal sets it: the mirror follows the webhook.
    await stripe.subscriptions.update(subscription.processorSubscriptionId, {
      cancel_at_period_end: true,
      cancellation_details: { comment: 'No time' },
    });
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).cancellationReason, 'No time');
    await stripe.subscriptions.update(subscription.processorSubscriptionId, { cancel_at_period_end: false });
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).cancellationReason, null);
    assert.equal(await commentOf(), 'No time');
    const other = await daily();
    await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    await changed(till, subscription, { cancelAtPeriodEnd: false });
    assert.equal(await commentOf(), null, 'also while there is a schedule');

    const response = await till.call('DELETE', `/subscriptions/${subscription.id}`, {
      cancellationReason: 'Closed the shop',
    });
    const ended = (await response.json()) as SubscriptionBody;
    assert.deepEqual(
      [response.status, ended.status, ended.cancellationReason],
      [200, 'canceled', 'Closed the shop'],
    );
    const late = await till.call('DELETE', `/subscriptions/${subscription.id}`, {
      cancellationReason: 'Other',
    });
    assert.equal(((await late.json()) as SubscriptionBody).cancellationReason, 'Closed the shop');
    const { data } = await till.get<{ readonly data: readonly { readonly data: SubscriptionBody }[] }>(
      `/events?objectId=${subscription.id}&types=subscription.canceled`,
    );
    assert.equal(data[0]?.data.cancellationReason, 'Closed the shop');
    const csv = await till.call('GET', `/subscriptions?customerId=${subscription.customerId}`, undefined, {
      accept: 'text/csv',
    });
    const [columns, row] = (await csv.text()).split('\n');
    assert.match(columns ?? '', /\bcancellationReason\b/);
    assert.match(row ?? '', /\bClosed the shop\b/);
  });

  test('400: a reason without a cancellation', async () => {
    const subscription = await subscribe(till);
    for (const body of [
      { cancelAtPeriodEnd: false, cancellationReason: 'x' },
      { cancellationReason: 'x' },
      { quantity: 2, cancellationReason: 'x' },
    ])
      await readProblem(await patch(till, subscription, body), 400, 'invalid_request');
  });

  test('the reason of a deleted customer is erased, and no late event brings it back', async () => {
    const subscription = await subscribe(till);
    const reason = 'Ada Lovelace moved to Reasonville';
    await changed(till, subscription, { cancelAtPeriodEnd: true, cancellationReason: reason });
    await till.settle();
    assert.ok((await dumpTables(till.databaseUrl)).includes(reason));
    const before = await till.sql<{ payload: string }>(
      `select payload from till.webhook_events where type = 'customer.subscription.updated' and payload::text like $1`,
      [`%${reason}%`],
    );
    assert.equal((await till.call('DELETE', `/customers/${subscription.customerId}`)).status, 204);
    await till.settle();
    await till.services.erasure.run();
    assert.ok(!(await dumpTables(till.databaseUrl)).includes(reason));
    for (const { payload } of before)
      await till.take(JSON.stringify({ ...JSON.parse(payload), id: `evt_late${randomUUID()}` }));
    await till.settle();
    await till.services.erasure.run();
    assert.ok(!(await dumpTables(till.databaseUrl)).includes(reason));
    assert.equal((await readSubscription(till, subscription)).cancellationReason, null);
  });

  test('200: true drops a planned change and ends its schedule', async () => {
    const subscription = await subscribe(till);
    const other = await daily();
    await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    const ending = await changed(till, subscription, { cancelAtPeriodEnd: true });
    assert.deepEqual([ending.cancelAtPeriodEnd, ending.pendingChange], [true, null]);
    const { schedule, cancel_at_period_end: ends } = await thereOf(subscription);
    assert.deepEqual([schedule, ends], [null, true]);
    const going = await changed(till, subscription, { cancelAtPeriodEnd: false });
    assert.deepEqual([going.cancelAtPeriodEnd, going.pendingChange], [false, null]);
    await nextPeriod();
    assert.equal((await readSubscription(till, subscription)).planId, subscription.planId);
  });

  test('200: true after a planned change was applied, while the schedule still runs', async () => {
    const subscription = await subscribe(till);
    const other = await daily();
    await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    await nextPeriod();
    assert.notEqual((await thereOf(subscription)).schedule, null);
    const ending = await changed(till, subscription, { cancelAtPeriodEnd: true });
    assert.deepEqual([ending.planId, ending.cancelAtPeriodEnd], [other.id, true]);
  });

  test('200: true drops a change that waits for its payment', async () => {
    const subscription = await subscribe(till);
    const customer = { id: subscription.customerId };
    const card = await saveCard(till, customer, 'pm_card_authenticationRequired');
    await till.control(`setup_intents/${card.setupIntentId}/authenticate`, { result: 'succeeded' });
    await changed(till, subscription, { paymentMethodId: card.paymentMethodId });
    const other = await daily();
    const waiting = await changed(till, subscription, { planId: other.id, proration: 'invoice' });
    assert.equal(waiting.pendingChange?.planId, other.id);
    const ending = await changed(till, subscription, { cancelAtPeriodEnd: true });
    assert.deepEqual([ending.cancelAtPeriodEnd, ending.pendingChange], [true, null]);
    const { data } = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
    assert.equal(data[0]?.status, 'void');
  });

  test('200: false leaves a planned change as it is', async () => {
    const subscription = await subscribe(till);
    const other = await daily();
    await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    const same = await changed(till, subscription, { cancelAtPeriodEnd: false });
    assert.equal(same.pendingChange?.planId, other.id);
    const tagged = await changed(till, subscription, { cancelAtPeriodEnd: false, metadata: { a: '1' } });
    assert.deepEqual([tagged.pendingChange?.planId, tagged.metadata], [other.id, { a: '1' }]);
  });

  test('200: a request that failed between its calls is finished by the same request', async () => {
    const subscription = await subscribe(till);
    const other = await daily();
    await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    const fault = { kind: 'error', status: 500, times: triesPerCall } as const;
    await till.setFault({ operation: 'subscriptions.update', ...fault });
    const key = `ends-${subscription.id}`;
    const body = { cancelAtPeriodEnd: true };
    await readProblem(await patch(till, subscription, body, key), 503, 'processor_unavailable');
    assert.equal((await thereOf(subscription)).schedule, null);
    await till.clearFaults();
    assert.equal((await changed(till, subscription, body, key)).cancelAtPeriodEnd, true);
  });

  describe('of a cancellation that was set elsewhere, only by its date', () => {
    const endOf = async (subscription: SubscriptionBody) =>
      Number((await thereOf(subscription)).items.data[0]?.current_period_end);
    const isoOf = (seconds: number) => new Date(seconds * 1_000).toISOString();

    async function cancelElsewhere(subscription: SubscriptionBody, at?: number): Promise<number> {
      const cancelAt = at ?? (await endOf(subscription));
      await stripe.subscriptions.update(subscription.processorSubscriptionId, { cancel_at: cancelAt });
      await till.settle();
      return cancelAt;
    }

    const shownOf = async (subscription: SubscriptionBody) => {
      const { cancelAtPeriodEnd, cancelAt, canceledAt } = await readSubscription(till, subscription);
      return [cancelAtPeriodEnd, cancelAt, canceledAt !== null];
    };

    test('200: it shows as true at the end of the period, and false takes it back', async () => {
      const { subscription: trial } = await createSubscription(till, { trialPeriodDays: 7 });
      for (const subscription of [await subscribe(till), trial]) {
        const end = await cancelElsewhere(subscription);
        assert.deepEqual(await shownOf(subscription), [true, isoOf(end), true]);
        const refused = await patch(till, subscription, { quantity: 2, when: 'periodEnd' });
        await readProblem(refused, 409, 'subscription_ending');
        const going = await changed(till, subscription, { cancelAtPeriodEnd: false, metadata: { a: '1' } });
        assert.deepEqual(
          [going.cancelAtPeriodEnd, going.cancelAt, going.canceledAt, going.metadata],
          [false, null, null, { a: '1' }],
        );
        const there = await thereOf(subscription);
        assert.deepEqual([there.cancel_at, there.cancel_at_period_end], [null, false]);
        await till.settle();
        assert.deepEqual(await shownOf(subscription), [false, null, false]);
      }
      await nextPeriod();
      assert.equal((await readSubscription(till, trial)).status, 'trialing');
    });

    test('200: true keeps it, and then false takes both back', async () => {
      const subscription = await subscribe(till);
      await cancelElsewhere(subscription);
      const ending = await changed(till, subscription, { cancelAtPeriodEnd: true });
      assert.equal(ending.cancelAtPeriodEnd, true);
      const going = await changed(till, subscription, { cancelAtPeriodEnd: false });
      assert.deepEqual([going.cancelAtPeriodEnd, going.cancelAt], [false, null]);
      assert.equal((await thereOf(subscription)).cancel_at, null);
    });

    test('a later date shows as false until its period begins, and then the subscription ends', async () => {
      const subscription = await subscribe(till);
      const later = (await endOf(subscription)) + daySeconds;
      await cancelElsewhere(subscription, later);
      assert.deepEqual(await shownOf(subscription), [false, isoOf(later), true]);
      const planned = await changed(till, subscription, { quantity: 2, when: 'periodEnd' });
      assert.equal(planned.pendingChange?.quantity, 2);
      await nextPeriod();
      assert.deepEqual(await shownOf(subscription), [true, isoOf(later), true]);
      assert.equal((await readSubscription(till, subscription)).quantity, 2);
      await nextPeriod();
      assert.equal((await readSubscription(till, subscription)).status, 'canceled');
    });

    test('200: false takes back a later date, and the planned change before it stays', async () => {
      const subscription = await subscribe(till);
      const later = (await endOf(subscription)) + daySeconds;
      await cancelElsewhere(subscription, later);
      await changed(till, subscription, { quantity: 2, when: 'periodEnd' });
      const going = await changed(till, subscription, { cancelAtPeriodEnd: false });
      assert.deepEqual(
        [going.cancelAtPeriodEnd, going.cancelAt, going.canceledAt, going.pendingChange?.quantity],
        [false, null, null, 2],
      );
      await nextPeriod();
      await nextPeriod();
      const { status, quantity } = await readSubscription(till, subscription);
      assert.deepEqual([status, quantity], ['active', 2]);
    });

    test('200: false takes back the end of a schedule that cancels with the period', async () => {
      const subscription = await subscribe(till);
      const { id } = await stripe.subscriptionSchedules.create({
        from_subscription: subscription.processorSubscriptionId,
      });
      await stripe.subscriptionSchedules.update(id, { end_behavior: 'cancel' });
      await till.settle();
      assert.deepEqual(await shownOf(subscription), [true, isoOf(await endOf(subscription)), true]);
      const going = await changed(till, subscription, { cancelAtPeriodEnd: false });
      assert.deepEqual([going.cancelAtPeriodEnd, going.cancelAt], [false, null]);
      await nextPeriod();
      assert.equal((await readSubscription(till, subscription)).status, 'active');
    });
  });

  test('409: of a subscription that has ended, or whose first payment is missing', async () => {
    const { subscription: open } = await createSubscription(till);
    for (const body of [{ cancelAtPeriodEnd: true }, { cancelAtPeriodEnd: false, metadata: { a: '1' } }])
      await readProblem(await patch(till, open, body), 409, 'subscription_incomplete');
    const ended = await subscribe(till);
    await stripe.subscriptions.cancel(ended.processorSubscriptionId);
    await readProblem(await patch(till, ended, { cancelAtPeriodEnd: true }), 409, 'subscription_ended');
    await till.settle();
    await readProblem(await patch(till, ended, { cancelAtPeriodEnd: false }), 409, 'subscription_ended');
    assert.deepEqual((await readSubscription(till, ended)).metadata, {});
  });

  test('400: together with a change or a payment method', async () => {
    const subscription = await subscribe(till);
    for (const body of [
      { cancelAtPeriodEnd: true, quantity: 2 },
      { cancelAtPeriodEnd: true, when: 'periodEnd' },
      { cancelAtPeriodEnd: true, paymentMethodId: 'pm_1' },
      { paymentMethodId: 'pm_1', planId: subscription.planId },
      {},
    ])
      await readProblem(await patch(till, subscription, body), 400, 'invalid_request');
    assert.equal((await readSubscription(till, subscription)).cancelAtPeriodEnd, false);
  });
});

describe('paymentMethodId', () => {
  test('200: the card becomes that of the subscription alone, with metadata', async () => {
    const subscription = await subscribe(till);
    const customer = { id: subscription.customerId };
    const second = await subscribe(till, { customerId: customer.id });
    const { paymentMethodId } = await saveCard(till, customer, 'pm_card_mastercard');
    const after = await changed(till, subscription, { paymentMethodId, metadata: { card: 'new' } });
    assert.deepEqual([after.defaultPaymentMethodId, after.metadata], [paymentMethodId, { card: 'new' }]);
    assert.equal((await thereOf(subscription)).default_payment_method, paymentMethodId);
    assert.equal((await thereOf(second)).default_payment_method, second.defaultPaymentMethodId);
  });

  test('200: under a schedule, a later phase does not undo it', async () => {
    const subscription = await subscribe(till);
    const { paymentMethodId } = await saveCard(till, { id: subscription.customerId }, 'pm_card_mastercard');
    const other = await daily();
    await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    const after = await changed(till, subscription, { paymentMethodId });
    assert.deepEqual(
      [after.defaultPaymentMethodId, after.pendingChange?.planId],
      [paymentMethodId, other.id],
    );
    await nextPeriod();
    const later = await readSubscription(till, subscription);
    assert.deepEqual([later.planId, later.defaultPaymentMethodId], [other.id, paymentMethodId]);
    await nextPeriod();
    assert.equal((await thereOf(subscription)).default_payment_method, paymentMethodId);
  });

  test('200: a request that failed between its calls is finished by the same request', async () => {
    const subscription = await subscribe(till);
    const { paymentMethodId } = await saveCard(till, { id: subscription.customerId }, 'pm_card_mastercard');
    const other = await daily();
    await changed(till, subscription, { planId: other.id, when: 'periodEnd' });
    const fault = { kind: 'error', status: 500, times: triesPerCall } as const;
    await till.setFault({ operation: 'subscription_schedules.update', ...fault });
    const key = `card-${subscription.id}`;
    const body = { paymentMethodId };
    await readProblem(await patch(till, subscription, body, key), 503, 'processor_unavailable');
    await till.clearFaults();
    await changed(till, subscription, body, key);
    await nextPeriod();
    assert.equal((await thereOf(subscription)).default_payment_method, paymentMethodId);
  });

  test("404: another customer's, an unknown or a malformed one, and nothing changes", async () => {
    const subscription = await subscribe(till);
    const { paymentMethodId: theirs } = await saveCard(till, await createCustomer(till));
    const loose = await stripe.paymentMethods.create({ type: 'card', card: { token: 'tok_visa' } });
    for (const paymentMethodId of [theirs, 'pm_unknown', 'pm_card_visa', loose.id, '..', 'pm_1/detach'])
      await readProblem(
        await patch(till, subscription, { paymentMethodId, metadata: { a: '1' } }),
        404,
        'not_found',
      );
    const there = await thereOf(subscription);
    assert.deepEqual(
      [there.default_payment_method, there.metadata['a']],
      [subscription.defaultPaymentMethodId, undefined],
    );
  });

  test('409: of a subscription that has ended, or whose first payment is missing', async () => {
    const { subscription: open } = await createSubscription(till);
    const { paymentMethodId } = await saveCard(till, { id: open.customerId });
    await readProblem(await patch(till, open, { paymentMethodId }), 409, 'subscription_incomplete');
    await stripe.subscriptions.cancel(open.processorSubscriptionId);
    await readProblem(await patch(till, open, { paymentMethodId }), 409, 'subscription_ended');
  });
});
