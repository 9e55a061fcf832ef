/**
 * What subscriptions charge is a payment: recorded once, in whatever order the events arrive, and refunded like any
 * other.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, beforeEach, describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import { listAll } from '../support/checks/mirrors.ts';
import { readJson } from '../support/client.ts';
import {
  confirmIntent,
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  intentOf,
  type PageBody,
  type PaymentBody,
  type RefundedBody,
  readRefunds,
  type SubscriptionBody,
} from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
beforeEach(() => endSubscriptions(till));
const { stripe } = till;

/** A subscription whose first invoice is not paid yet. */
async function subscribe() {
  const { subscription, clientSecret } = await createSubscription(till);
  await till.settle();
  return { subscription, intentId: intentOf(clientSecret) };
}

async function paymentsOf({ id }: Pick<SubscriptionBody, 'id'>): Promise<readonly PaymentBody[]> {
  return (await till.get<PageBody<PaymentBody>>(`/payments?subscriptionId=${id}`)).data;
}

async function onlyPaymentOf(subscription: SubscriptionBody): Promise<PaymentBody> {
  const [payment, ...others] = await paymentsOf(subscription);
  assert.ok(payment !== undefined, 'it has a payment');
  assert.deepEqual(others, []);
  return payment;
}

/** The processor's events from now on, which it does not deliver by itself. */
async function eventsDuring(act: () => Promise<unknown>): Promise<readonly Stripe.Event[]> {
  const [last] = (await stripe.events.list({ limit: 1 })).data;
  await act();
  const events = await listAll(stripe.events.list({ limit: 100, ...(last && { ending_before: last.id }) }));
  return events.toSorted((a, b) => a.created - b.created);
}

const readsOf = (operation: string) => till.count('processor_request_duration_seconds', { operation });

async function countReads(act: () => Promise<unknown>): Promise<number> {
  const before = await till.count('processor_request_duration_seconds');
  await act();
  return (await till.count('processor_request_duration_seconds')) - before;
}

test('what a subscription charges is a payment with its invoice and its subscription', async () => {
  const { subscription, intentId } = await subscribe();
  assert.deepEqual(await paymentsOf(subscription), [], 'nothing was charged yet');
  await confirmIntent(till, intentId);
  const [succeeded, failed] = await Promise.all([
    till.count('payments_succeeded_total'),
    till.count('payments_failed_total'),
  ]);
  await till.settle();
  const payment = await onlyPaymentOf(subscription);
  const { data: invoices } = await till.get<PageBody<{ id: string }>>(
    `/invoices?subscriptionId=${subscription.id}`,
  );
  assert.deepEqual(
    {
      ...{ ...payment, id: 'any', paymentMethod: payment.paymentMethod?.last4 },
      ...{ createdAt: 'any', updatedAt: 'any' },
    },
    {
      id: 'any',
      processorPaymentIntentId: intentId,
      customerId: subscription.customerId,
      amount: 900,
      currency: 'eur',
      status: 'succeeded',
      amountReceived: 900,
      amountRefunded: 0,
      amountCapturable: 0,
      captureBefore: null,
      checkoutId: null,
      description: null,
      metadata: {},
      failure: null,
      paymentMethod: '4242',
      invoiceId: invoices[0]?.id,
      subscriptionId: subscription.id,
      dispute: null,
      createdAt: 'any',
      updatedAt: 'any',
    },
  );
  assert.deepEqual(await till.get(`/payments/${payment.id}`), payment);
  assert.equal(await till.count('payments_succeeded_total'), succeeded);
  assert.equal(await till.count('payments_failed_total'), failed);
});

test('a renewal costs one read if it is paid, and a failed one two, however many attempts there are', async () => {
  const { subscription, intentId } = await subscribe();
  await confirmIntent(till, intentId);
  await till.settle();
  const paid = await eventsDuring(() => till.control('clock', { advanceSeconds: 32 * 86_400 }));
  const reads = await countReads(async () => {
    for (const event of paid) await till.take(JSON.stringify(event));
  });
  assert.equal((await paymentsOf(subscription)).length, 2);
  // The clock renews the subscriptions of other tests too.
  const renewals = paid.filter(({ type }) => type === 'invoice_payment.paid').length;
  assert.ok(renewals > 0 && reads <= renewals, `${reads} reads for ${renewals} renewals`);
  const customer = await till.get<{ processorCustomerId: string }>(`/customers/${subscription.customerId}`);
  const { id: card } = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', {
    customer: customer.processorCustomerId,
  });
  await stripe.subscriptions.update(subscription.processorSubscriptionId, { default_payment_method: card });
  await till.settle();
  const failed = await eventsDuring(() => till.control('clock', { advanceSeconds: 45 * 86_400 }));
  const attempts = failed.filter(({ type }) => type === 'payment_intent.payment_failed').length;
  assert.ok(attempts > 1, `${attempts} attempts`);
  const metric = await till.count('payments_failed_total');
  const lists = await readsOf('invoice_payments.list');
  await till.take(...failed.map((event) => JSON.stringify(event)));
  const [newest] = await paymentsOf(subscription);
  assert.equal(newest?.failure?.code, 'card_declined');
  assert.equal(newest?.status === 'requires_payment_method' || newest?.status === 'canceled', true);
  assert.ok((await readsOf('invoice_payments.list')) - lists <= 1, 'its invoice is looked up once');
  assert.equal(await till.count('payments_failed_total'), metric, 'not counted');
  await till.settle();
});

