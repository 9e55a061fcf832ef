import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, beforeEach, describe, test } from 'node:test';
import { newId } from '#core/platform/id.ts';
import { rotation } from '../support/effort.ts';
import {
  type CustomerBody,
  confirmSecret,
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  type PaymentBody,
  type PlanBody,
  readInvoice,
  readPayment,
  readRefunds,
  readSubscription,
} from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { startTill } from '../support/till.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

const till = await startTill({ in: 'process', for: { after } });
beforeEach(() => endSubscriptions(till));

/** The adapter reads both shapes in one place, so each type arrives in one of them in the short form. */
const shapes = ['newer', 'older'] as const;
const nextShapes = rotation(shapes, 1);

/** Later than anything that the sandbox has done, so that no second is shared; each call a second later still. */
let seconds = 60;
function later(): { readonly created: number } {
  seconds += 1;
  return { created: Math.floor(Date.now() / 1_000) + seconds };
}

async function stateOf(
  event: string,
): Promise<{ state: string; attempts: number; last_error: string | null }> {
  const [row] = await till.sql<{ state: string; attempts: number; last_error: string | null }>(
    'select state, attempts, last_error from till.webhook_events where id = $1',
    [idOf(event)],
  );
  assert(row);
  return row;
}

function intentOf(payment: PaymentBody, status: string, more: object = {}): object {
  const { processorPaymentIntentId: id, amount, currency } = payment;
  return {
    id,
    amount,
    currency,
    amount_received: status === 'succeeded' ? amount : 0,
    status,
    metadata: { till_id: payment.id },
    ...more,
  };
}

describe('payment_intent.*', () => {
  for (const [type, wire, ours] of [
    ['payment_intent.created', 'requires_confirmation', 'requires_confirmation'],
    ['payment_intent.processing', 'processing', 'processing'],
    ['payment_intent.requires_action', 'requires_action', 'requires_action'],
    ['payment_intent.amount_capturable_updated', 'requires_capture', 'requires_action'],
    ['payment_intent.succeeded', 'succeeded', 'succeeded'],
    ['payment_intent.canceled', 'canceled', 'canceled'],
  ] as const) {
    test(`${type} changes the payment to ${ours}`, async () => {
      const payment = await createPayment(till);
      await till.take(eventOf('payment_intent.succeeded', intentOf(payment, wire), { type, ...later() }));
      assert.equal((await readPayment(till, payment)).status, ours);
    });
  }

  test('payment_intent.payment_failed takes the payment back to its method, and every attempt is counted once', async () => {
    const payment = await createPayment(till);
    const before = await till.count('payments_failed_total');
    const action = eventOf('payment_intent.requires_action', intentOf(payment, 'requires_action'), later());
    const failures = [later(), later()].map((at) =>
      eventOf('payment_intent.payment_failed', intentOf(payment, 'requires_payment_method'), at),
    );
    await till.take(action, ...failures, ...failures);
    assert.equal((await readPayment(till, payment)).status, 'requires_payment_method');
    assert.equal(await till.count('payments_failed_total'), before + 2);
    for (const failure of failures)
      await till.fetch(`/api/v1/webhook-events/${idOf(failure)}/replay`, { method: 'POST' });
    await till.drain();
    assert.equal(await till.count('payments_failed_total'), before + 2);
  });

  test('a payment that succeeds is counted once, however many events of whatever type say so', async () => {
    const payment = await createPaidPayment(till);
    const before = await till.count('payments_succeeded_total');
    await till.settle();
    const said = [later(), later()].map((at) =>
      eventOf('payment_intent.succeeded', intentOf(payment, 'succeeded'), at),
    );
    await till.take(...said, ...said);
    for (const event of said)
      await till.fetch(`/api/v1/webhook-events/${idOf(event)}/replay`, { method: 'POST' });
    await till.drain();
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
    assert.equal(await till.count('payments_succeeded_total'), before + 1);
  });

  test('an event about a payment of Till that arrives before its row creates the row, with its id', async () => {
    const { id: customerId, processorCustomerId: customer } = await createCustomer(till);
    const id = '0199d3a2-0000-7000-8000-0000000000aa';
    const before = await till.count('payments_succeeded_total');
    const object = { id: `pi_${randomUUID()}`, customer, metadata: { till_id: id } };
    await till.take(eventOf('payment_intent.succeeded', object, later()));
    const payment = await readPayment(till, { id });
    assert.equal(payment.status, 'succeeded');
    assert.equal(payment.customerId, customerId);
    assert.equal(await till.count('payments_succeeded_total'), before + 1);
  });

  test('a payment of an unknown customer, or one that Till did not create, is ignored and counted as ignored', async () => {
    const { processorCustomerId } = await createCustomer(till);
    const type = 'payment_intent.succeeded';
    const before = await till.count('webhook_events_ignored_total', { type });
    const succeeded = await till.count('payments_succeeded_total');
    const strangers = [
      { customer: 'cus_stranger', metadata: { till_id: '0199d3a2-0000-7000-8000-0000000000ab' } },
      { customer: null, metadata: { till_id: '0199d3a2-0000-7000-8000-0000000000ac' } },
      { customer: processorCustomerId, metadata: {} },
      { customer: processorCustomerId, metadata: { till_id: 'edited by hand' } },
    ].map((object) => eventOf(type, { id: `pi_${randomUUID()}`, ...object }));
    await till.take(...strangers);
    for (const event of strangers) assert.equal((await stateOf(event)).state, 'ignored');
    assert.equal(await till.count('webhook_events_ignored_total', { type }), before + strangers.length);
    assert.equal(await till.count('payments_succeeded_total'), succeeded);
  });
});

