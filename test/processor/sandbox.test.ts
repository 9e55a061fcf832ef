import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pages } from '../../src/processor/port/pages.ts';
import type { Attempt } from '../../src/processor/port/processor.ts';
import { failureOf } from './adapter.ts';
import {
  confirm,
  newCustomer,
  newKey,
  newPaidPayment,
  newPlan,
  newSubscription,
  startSandboxed,
} from './sandboxed.ts';
import { localId } from './wire-objects.ts';

const since = new Date();
const otherId = '0199d3a2-0000-7000-8000-000000000001';
const missing = { outcome: 'missing', processorCode: 'resource_missing' };

async function all<T>(pages: Pages<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pages) items.push(...page.items);
  return items;
}

function resultOf<T>(attempt: Attempt<T>): T {
  assert(attempt.outcome === 'done', JSON.stringify(attempt));
  return attempt.value;
}

/** Compares facts without the times at which they were read: two calls may lie in two seconds. */
function assertSame(actual: unknown, expected: unknown): void {
  assert.deepEqual(undated(actual), undated(expected));
}

function undated(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(undated);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const entries = Object.entries(value).filter(([name]) => name !== 'asOf');
  return Object.fromEntries(entries.map(([name, item]) => [name, undated(item)]));
}

describe('customers', () => {
  test('a customer is created, read, found, listed, changed and deleted', async (t) => {
    const { customers, events } = (await startSandboxed(t)).processor;
    const values = { id: localId, email: 'ada@example.com', name: 'Ada', phone: '+49 30 1' };
    const key = newKey();
    const { mark } = key;
    const created = await customers.create({ ...values, ...key });
    assert.partialDeepStrictEqual(created, {
      localId,
      email: 'ada@example.com',
      name: 'Ada',
      phone: '+49 30 1',
    });
    assertSame(await customers.read(created.processorCustomerId), created);
    assertSame(await customers.find({ mark, since }), { value: created, request: mark.request });
    assert.equal(await customers.find({ ...newKey(), since }), null);
    assertSame(await all(customers.list()), [created]);
    assertSame(await all(customers.list({ since })), [created]);

    const { processorCustomerId } = created;
    const changed = await customers.update({ processorCustomerId, name: null, email: 'a@b.de', ...newKey() });
    assertSame(resultOf(changed), { ...created, name: null, email: 'a@b.de' });

    assert.equal(resultOf(await customers.delete(processorCustomerId)), 'deleted');
    assert.partialDeepStrictEqual(await customers.delete(processorCustomerId), missing);
    assert.equal(await customers.read(processorCustomerId), 'deleted');
    for (const wanted of [{ processorCustomerId }, { localId }]) {
      const deleted = await events.findDeletedCustomer(wanted);
      assert.partialDeepStrictEqual(deleted, { processorCustomerId, localId, deleted: true, email: null });
    }
    assert.equal(await events.findDeletedCustomer({ localId: otherId }), null);
    const late = await customers.update({ processorCustomerId, name: 'B', ...newKey() });
    assert.partialDeepStrictEqual(late, missing);
  });
});

describe('plans', () => {
  test('a plan is created, read, found, listed and archived, product and price', async (t) => {
    const { plans } = (await startSandboxed(t)).processor;
    const values = { id: localId, name: 'Gold', amount: 900, currency: 'eur', interval: 'month' } as const;
    const key = newKey();
    const { mark } = key;
    const created = await plans.create({ ...values, ...key });
    const { processorPriceId, processorProductId } = created.price;
    assert.partialDeepStrictEqual(created, {
      product: { localId, processorProductId, name: 'Gold', active: true },
      price: { localId, amount: 900, currency: 'eur', interval: 'month', active: true },
    });
    assertSame(await plans.read(processorPriceId), created);
    assertSame(await plans.find({ mark, since }), { value: created, request: mark.request });
    assert.equal(await plans.find({ ...newKey(), since }), null);
    assert.equal(await plans.read('price_none'), null);

    for (const again of [newKey(), newKey()]) {
      const archived = resultOf(await plans.archive({ processorPriceId, processorProductId, ...again }));
      assert.equal(archived.price.active, false);
      assert.equal(archived.product.active, false);
    }
    const listed = await all(plans.list());
    assertSame(
      listed.map(({ price, product }) => [price.processorPriceId, price.active, product.active]),
      [[processorPriceId, false, false]],
    );
  });
});