describe('whichever event comes first', () => {
  const shuffles = [
    ['oldest first', (events: readonly Stripe.Event[]) => events],
    ['newest first', (events: readonly Stripe.Event[]) => events.toReversed()],
    [
      'the invoice payment first',
      (events: readonly Stripe.Event[]) => events.toSorted((a, b) => rank(a) - rank(b)),
    ],
    [
      'the invoice payment last',
      (events: readonly Stripe.Event[]) => events.toSorted((a, b) => rank(b) - rank(a)),
    ],
  ] as const;
  const rank = ({ type }: Stripe.Event) => (type === 'invoice_payment.paid' ? 0 : 1);
  for (const [order, shuffle] of shuffles)
    test(`a failed and a successful attempt are one payment: ${order}`, async () => {
      const customer = await createCustomer(till);
      const plan = await createPlan(till);
      await till.settle();
      const created: { subscription?: Stripe.Subscription } = {};
      // On the dashboard, so that Till learns of the subscription only from events.
      const events = await eventsDuring(async () => {
        created.subscription = await stripe.subscriptions.create({
          customer: customer.processorCustomerId,
          items: [{ price: plan.processorPriceId }],
          payment_behavior: 'default_incomplete',
          payment_settings: { save_default_payment_method: 'on_subscription' },
          expand: ['latest_invoice.confirmation_secret'],
        });
        const invoice = created.subscription.latest_invoice;
        assert.ok(typeof invoice === 'object' && invoice !== null);
        const secret = invoice.confirmation_secret?.client_secret ?? null;
        await assert.rejects(confirmSecret(till, secret, 'pm_card_visa_chargeDeclined'));
        await confirmSecret(till, secret);
        const { id } =
          (await stripe.paymentIntents.list({ customer: customer.processorCustomerId })).data[0] ?? {};
        await stripe.refunds.create({ payment_intent: id ?? '', amount: 300 });
      });
      for (const event of shuffle(events)) await till.take(JSON.stringify(event));
      const { data } = await till.get<PageBody<PaymentBody>>(
        `/payments?customerId=${customer.id}&source=subscription`,
      );
      assert.equal(data.length, 1);
      const [payment] = data;
      assert.ok(payment !== undefined);
      assert.deepEqual(
        [payment.status, payment.amountReceived, payment.amountRefunded, payment.failure],
        ['succeeded', 900, 300, null],
      );
      assert.equal(payment.paymentMethod?.last4, '4242');
      const { data: subscriptions } = await till.get<PageBody<SubscriptionBody>>(
        `/subscriptions?customerId=${customer.id}`,
      );
      assert.equal(payment.subscriptionId, subscriptions[0]?.id);
      assert.notEqual(payment.invoiceId, null);
      assert.equal((await readRefunds(till, payment)).length, 1);
      await till.settle();
      assert.deepEqual(await till.get(`/payments/${payment.id}`), payment);
    });
});

/** A subscription created on the dashboard, with a card. Till does not know it yet. */
async function subscribeElsewhere() {
  const [customer, plan] = [await createCustomer(till), await createPlan(till)];
  await till.settle();
  const { id: card } = await stripe.paymentMethods.attach('pm_card_visa', {
    customer: customer.processorCustomerId,
  });
  const events = await eventsDuring(() =>
    stripe.subscriptions.create({
      customer: customer.processorCustomerId,
      items: [{ price: plan.processorPriceId }],
      default_payment_method: card,
    }),
  );
  const eventOfType = (type: string) => {
    const found = events.find((event) => event.type === type);
    assert.ok(found !== undefined, type);
    return found;
  };
  const payments = async () =>
    (await till.get<PageBody<PaymentBody>>(`/payments?customerId=${customer.id}&source=all`)).data;
  return { customer, eventOfType, payments };
}