describe('refunds', () => {
  async function paid(card?: string): Promise<PaymentBody> {
    const payment = await createPaidPayment(till, card === undefined ? {} : { card });
    await till.settle();
    return payment;
  }

  for (const [type, status, ours] of [
    ['refund.created', 'pending', 'refunded'],
    ['refund.updated', 'succeeded', 'refunded'],
    ['refund.updated', 'canceled', 'succeeded'],
    ['charge.refund.updated', 'requires_action', 'refunded'],
    ['refund.failed', 'failed', 'succeeded'],
  ] as const) {
    test(`${type} with status ${status} leaves a record and a payment that is ${ours}`, async () => {
      const payment = await paid();
      const refund = { id: `re_${randomUUID()}`, amount: payment.amount, currency: payment.currency, status };
      const object = { ...refund, payment_intent: payment.processorPaymentIntentId, metadata: {} };
      await till.take(eventOf('refund.created', object, { type, ...later() }));
      const [record] = await readRefunds(till, payment);
      assert.equal(record?.processorRefundId, refund.id);
      assert.equal(record?.status, status);
      assert.equal((await readPayment(till, payment)).status, ours);
    });
  }

  test('charge.refunded in its older shape brings its refunds along', async () => {
    const payment = await paid();
    const refund = (id: string, amount: number) => ({
      ...{ id, object: 'refund', amount, currency: 'eur', status: 'succeeded', reason: null, metadata: {} },
      ...{ created: Math.floor(Date.now() / 1_000), payment_intent: payment.processorPaymentIntentId },
    });
    const data = [refund(`re_${randomUUID()}`, 1_500), refund(`re_${randomUUID()}`, 500)];
    const refunds = { object: 'list', data, has_more: false };
    const object = { payment_intent: payment.processorPaymentIntentId, refunds };
    await till.take(eventOf('charge.refunded.older', object, later()));
    assert.equal((await readRefunds(till, payment)).length, 2);
    assert.equal((await readPayment(till, payment)).status, 'refunded');
  });

  test('charge.refunded in its newer shape, without the refunds, makes Till read them', async () => {
    const payment = await paid();
    const payment_intent = payment.processorPaymentIntentId;
    await till.control('delivery', { mode: 'drop' });
    const refund = await till.stripe.refunds.create({ payment_intent, amount: 700 });
    await till.control('delivery', { mode: 'paused' });
    await till.take(eventOf('charge.refunded.newer', { payment_intent }, later()));
    const records = await readRefunds(till, payment);
    assert.deepEqual(
      records.map(({ processorRefundId, amount }) => [processorRefundId, amount]),
      [[refund.id, 700]],
    );
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
  });

  test('refunds of payments that Till does not have are ignored and counted as ignored, in every shape', async () => {
    const strangers = [
      eventOf('refund.created', { payment_intent: 'pi_stranger' }),
      eventOf('refund.created', { payment_intent: null }),
      eventOf('charge.refunded.older', { payment_intent: 'pi_stranger' }),
      eventOf('charge.refunded.newer', { payment_intent: 'pi_stranger' }),
      eventOf('charge.refunded.newer', { payment_intent: null }),
    ];
    const before = await till.count('webhook_events_ignored_total');
    await till.take(...strangers);
    for (const event of strangers) assert.equal((await stateOf(event)).state, 'ignored', event);
    assert.equal(await till.count('webhook_events_ignored_total'), before + strangers.length);
  });

  test('a refund from the dashboard counts like one from the API', async () => {
    const payment = await paid();
    await till.stripe.refunds.create({ payment_intent: payment.processorPaymentIntentId });
    await till.settle();
    assert.equal((await readPayment(till, payment)).status, 'refunded');
    assert.deepEqual(
      (await readRefunds(till, payment)).map(({ amount, status }) => [amount, status]),
      [[payment.amount, 'succeeded']],
    );
    const again = await till.fetch(`/api/v1/payments/${payment.id}/refund`, { method: 'POST' });
    assert.equal(again.status, 409);
  });

  test('a refund whose event arrives long before its payment is recorded once the payment has a row', async () => {
    const customer = await createCustomer(till);
    const createdLongAgo = newId(new Date(Date.now() - 3_600_000));
    await till.control('delivery', { mode: 'paused' });
    const intent = await till.stripe.paymentIntents.create({
      amount: 900,
      currency: 'eur',
      customer: customer.processorCustomerId,
      payment_method: 'pm_card_visa',
      confirm: true,
      return_url: 'https://example.com',
      metadata: { till_id: createdLongAgo },
    });
    const refund = await till.stripe.refunds.create({ payment_intent: intent.id, amount: 900 });
    await till.take(eventOf('refund.created', { ...refund }, later()));
    await till.take(
      eventOf('payment_intent.requires_action', { ...intent, status: 'requires_action' }, later()),
    );
    await till.take(eventOf('payment_intent.succeeded', { ...intent }, later()));
    const { status } = await till.get<PaymentBody>(`/payments/${createdLongAgo}`);
    assert.equal(status, 'refunded');
    await till.settle();
  });

  test('a refund that fails later makes the payment succeeded again', async () => {
    const payment = await paid('pm_card_refundFail');
    await till.post(`/payments/${payment.id}/refund`);
    await till.settle();
    assert.equal((await readPayment(till, payment)).status, 'refunded');
    await till.control('clock', { advanceSeconds: 120 });
    await till.settle();
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
    assert.deepEqual(
      (await readRefunds(till, payment)).map(({ status }) => status),
      ['failed'],
    );
    seconds += 120;
  });

  test('a late payment_intent event changes nothing on a refunded payment', async () => {
    const payment = await paid();
    await till.post(`/payments/${payment.id}/refund`);
    const refunded = await readPayment(till, payment);
    assert.equal(refunded.status, 'refunded');
    for (const [name, status] of [
      ['payment_intent.requires_action', 'requires_action'],
      ['payment_intent.payment_failed', 'requires_payment_method'],
      ['payment_intent.canceled', 'canceled'],
      ['payment_intent.succeeded', 'succeeded'],
    ] as const) {
      for (const at of [later(), { created: 1 }])
        await till.take(eventOf(name, intentOf(payment, status), at));
      assert.deepEqual(await readPayment(till, payment), refunded, name);
    }
  });
});

