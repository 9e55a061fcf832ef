import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import {
  confirmSecret,
  createPlan,
  createSubscription,
  type PlanBody,
  readInvoice,
  readSubscription,
  type SubscriptionBody,
} from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { startTill } from '../support/till.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { stripe } = till;
beforeEach(() => endSubscriptions(till));

/** An active subscription of a day, with its card. */
async function subscribe(): Promise<{ readonly subscription: SubscriptionBody; readonly plan: PlanBody }> {
  const plan = await createPlan(till, { interval: 'day' });
  const { subscription, clientSecret } = await createSubscription(till, { planId: plan.id });
  await confirmSecret(till, clientSecret);
  await till.settle();
  return { subscription: await readSubscription(till, subscription), plan };
}

async function stateOf(id: string): Promise<string | undefined> {
  const sql = 'select state from till.webhook_events where id = $1';
  const [row] = await till.sql<{ state: string }>(sql, [id]);
  return row?.state;
}

/** The events since the last call, oldest first, as the processor would send them. */
let seen = new Set<string>();
async function newEvents(): Promise<readonly string[]> {
  const { data } = await stripe.events.list({ limit: 100 });
  const fresh = data.filter(({ id }) => !seen.has(id)).toReversed();
  seen = new Set([...seen, ...fresh.map(({ id }) => id)]);
  return fresh.map((event) => JSON.stringify(event));
}

describe('what a subscription shows', () => {
  test('its latest invoice is null until the webhook of the invoice, whichever of the two comes first', async () => {
    const { subscription, clientSecret } = await createSubscription(till);
    assert.equal(subscription.latestInvoiceId, null);
    await confirmSecret(till, clientSecret);
    await till.settle();
    const id = subscription.processorSubscriptionId;
    const { latest_invoice: latest } = await stripe.subscriptions.retrieve(id);
    const invoice = await readInvoice(till, String(latest));
    assert.equal((await readSubscription(till, subscription)).latestInvoiceId, invoice.id);
  });

  test('its quantity, cancellation and payment method follow changes elsewhere', async () => {
    const { subscription } = await subscribe();
    const id = subscription.processorSubscriptionId;
    const there = await stripe.subscriptions.retrieve(id);
    assert.equal(subscription.defaultPaymentMethodId, there.default_payment_method);
    assert.ok(subscription.entitled);
    const card = await stripe.paymentMethods.attach('pm_card_mastercard', {
      customer: String(there.customer),
    });
    const [item] = there.items.data;
    const changed = await stripe.subscriptions.update(id, {
      items: [{ id: item?.id ?? '', quantity: 3 }],
      cancel_at_period_end: true,
      default_payment_method: card.id,
    });
    await till.settle();
    const timeOf = (seconds: number | null) => new Date((seconds ?? 0) * 1_000).toISOString();
    const shown = await readSubscription(till, subscription);
    assert.deepEqual(
      [shown.quantity, shown.cancelAtPeriodEnd, shown.cancelAt, shown.canceledAt, shown.endedAt],
      [3, true, timeOf(changed.cancel_at), timeOf(changed.canceled_at), null],
    );
    assert.equal(shown.defaultPaymentMethodId, card.id);
    await till.control('clock', { advanceSeconds: 86_400 + 60 });
    await till.settle();
    const ended = await readSubscription(till, subscription);
    const { ended_at: endedAt } = await stripe.subscriptions.retrieve(id);
    assert.deepEqual([ended.status, ended.endedAt, ended.entitled], ['canceled', timeOf(endedAt), false]);
  });

  test('a payment method that is detached elsewhere makes it read again', async () => {
    const { subscription } = await subscribe();
    const id = subscription.processorSubscriptionId;
    const { customer, default_payment_method: card } = await stripe.subscriptions.retrieve(id);
    await newEvents();
    await stripe.paymentMethods.detach(String(card));
    const events = await newEvents();
    const detached = events.filter((event) => JSON.parse(event).type === 'payment_method.detached');
    assert.equal(detached.length, 1);
    await till.take(...detached);
    assert.equal(await stateOf(idOf(detached[0] ?? '')), 'processed');
    const there = await stripe.subscriptions.retrieve(id);
    const shown = await readSubscription(till, subscription);
    assert.equal(shown.defaultPaymentMethodId, there.default_payment_method);
    // One that no subscription uses is of no interest.
    const other = await stripe.paymentMethods.attach('pm_card_visa', { customer: String(customer) });
    await newEvents();
    await stripe.paymentMethods.detach(other.id);
    const [ignored = ''] = (await newEvents()).filter((event) =>
      JSON.parse(event).type.endsWith('.detached'),
    );
    await till.take(ignored);
    assert.equal(await stateOf(idOf(ignored)), 'ignored');
  });
});