describe('one event alone is enough', () => {
  test('invoice_payment.paid, which also brings the invoice and the subscription', async () => {
    const { eventOfType, payments } = await subscribeElsewhere();
    await till.take(JSON.stringify(eventOfType('payment_intent.succeeded')));
    assert.deepEqual(await payments(), [], 'a payment intent may belong to another application');
    await till.take(JSON.stringify(eventOfType('invoice_payment.paid')));
    const [payment, ...others] = await payments();
    assert.ok(payment !== undefined && others.length === 0);
    assert.equal(payment.status, 'succeeded');
    assert.ok(payment.invoiceId !== null && payment.subscriptionId !== null);
    await till.settle();
    assert.deepEqual(await payments(), [payment], 'the other events change nothing');
  });

  test('payment_intent.succeeded of an older API version, which names the invoice', async () => {
    const { eventOfType, payments } = await subscribeElsewhere();
    const { invoice } = eventOfType('invoice_payment.paid').data.object as Stripe.InvoicePayment;
    const succeeded = eventOfType('payment_intent.succeeded');
    const olderWith = (invoiceId: unknown) =>
      JSON.stringify({
        ...{ ...succeeded, id: `evt_${randomUUID()}`, api_version: '2024-06-20' },
        data: { object: { ...succeeded.data.object, invoice: invoiceId } },
      });
    await till.take(olderWith(null));
    assert.deepEqual(await payments(), [], 'one of no invoice is ignored');
    await till.take(olderWith(invoice));
    const [payment] = await payments();
    assert.ok(payment !== undefined && payment.invoiceId !== null && payment.subscriptionId !== null);
    await till.settle();
    assert.deepEqual(await payments(), [payment]);
  });
});

describe('a lost payment of a subscription', () => {
  for (const [by, recover] of [
    ['a resync of everything', () => till.services.resync.all()],
    ['a resync of the customer', (id: string) => till.services.resync.ofCustomer(id)],
  ] as const)
    test(`comes back under its id by ${by}, with its refunds`, async () => {
      const { customer, payments } = await subscribeElsewhere();
      await till.settle();
      const [payment] = await payments();
      assert.ok(payment !== undefined);
      await till.post(`/payments/${payment.id}/refund`, { amount: 100 });
      await till.settle();
      const [before] = await payments();
      const refunds = await readRefunds(till, payment);
      await till.sql('delete from till.refunds where payment_id = $1', [payment.id]);
      await till.sql('delete from till.payments where id = $1', [payment.id]);
      const total = (await till.get<PageBody<PaymentBody>>('/payments')).total;
      await recover(customer.id);
      const [after] = await payments();
      assert.deepEqual({ ...after, updatedAt: '' }, { ...before, updatedAt: '' });
      assert.deepEqual(
        (await readRefunds(till, payment)).map(({ id, amount }) => [id, amount]),
        refunds.map(({ id, amount }) => [id, amount]),
      );
      assert.equal((await till.get<PageBody<PaymentBody>>('/payments')).total, total, 'not in the list');
    });
});

describe('what a subscription charged', () => {
  async function charged(): Promise<PaymentBody> {
    const { subscription, intentId } = await subscribe();
    await confirmIntent(till, intentId);
    await till.settle();
    return onlyPaymentOf(subscription);
  }

  test('is refunded in part and in full, under an idempotency key', async () => {
    const payment = await charged();
    const refund = (body: object) => till.call('POST', `/payments/${payment.id}/refund`, body);
    const idempotencyKey = randomUUID();
    const part = await readJson<RefundedBody>(await refund({ amount: 400, idempotencyKey }), 200);
    assert.deepEqual(
      [part.status, part.amountRefunded, part.invoiceId],
      ['succeeded', 400, payment.invoiceId],
    );
    const again = await readJson<RefundedBody>(await refund({ amount: 400, idempotencyKey }), 200);
    assert.equal(again.refund.id, part.refund.id);
    const rest = await readJson<RefundedBody>(await refund({}), 200);
    assert.deepEqual([rest.status, rest.amountRefunded], ['refunded', 900]);
    await till.settle();
    assert.deepEqual(
      (await readRefunds(till, payment)).map(({ amount }) => amount),
      [500, 400],
    );
    await readProblem(await refund({ amount: 1 }), 409, 'payment_not_refundable');
  });

  test('is neither captured nor canceled', async () => {
    const payment = await charged();
    const capture = await till.call('POST', `/payments/${payment.id}/capture`, {});
    await readProblem(capture, 409, 'payment_not_capturable');
    const cancel = await till.call('POST', `/payments/${payment.id}/cancel`);
    await readProblem(cancel, 409, 'payment_not_cancelable');
  });

  test('is not canceled while it is open either: the subscription is', async () => {
    const { subscription, intentId } = await subscribe();
    await assert.rejects(confirmIntent(till, intentId, 'pm_card_visa_chargeDeclined'));
    await till.settle();
    const payment = await onlyPaymentOf(subscription);
    assert.equal(payment.failure?.declineCode, 'generic_decline');
    const cancel = () => till.call('POST', `/payments/${payment.id}/cancel`);
    const problem = await readProblem(await cancel(), 409, 'payment_not_cancelable');
    assert.match(problem.detail, /subscription/);
    const capture = await till.call('POST', `/payments/${payment.id}/capture`, {});
    await readProblem(capture, 409, 'payment_not_capturable');
    const { latest_invoice: invoice } = await stripe.subscriptions.retrieve(
      subscription.processorSubscriptionId,
    );
    await stripe.invoices.voidInvoice(String(invoice));
    await till.settle();
    const canceled = await readJson<PaymentBody>(await cancel(), 200);
    assert.equal(canceled.status, 'canceled', 'canceling it again returns its state');
  });

  test('is waiting while the customer has to authenticate', async () => {
    const { subscription, intentId } = await subscribe();
    await confirmIntent(till, intentId, 'pm_card_threeDSecure2Required');
    await till.settle();
    assert.equal((await onlyPaymentOf(subscription)).status, 'requires_action');
    await till.control(`payment_intents/${intentId}/authenticate`, { result: 'succeeded' });
    await till.settle();
    assert.equal((await onlyPaymentOf(subscription)).status, 'succeeded');
  });
});