describe('customer.*', () => {
  const wireOf = ({ processorCustomerId: id, id: till_id }: CustomerBody, more: object = {}) => ({
    ...{ id, metadata: { till_id } },
    ...more,
  });

  test('customer.updated: the customer follows', async () => {
    const customer = await createCustomer(till);
    const object = wireOf(customer, { email: 'grace@example.com', name: 'Grace', phone: '+1' });
    await till.take(eventOf('customer.updated', object, later()));
    const { email, name } = await till.get<CustomerBody>(`/customers/${customer.id}`);
    assert.deepEqual([email, name], ['grace@example.com', 'Grace']);
  });

  test('customer.deleted erases, and a late customer.updated brings nothing back', async () => {
    const customer = await createCustomer(till);
    await till.take(eventOf('customer.deleted', wireOf(customer), later()));
    await till.take(eventOf('customer.updated', wireOf(customer, { email: 'back@example.com' }), later()));
    await till.take(
      eventOf('customer.updated', wireOf(customer, { email: 'back@example.com' }), { created: 1 }),
    );
    assert.equal((await till.fetch(`/api/v1/customers/${customer.id}`)).status, 404);
    assert.deepEqual(
      await till.sql('select email, name, phone from till.customers where id = $1', [customer.id]),
      [{ email: null, name: null, phone: null }],
    );
  });

  test('events about a deleted customer are still recorded', async () => {
    const customer = await createCustomer(till);
    const payment = await createPayment(till, { customerId: customer.id });
    const { subscription } = await createSubscription(till, { customerId: customer.id });
    await till.settle();
    await till.stripe.customers.del(customer.processorCustomerId);
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'canceled');
    await till.take(eventOf('payment_intent.canceled', intentOf(payment, 'canceled'), later()));
    assert.equal((await readPayment(till, payment)).status, 'canceled');
    const customerId = { customer: customer.processorCustomerId, id: `in_${randomUUID()}` };
    await till.take(eventOf('invoice.paid.newer', customerId));
    assert.equal((await readInvoice(till, customerId.id)).customerId, customer.id);
  });

  test('a customer that changed before it could be recorded is recorded as it is by then', async () => {
    const request = { email: 'late@example.com', name: 'Before', idempotencyKey: randomUUID() };
    const { id, processorCustomerId } = await till.post<CustomerBody>('/customers', request);
    // As after a crash between the processor's response and the commit.
    await till.sql('delete from till.customers where id = $1', [id]);
    await till.sql(
      'update till.idempotency_claims set completed_at = null, leased_until = now() where resource_id = $1',
      [id],
    );
    const changed = await till.stripe.customers.update(processorCustomerId, { name: 'After' });
    const event = eventOf('customer.updated', { ...changed }, later());
    await till.take(event);
    assert.equal(
      (await stateOf(event)).state,
      'processed',
      'it carries an id of Till: the row is created from it',
    );
    assert.equal((await till.post<CustomerBody>('/customers', request)).id, id);
    assert.equal((await till.get<CustomerBody>(`/customers/${id}`)).name, 'After');
  });

  test('an unknown customer is ignored', async () => {
    const events = ['customer.updated', 'customer.deleted'].map((name) =>
      eventOf(name, { id: 'cus_stranger', metadata: {} }),
    );
    await till.take(...events);
    for (const event of events) assert.equal((await stateOf(event)).state, 'ignored');
  });
});