describe('payments', () => {
  test('a payment is created, found, and has no secret left once it is paid', async (t) => {
    const sandboxed = await startSandboxed(t);
    const { payments } = sandboxed.processor;
    const processorCustomerId = await newCustomer(sandboxed);
    const values = { id: localId, processorCustomerId, amount: 2000, currency: 'eur' };
    const key = newKey();
    const { mark } = key;
    const created = await payments.create({ ...values, ...key });
    const { processorPaymentIntentId } = created.payment;
    assert.partialDeepStrictEqual(created.payment, {
      localId,
      processorCustomerId,
      amount: 2000,
      amountReceived: 0,
      currency: 'eur',
      status: 'requires_payment_method',
    });
    assert.match(created.clientSecret ?? '', /^pi_.*_secret_/);
    assertSame(await payments.read(processorPaymentIntentId), created);
    assertSame(await payments.find({ mark, since, processorCustomerId }), {
      value: created,
      request: mark.request,
    });
    assert.equal(await payments.find({ ...newKey(), since, processorCustomerId }), null);
    assert.equal(await payments.read('pi_none'), null);

    await confirm(sandboxed, processorPaymentIntentId, 'pm_card_visa');
    assert.partialDeepStrictEqual(await payments.read(processorPaymentIntentId), {
      payment: { status: 'succeeded', amountReceived: 2000 },
      clientSecret: null,
    });
    assertSame(
      (await all(payments.list({ processorCustomerId }))).map(({ status }) => status),
      ['succeeded'],
    );
  });

  test('the same idempotency key creates the payment once', async (t) => {
    const sandboxed = await startSandboxed(t);
    const { payments } = sandboxed.processor;
    const processorCustomerId = await newCustomer(sandboxed);
    const order = { id: localId, processorCustomerId, amount: 2000, currency: 'eur', ...newKey() };
    const [first, second] = [await payments.create(order), await payments.create(order)];
    assertSame(second, first);
    assert.equal((await all(payments.list({}))).length, 1);
    const failure = await failureOf(payments.create({ ...order, amount: 3000 }));
    assert.equal(failure.code, 'processor_bad_answer');
    assert.equal(failure.extras.effect, 'unknown');
  });

  test('an open payment can be canceled, a paid or canceled one is in the wrong state', async (t) => {
    const sandboxed = await startSandboxed(t);
    const { payments } = sandboxed.processor;
    const processorCustomerId = await newCustomer(sandboxed);
    const values = { id: localId, processorCustomerId, amount: 2000, currency: 'eur', ...newKey() };
    const { processorPaymentIntentId } = (await payments.create(values)).payment;
    const canceled = await payments.cancel({ processorPaymentIntentId, ...newKey() });
    assert.equal(resultOf(canceled).status, 'canceled');
    const paid = await newPaidPayment(sandboxed);
    for (const id of [processorPaymentIntentId, paid]) {
      assert.partialDeepStrictEqual(await payments.cancel({ processorPaymentIntentId: id, ...newKey() }), {
        outcome: 'wrong_state',
        processorCode: 'payment_intent_unexpected_state',
      });
    }
    const unknown = await payments.cancel({ processorPaymentIntentId: 'pi_none', ...newKey() });
    assert.partialDeepStrictEqual(unknown, missing);
  });

  test("the caller's values are rejected with the code and the parameter that the processor names", async (t) => {
    const sandboxed = await startSandboxed(t);
    const { payments } = sandboxed.processor;
    const processorCustomerId = await newCustomer(sandboxed);
    const values = { id: localId, processorCustomerId, amount: 2000, currency: 'eur' };
    for (const [change, processorCode, processorParam] of [
      [{ amount: 1 }, 'amount_too_small', 'amount'],
      [{ processorCustomerId: 'cus_none' }, 'resource_missing', 'customer'],
    ] as const) {
      const failure = await failureOf(payments.create({ ...values, ...change, ...newKey() }));
      assert.equal(failure.code, 'processor_rejected');
      assert.partialDeepStrictEqual(failure.extras, { processorCode, processorParam, effect: 'none' });
    }
    const strange = payments.create({ ...values, currency: 'xxx', ...newKey() });
    await assert.rejects(strange, { code: 'processor_rejected' });
  });
});

describe('refunds', () => {
  test('a payment is refunded in parts until nothing is left, and then in the wrong state', async (t) => {
    const sandboxed = await startSandboxed(t);
    const { refunds } = sandboxed.processor;
    const processorPaymentIntentId = await newPaidPayment(sandboxed);
    const order = (amount: number) => ({
      id: localId,
      processorPaymentIntentId,
      amount,
      reason: null,
      ...newKey(),
    });
    const first = resultOf(await refunds.create({ ...order(500), reason: 'duplicate' }));
    assert.partialDeepStrictEqual(first, {
      localId,
      processorPaymentIntentId,
      amount: 500,
      currency: 'eur',
      status: 'succeeded',
      reason: 'duplicate',
    });
    assert.partialDeepStrictEqual(await refunds.create(order(1501)), { outcome: 'wrong_state' });
    resultOf(await refunds.create(order(1500)));
    assert.partialDeepStrictEqual(await refunds.create(order(1)), {
      outcome: 'wrong_state',
      processorCode: 'charge_already_refunded',
    });
    const listed = await refunds.listOfPayment(processorPaymentIntentId);
    assertSame(listed.map(({ amount }) => amount).sort(), [1500, 500]);
    // A list of all refunds also shows the customers of their payments.
    const { payment } = (await sandboxed.processor.payments.read(processorPaymentIntentId)) ?? {};
    const processorCustomerId = payment?.processorCustomerId;
    assertSame(
      await all(refunds.list()),
      listed.map((refund) => ({ ...refund, processorCustomerId })),
    );
  });

  test('what was never paid cannot be refunded, and what does not exist is missing', async (t) => {
    const sandboxed = await startSandboxed(t);
    const { refunds, payments } = sandboxed.processor;
    const processorCustomerId = await newCustomer(sandboxed);
    const values = { id: localId, processorCustomerId, amount: 2000, currency: 'eur', ...newKey() };
    const { processorPaymentIntentId } = (await payments.create(values)).payment;
    const order = { id: localId, amount: 5, reason: null };
    assert.partialDeepStrictEqual(await refunds.create({ ...order, processorPaymentIntentId, ...newKey() }), {
      outcome: 'wrong_state',
    });
    const unknown = { ...order, processorPaymentIntentId: 'pi_none', ...newKey() };
    assert.partialDeepStrictEqual(await refunds.create(unknown), missing);
  });

  test('a refund may stay pending', async (t) => {
    const sandboxed = await startSandboxed(t);
    const processorPaymentIntentId = await newPaidPayment(sandboxed, 'pm_card_pendingRefund');
    const order = { id: localId, processorPaymentIntentId, amount: 5, reason: null, ...newKey() };
    const refund = resultOf(await sandboxed.processor.refunds.create(order));
    assert.equal(refund.status, 'pending');
  });
});