describe('other payments are ignored', () => {
  const stateOf = async (event: string) => {
    const [row] = await till.sql<{ state: string }>('select state from till.webhook_events where id = $1', [
      idOf(event),
    ]);
    return row?.state;
  };

  test('an invoice that was paid elsewhere has none', async () => {
    const { subscription } = await subscribe();
    const { latest_invoice: invoice } = await stripe.subscriptions.retrieve(
      subscription.processorSubscriptionId,
    );
    await stripe.invoices.pay(String(invoice), { paid_out_of_band: true });
    await till.settle();
    assert.deepEqual(await paymentsOf(subscription), []);
  });

  test('those of an invoice without a subscription, and of no invoice, failed or not', async () => {
    const customer = await createCustomer(till);
    const { processorCustomerId } = customer;
    const { id: card } = await stripe.paymentMethods.attach('pm_card_visa', {
      customer: processorCustomerId,
    });
    await stripe.invoiceItems.create({ customer: processorCustomerId, amount: 500, currency: 'eur' });
    const { id: invoice } = await stripe.invoices.create({
      customer: processorCustomerId,
      currency: 'eur',
      pending_invoice_items_behavior: 'include',
    });
    await stripe.invoices.finalizeInvoice(invoice ?? '');
    await stripe.invoices.pay(invoice ?? '', { payment_method: card });
    const elsewhere = {
      customer: processorCustomerId,
      amount: 700,
      currency: 'eur',
      confirm: true,
      return_url: 'https://shop.example.com/done',
    };
    await stripe.paymentIntents.create({ ...elsewhere, payment_method: 'pm_card_visa' });
    await assert.rejects(
      stripe.paymentIntents.create({ ...elsewhere, payment_method: 'pm_card_visa_chargeDeclined' }),
    );
    await till.settle();
    const { data } = await till.get<PageBody<PaymentBody>>(`/payments?customerId=${customer.id}&source=all`);
    assert.deepEqual(data, []);
    await till.services.resync.ofCustomer(customer.id);
    const after = await till.get<PageBody<PaymentBody>>(`/payments?customerId=${customer.id}&source=all`);
    assert.deepEqual(after.data, [], 'even by a resync');
  });

  test('those without a payment intent, and those of unknown customers', async () => {
    const paidBy = (payment: object) =>
      eventOf('invoice_payment.paid', { invoice: `in_${randomUUID()}`, payment });
    const record = paidBy({ type: 'payment_record', payment_record: 'pr_1' });
    const unknown = paidBy({ type: 'payment_intent', payment_intent: `pi_${randomUUID()}` });
    await till.take(record, unknown);
    assert.equal(await stateOf(record), 'ignored');
    assert.equal(await stateOf(unknown), 'ignored');
    const stranger = await stripe.customers.create({ email: 'stranger@example.com' });
    const { id: card } = await stripe.paymentMethods.attach('pm_card_visa', { customer: stranger.id });
    const plan = await createPlan(till);
    await stripe.subscriptions.create({
      customer: stranger.id,
      items: [{ price: plan.processorPriceId }],
      default_payment_method: card,
    });
    const lists = await readsOf('invoice_payments.list');
    await till.settle();
    assert.deepEqual(
      await till.sql(`select 1 from till.payments join till.customers on customers.id = customer_id
        where processor_customer_id = '${stranger.id}'`),
      [],
    );
    assert.equal(await readsOf('invoice_payments.list'), lists);
  });
});