describe('product.* and price.*', () => {
  const readPlan = ({ id }: PlanBody) => till.get<PlanBody>(`/plans/${id}`);

  test('product.updated and price.updated: name and whether it is active follow', async () => {
    const plan = await createPlan(till);
    const product = { id: plan.processorProductId, name: 'Platinum', active: true };
    await till.take(eventOf('product.updated', product, later()));
    assert.deepEqual(await readPlan(plan).then(({ name, active }) => [name, active]), ['Platinum', true]);
    const price = { id: plan.processorPriceId, product: plan.processorProductId };
    await till.take(eventOf('price.updated', { ...price, active: false }, later()));
    assert.equal((await readPlan(plan)).active, false);
    await till.take(eventOf('price.updated', { ...price, active: true }, later()));
    assert.equal((await readPlan(plan)).active, true);
  });

  test('product.deleted: the plan is archived', async () => {
    const plan = await createPlan(till);
    await till.take(eventOf('product.deleted', { id: plan.processorProductId, name: plan.name }, later()));
    assert.equal((await readPlan(plan)).active, false);
  });

  test('price.deleted: the plan is archived, even in the second of its creation, and stays archived', async () => {
    const plan = await createPlan(till);
    const price = { id: plan.processorPriceId, product: plan.processorProductId };
    const { created } = await till.stripe.prices.retrieve(plan.processorPriceId);
    await till.take(eventOf('price.deleted', price, { created }));
    assert.equal((await readPlan(plan)).active, false);
    await till.take(eventOf('price.updated', { ...price, active: true }, { created: created - 1 }));
    assert.equal((await readPlan(plan)).active, false);
    const { customerId } = await createPayment(till);
    const refused = await till.fetch('/api/v1/subscriptions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ customerId, planId: plan.id }),
    });
    assert.equal(refused.status, 409);
  });

  test('an unknown product and price are ignored', async () => {
    const events = [
      eventOf('price.deleted', { id: 'price_stranger', metadata: {} }),
      eventOf('product.updated', { id: 'prod_stranger', metadata: {} }),
      eventOf('product.deleted', { id: 'prod_stranger', metadata: {} }),
      eventOf('price.updated', { id: 'price_stranger', metadata: {} }),
      // It carries an id of Till, but the processor does not know it.
      eventOf('price.updated', { id: 'price_stranger' }),
    ];
    await till.take(...events);
    for (const event of events) assert.equal((await stateOf(event)).state, 'ignored');
  });
});