describe('subscriptions and invoices', () => {
  test('a subscription waits for its first payment, and is active once it is paid', async (t) => {
    const sandboxed = await startSandboxed(t);
    const { subscriptions, invoices } = sandboxed.processor;
    const key = newKey();
    const { mark } = key;
    const created = await newSubscription(sandboxed, 0, 900, key);
    const { processorSubscriptionId } = created.subscription;
    const processorCustomerId = created.subscription.processorCustomerId ?? '';
    const { currentPeriodStart, currentPeriodEnd } = created.subscription.items[0];
    assert.equal(created.subscription.status, 'incomplete');
    assert.equal(created.subscription.localId, localId);
    assert(currentPeriodEnd > currentPeriodStart);
    assertSame(await subscriptions.read(processorSubscriptionId), created);
    assertSame(await subscriptions.find({ mark, since, processorCustomerId }), {
      value: created,
      request: mark.request,
    });
    assert.equal(await subscriptions.find({ ...newKey(), since, processorCustomerId }), null);

    const [paymentIntentId] = (created.clientSecret ?? '').split('_secret_');
    await confirm(sandboxed, paymentIntentId ?? '', 'pm_card_visa');
    const paid = await subscriptions.read(processorSubscriptionId);
    assert.equal(paid?.subscription.status, 'active');
    assert.equal(paid.clientSecret, null);

    const [invoice, ...others] = await all(invoices.list({ processorSubscriptionId }));
    assert(invoice);
    assertSame(others, []);
    assert.partialDeepStrictEqual(invoice, {
      processorCustomerId,
      processorSubscriptionId,
      amountDue: 900,
      amountPaid: 900,
      currency: 'eur',
      status: 'paid',
    });
    assertSame(await invoices.read(invoice.processorInvoiceId), invoice);
    assertSame(await all(invoices.list({ processorCustomerId })), [invoice]);
    assert.equal(await invoices.read('in_none'), null);
  });

  test('a trial and a free plan leave nothing to confirm', async (t) => {
    const sandboxed = await startSandboxed(t);
    const trial = await newSubscription(sandboxed, 14);
    assert.equal(trial.subscription.status, 'trialing');
    assert.notEqual(trial.subscription.trialEnd, null);
    assert.equal(trial.clientSecret, null);
    const free = await newSubscription(sandboxed, 0, 0);
    assert.equal(free.subscription.status, 'active');
    assert.equal(free.clientSecret, null);
  });

  test('a subscription is canceled at once; the second time it is missing and can still be read', async (t) => {
    const sandboxed = await startSandboxed(t);
    const { subscriptions } = sandboxed.processor;
    const { processorSubscriptionId } = (await newSubscription(sandboxed, 14)).subscription;
    assert.equal(resultOf(await subscriptions.cancel(processorSubscriptionId)).status, 'canceled');
    assert.partialDeepStrictEqual(await subscriptions.cancel(processorSubscriptionId), missing);
    assert.equal((await subscriptions.read(processorSubscriptionId))?.subscription.status, 'canceled');
    assert.equal((await all(subscriptions.list({}))).length, 1);
    assert.equal(await subscriptions.read('sub_none'), null);
  });

  test('an archived plan takes no subscription, and the failure names the parameter', async (t) => {
    const sandboxed = await startSandboxed(t);
    const { plans, subscriptions } = sandboxed.processor;
    const processorCustomerId = await newCustomer(sandboxed);
    const processorPriceId = await newPlan(sandboxed);
    const processorProductId = (await plans.read(processorPriceId))?.product.processorProductId ?? '';
    await plans.archive({ processorPriceId, processorProductId, ...newKey() });
    const order = { id: localId, processorCustomerId, processorPriceId, trialPeriodDays: 0, ...newKey() };
    const failure = await failureOf(subscriptions.create(order));
    assert.equal(failure.code, 'processor_rejected');
    assert.partialDeepStrictEqual(failure.extras, { processorParam: 'items[0][price]', effect: 'none' });
  });
});