describe('the discount of a subscription', () => {
  async function discounted(subscription: SubscriptionBody): Promise<void> {
    const coupon = await stripe.coupons.create({ percent_off: 12.5, duration: 'forever' });
    const { id } = await stripe.promotionCodes.create({
      ...{ promotion: { type: 'coupon', coupon: coupon.id }, code: `CODE${subscription.id.slice(-6)}` },
    });
    const update = { discounts: [{ promotion_code: id }] };
    await stripe.subscriptions.update(subscription.processorSubscriptionId, update);
  }

  test('is read when an event shows another id, and goes when an event shows none', async () => {
    const { subscription } = await subscribe();
    await discounted(subscription);
    await till.settle();
    const shown = await readSubscription(till, subscription);
    assert.deepEqual(shown.discount, {
      ...{ code: `CODE${subscription.id.slice(-6)}`, percentOff: 12.5 },
      ...{ amountOff: null, currency: null, endsAt: null },
    });
    await stripe.subscriptions.deleteDiscount(subscription.processorSubscriptionId);
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).discount, null);
  });

  test('follows an event about the discount alone, and a late event changes nothing', async () => {
    const { subscription } = await subscribe();
    await newEvents();
    await discounted(subscription);
    const events = await newEvents();
    const ofType = (type: string) => events.filter((event) => JSON.parse(event).type === type);
    await till.take(...ofType('customer.discount.created'));
    const { discount } = await readSubscription(till, subscription);
    assert.equal(discount?.percentOff, 12.5);
    await till.take(...ofType('customer.subscription.updated'));
    assert.deepEqual((await readSubscription(till, subscription)).discount, discount);
  });

  test('is found again by a resync', async () => {
    const { subscription } = await subscribe();
    await discounted(subscription);
    await till.settle();
    const before = await readSubscription(till, subscription);
    await till.sql('update till.subscriptions set discount = null, quantity = 9 where id = $1', [
      subscription.id,
    ]);
    await till.services.resync.ofCustomer(subscription.customerId);
    const { updatedAt: _, ...after } = await readSubscription(till, subscription);
    assert.deepEqual({ ...after, updatedAt: before.updatedAt }, before);
  });
});

describe('the pending change of a subscription', () => {
  async function schedule(
    { processorSubscriptionId }: SubscriptionBody,
    price: string,
    quantity: number,
  ): Promise<Stripe.SubscriptionSchedule> {
    const created = await stripe.subscriptionSchedules.create({ from_subscription: processorSubscriptionId });
    const [phase] = created.phases;
    return stripe.subscriptionSchedules.update(created.id, {
      end_behavior: 'release',
      phases: [
        {
          ...{ start_date: Number(phase?.start_date), end_date: Number(phase?.end_date) },
          items: [{ price: String(phase?.items[0]?.price), quantity: 1 }],
        },
        { items: [{ price, quantity }], proration_behavior: 'none' },
      ],
    });
  }

  test('is the next phase of its schedule, until the change applies', async () => {
    const { subscription } = await subscribe();
    const other = await createPlan(till, { interval: 'day', amount: 4_000 });
    await schedule(subscription, other.processorPriceId, 2);
    await till.settle();
    const waiting = await readSubscription(till, subscription);
    const at = waiting.currentPeriodEnd;
    assert.deepEqual(waiting.pendingChange, { planId: other.id, quantity: 2, addOns: [], at });
    assert.deepEqual([waiting.planId, waiting.quantity], [subscription.planId, 1]);
    await till.control('clock', { advanceSeconds: 86_400 + 60 });
    await till.settle();
    const changed = await readSubscription(till, subscription);
    assert.deepEqual([changed.planId, changed.quantity, changed.pendingChange], [other.id, 2, null]);
  });

  test('is gone when the schedule is released, with or without an event about the subscription', async () => {
    const { subscription } = await subscribe();
    const other = await createPlan(till, { interval: 'day', amount: 4_000 });
    const { id } = await schedule(subscription, other.processorPriceId, 1);
    await till.settle();
    await newEvents();
    assert.equal((await readSubscription(till, subscription)).pendingChange?.planId, other.id);
    await stripe.subscriptionSchedules.release(id);
    const events = await newEvents();
    await till.take(...events.filter((event) => JSON.parse(event).type === 'subscription_schedule.released'));
    assert.equal((await readSubscription(till, subscription)).pendingChange, null);
  });

  test('has no plan if the price is not one of Till', async () => {
    const { subscription } = await subscribe();
    const values = { currency: 'eur', unit_amount: 300, product_data: { name: 'Theirs' } };
    const price = await stripe.prices.create({ ...values, recurring: { interval: 'day' } });
    await schedule(subscription, price.id, 5);
    await till.settle();
    const { pendingChange } = await readSubscription(till, subscription);
    assert.deepEqual([pendingChange?.planId, pendingChange?.quantity], [null, 5]);
  });

  test('waits for the customer while the processor holds an update back', async () => {
    const { subscription } = await subscribe();
    const other = await createPlan(till, { interval: 'day', amount: 4_000 });
    const there = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
    const [item] = there.items.data;
    const next = { ...item, price: { id: other.processorPriceId, object: 'price' }, quantity: 4 };
    const update = { expires_at: 1, subscription_items: [next] };
    const created = Math.floor(Date.parse(subscription.currentPeriodStart ?? '') / 1_000) + 4_000;
    const event = (type: string, pending: object | null, later: number) =>
      eventOf(
        'customer.subscription.updated.newer',
        { ...there, pending_update: pending },
        {
          type,
          created: created + later,
        },
      );
    await till.take(event('customer.subscription.updated', update, 0));
    const { pendingChange, planId } = await readSubscription(till, subscription);
    assert.deepEqual(pendingChange, { planId: other.id, quantity: 4, addOns: [], at: null });
    assert.equal(planId, subscription.planId);
    await till.take(event('customer.subscription.pending_update_expired', null, 1));
    assert.equal((await readSubscription(till, subscription)).pendingChange, null);
  });
});

describe('an event about a subscription that Till has no row for', () => {
  test('is ignored', async () => {
    for (const [type, kind] of [
      ['subscription_schedule.updated', 'subscription_schedule'],
      ['customer.discount.created', 'discount'],
    ] as const) {
      const object = { id: 'x_1', object: kind, subscription: 'sub_theirs' };
      const event = eventOf('customer.updated', object, { type });
      await till.take(event);
      assert.equal(await stateOf(idOf(event)), 'ignored');
    }
  });
});