describe('customer.subscription.*', () => {
  const wireItems = (shape: string, price: string, start: number, end: number) => {
    const period = { current_period_start: start, current_period_end: end };
    const item = { id: 'si_1', object: 'subscription_item', price: { id: price, object: 'price' } };
    return shape === 'newer'
      ? { items: { object: 'list', data: [{ ...item, ...period }] } }
      : { items: { object: 'list', data: [item] }, ...period };
  };

  for (const [type, wire, ours] of [
    ['customer.subscription.created', 'incomplete', 'incomplete'],
    ['customer.subscription.updated', 'past_due', 'past_due'],
    ['customer.subscription.updated', 'incomplete_expired', 'incomplete_expired'],
    ['customer.subscription.deleted', 'canceled', 'canceled'],
    ['customer.subscription.paused', 'paused', 'unpaid'],
    ['customer.subscription.resumed', 'active', 'active'],
  ] as const) {
    for (const shape of nextShapes())
      test(`${type} in the ${shape} shape: ${wire} is ${ours}, and the period follows`, async () => {
        const plan = await createPlan(till);
        const { subscription } = await createSubscription(till, { planId: plan.id });
        const { created: start } = later();
        const object = {
          id: subscription.processorSubscriptionId,
          status: wire,
          ...wireItems(shape, plan.processorPriceId, start, start + 86_400),
        };
        await till.take(eventOf(`customer.subscription.updated.${shape}`, object, { type, ...later() }));
        const followed = await readSubscription(till, subscription);
        assert.equal(followed.status, ours);
        assert.equal(followed.currentPeriodStart, new Date(start * 1_000).toISOString());
        assert.equal(followed.currentPeriodEnd, new Date((start + 86_400) * 1_000).toISOString());
        assert.equal(followed.planId, plan.id);
      });
  }

  test('a subscription that was created on the dashboard, for a customer and plan of Till, is mirrored', async () => {
    const [customer, plan] = [await createCustomer(till), await createPlan(till)];
    const created = await till.stripe.subscriptions.create({
      customer: customer.processorCustomerId,
      items: [{ price: plan.processorPriceId }],
      payment_behavior: 'default_incomplete',
    });
    await till.settle();
    const { data } = await till.get<{
      data: { processorSubscriptionId: string; planId: string; status: string }[];
    }>(`/subscriptions?customerId=${customer.id}`);
    assert.deepEqual(
      data.map(({ processorSubscriptionId, planId, status }) => [processorSubscriptionId, planId, status]),
      [[created.id, plan.id, 'incomplete']],
    );
  });

  test('a change to another plan is followed, and a price without a plan leaves the plan as it was', async () => {
    const { subscription } = await createSubscription(till);
    const other = await createPlan(till);
    const { created: start } = later();
    for (const [price, planId] of [
      ['price_stranger', subscription.planId],
      [other.processorPriceId, other.id],
      ['price_stranger', other.id],
    ] as const) {
      const object = {
        id: subscription.processorSubscriptionId,
        ...wireItems('newer', price, start, start + 60),
      };
      await till.take(eventOf('customer.subscription.updated.newer', object, later()));
      const followed = await readSubscription(till, subscription);
      assert.deepEqual([followed.planId, followed.status], [planId, 'active']);
    }
  });

  /** A price without a plan, created on the dashboard. */
  const newAddOn = async () => {
    const recurring = { interval: 'month' } as const;
    const values = { currency: 'eur', unit_amount: 300, recurring, product_data: { name: 'Add-on' } };
    return (await till.stripe.prices.create(values)).id;
  };

  test('a subscription from the dashboard with an add-on before the plan is mirrored with the plan', async () => {
    const [customer, plan, addOn] = [await createCustomer(till), await createPlan(till), await newAddOn()];
    const created = await till.stripe.subscriptions.create({
      customer: customer.processorCustomerId,
      items: [{ price: addOn }, { price: plan.processorPriceId }],
      payment_behavior: 'default_incomplete',
    });
    assert.equal(created.items.data[0]?.price.id, addOn);
    await till.settle();
    const { data } = await till.get<{ data: { processorSubscriptionId: string; planId: string }[] }>(
      `/subscriptions?customerId=${customer.id}`,
    );
    assert.deepEqual(
      data.map(({ processorSubscriptionId, planId }) => [processorSubscriptionId, planId]),
      [[created.id, plan.id]],
    );
  });

  test('an add-on, even of another plan, leaves the plan as it was; without the first item the other is followed', async () => {
    const plan = await createPlan(till);
    const { subscription, clientSecret } = await createSubscription(till, { planId: plan.id });
    await confirmSecret(till, clientSecret);
    const other = await createPlan(till);
    const id = subscription.processorSubscriptionId;
    const [first] = (await till.stripe.subscriptions.retrieve(id)).items.data;
    assert(first);
    // Younger than the first item.
    await till.control('clock', { advanceSeconds: 2 });
    seconds += 2;
    for (const price of [await newAddOn(), other.processorPriceId]) {
      await till.stripe.subscriptions.update(id, { items: [{ price }] });
      await till.settle();
      assert.equal((await readSubscription(till, subscription)).planId, plan.id);
    }
    await till.stripe.subscriptions.update(id, { items: [{ id: first.id, deleted: true }] });
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).planId, other.id);
  });

  const nextOrders = rotation(['0123', '3210', '2031', '1302', '0321', '3012'], 3);
  for (const shape of shapes) {
    test(`items that come and go on the dashboard end the same in every order of events, in the ${shape} shape`, async () => {
      const [customer, gold, silver] = [
        await createCustomer(till),
        await createPlan(till),
        await createPlan(till),
      ];
      const { created: start } = later();
      const itemOf = (price: string, created: number) => {
        const item = { id: `si_${created}`, object: 'subscription_item', created };
        const period = { current_period_start: start + created, current_period_end: start + 100 };
        return { ...item, price: { id: price, object: 'price' }, ...(shape === 'newer' ? period : {}) };
      };
      const period = { current_period_start: start, current_period_end: start + 100 };
      const states = [
        [itemOf(gold.processorPriceId, 1)],
        [itemOf('price_addon', 2), itemOf(gold.processorPriceId, 1), itemOf(silver.processorPriceId, 3)],
        [itemOf('price_addon', 2), itemOf(silver.processorPriceId, 3)],
        [itemOf(gold.processorPriceId, 4), itemOf(silver.processorPriceId, 3)],
      ].map((data) => ({
        ...(shape === 'older' ? period : {}),
        ...{ customer: customer.processorCustomerId, metadata: {}, items: { object: 'list', data } },
      }));
      const times = states.map(later);
      for (const order of nextOrders()) {
        const id = `sub_${randomUUID()}`;
        for (const index of [...order].map(Number)) {
          const object = { id, ...states[index] };
          await till.take(eventOf(`customer.subscription.updated.${shape}`, object, times[index]));
        }
        const [row] = await till.sql<{ plan_id: string; current_period_start: Date }>(
          'select plan_id, current_period_start from till.subscriptions where processor_subscription_id = $1',
          [id],
        );
        assert.equal(row?.plan_id, silver.id, order);
        const itemStart = shape === 'newer' ? start + 3 : start;
        assert.equal(row.current_period_start.getTime(), itemStart * 1_000, order);
      }
    });
  }

  test('a subscription of an unknown customer, or without a plan of Till, is ignored and counted as ignored', async () => {
    const [customer, plan] = [await createCustomer(till), await createPlan(till)];
    const type = 'customer.subscription.updated';
    const before = await till.count('webhook_events_ignored_total', { type });
    const strangers = [
      { customer: 'cus_stranger', ...wireItems('newer', plan.processorPriceId, 1, 2) },
      { customer: customer.processorCustomerId, ...wireItems('newer', 'price_stranger', 1, 2) },
    ].map((object) => eventOf(`${type}.newer`, { id: `sub_${randomUUID()}`, metadata: {}, ...object }));
    await till.take(...strangers);
    for (const event of strangers) assert.equal((await stateOf(event)).state, 'ignored');
    assert.equal(await till.count('webhook_events_ignored_total', { type }), before + 2);
  });

  test('a life on the sandbox: failed, paid, renewed, canceled, with its invoices and its payments', async () => {
    const customer = await createCustomer(till);
    const { subscription, clientSecret } = await createSubscription(till, { customerId: customer.id });
    await confirmSecret(till, clientSecret, 'pm_card_chargeCustomerFail').catch(() => {});
    await confirmSecret(till, clientSecret);
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'active');
    await till.control('clock', { advanceSeconds: 32 * 86_400 });
    seconds += 32 * 86_400;
    await till.settle();
    const renewed = await readSubscription(till, subscription);
    assert.equal(renewed.status, 'active');
    assert.ok(String(renewed.currentPeriodStart) > String(subscription.currentPeriodStart));
    await till.stripe.subscriptions.cancel(subscription.processorSubscriptionId);
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'canceled');
    const { data } = await till.get<{ data: { status: string; amountPaid: number }[] }>(
      `/invoices?customerId=${customer.id}`,
    );
    assert.deepEqual(
      data.map(({ status, amountPaid }) => [status, amountPaid]),
      [
        ['paid', 900],
        ['paid', 900],
      ],
    );
    const charged = await till.get<{ data: { status: string; amountReceived: number }[] }>(
      `/payments?subscriptionId=${subscription.id}`,
    );
    assert.deepEqual(
      charged.data.map(({ status, amountReceived }) => [status, amountReceived]),
      [
        ['succeeded', 900],
        ['succeeded', 900],
      ],
    );
  });
});

describe('invoice.*', () => {
  for (const [type, wire, ours] of [
    ['invoice.created', 'draft', 'draft'],
    ['invoice.finalized', 'open', 'open'],
    ['invoice.updated', 'open', 'open'],
    ['invoice.paid', 'paid', 'paid'],
    ['invoice.payment_succeeded', 'paid', 'paid'],
    ['invoice.payment_failed', 'open', 'open'],
    ['invoice.payment_action_required', 'open', 'open'],
    ['invoice.voided', 'void', 'void'],
    ['invoice.marked_uncollectible', 'uncollectible', 'uncollectible'],
    ['invoice.deleted', 'draft', 'void'],
    ['invoice.deleted', 'deleted', 'void'],
    ['invoice.updated', 'deleted', 'void'],
  ] as const) {
    for (const shape of nextShapes())
      test(`${type} (${wire}) in the ${shape} shape creates an invoice that is ${ours}, and changes one`, async () => {
        const customer = await createCustomer(till);
        const fresh = { id: `in_${randomUUID()}`, customer: customer.processorCustomerId };
        const known = { id: `in_${randomUUID()}`, customer: customer.processorCustomerId };
        const name = `invoice.paid.${shape}`;
        await till.take(
          eventOf(name, { ...known, status: 'draft', amount_due: 1 }, { type: 'invoice.created' }),
        );
        for (const object of [fresh, known]) {
          const paid = wire === 'paid' ? 900 : 0;
          const changed = { ...object, status: wire, amount_due: 900, amount_paid: paid };
          await till.take(eventOf(name, changed, { type, ...later() }));
          const invoice = await readInvoice(till, object.id);
          assert.equal(invoice.status, ours);
          assert.equal(invoice.customerId, customer.id);
          assert.equal(invoice.processorSubscriptionId, 'sub_1');
          assert.deepEqual([invoice.amountDue, invoice.amountPaid], [900, paid]);
        }
      });
  }

  test('invoice.deleted as API version 2020-08-27 sends it voids the invoice', async () => {
    const { processorCustomerId: customer } = await createCustomer(till);
    const object = { id: `in_${randomUUID()}`, customer };
    await till.take(
      eventOf('invoice.paid.older', { ...object, status: 'draft' }, { type: 'invoice.created' }),
    );
    const deleted = eventOf('invoice.deleted.older', object, later());
    await till.take(deleted);
    assert.equal((await stateOf(deleted)).state, 'processed');
    assert.equal((await readInvoice(till, object.id)).status, 'void');
  });

  test('an invoice of an unknown customer, or of none, is stored without a customer', async () => {
    for (const customer of ['cus_stranger', null]) {
      const id = `in_${randomUUID()}`;
      const event = eventOf('invoice.paid.newer', { id, customer });
      await till.take(event);
      const invoice = await readInvoice(till, id);
      assert.deepEqual([invoice.customerId, invoice.processorCustomerId], [null, customer]);
      assert.equal((await stateOf(event)).state, 'processed');
    }
  });
});

describe('an unknown status', () => {
  test('fails the event at once, is not retried, and leaves the row as it was', async () => {
    const payment = await createPayment(till);
    const { subscription } = await createSubscription(till, { customerId: payment.customerId });
    const before = [await readPayment(till, payment), await readSubscription(till, subscription)];
    const failed = await till.count('webhook_events_failed_total');
    const events = [
      eventOf('payment_intent.succeeded', intentOf(payment, 'half_paid'), later()),
      eventOf(
        'customer.subscription.updated.newer',
        { id: subscription.processorSubscriptionId, status: 'dormant' },
        later(),
      ),
      eventOf('invoice.paid.newer', { status: 'lost' }, later()),
      eventOf(
        'refund.created',
        { payment_intent: payment.processorPaymentIntentId, status: 'lost' },
        later(),
      ),
      eventOf('refund.created', { payment_intent: payment.processorPaymentIntentId, status: null }, later()),
    ];
    await till.take(...events);
    for (const event of events) {
      const { state, attempts, last_error } = await stateOf(event);
      assert.deepEqual([state, attempts], ['failed', 1]);
      assert.match(last_error ?? '', /status is ("(half_paid|dormant|lost)", not one of|null, not a text)/);
    }
    assert.deepEqual([await readPayment(till, payment), await readSubscription(till, subscription)], before);
    assert.equal(await till.count('webhook_events_failed_total'), failed + events.length);
    assert.equal(
      till.lines.filter(({ msg }) => msg === 'webhook event failed permanently').length,
      events.length,
    );
  });

  test('does not delay the events that came with it', async () => {
    const payment = await createPayment(till);
    const odd = eventOf('payment_intent.succeeded', intentOf(payment, 'half_paid'), later());
    const good = eventOf('payment_intent.succeeded', intentOf(payment, 'succeeded'), later());
    await till.take(odd, good);
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
  });
});
