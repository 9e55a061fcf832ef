/** Every change of what the API shows writes an event, whatever caused it, and nothing else does. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import { MovableClock } from '#core/platform/clock.ts';
import { startBackend } from '../support/backend.ts';
import { assertEventsComplete, readEvents, type StoredEventRow } from '../support/checks/outbox.ts';
import { readJson } from '../support/client.ts';
import {
  type CustomerBody,
  confirmPayment,
  confirmSecret,
  createCustomer,
  createPayment,
  createPlan,
  createSubscription,
  type InvoiceBody,
  type PaymentBody,
  type RefundedBody,
  type SubscriptionBody,
  saveCard,
} from '../support/objects.ts';
import { createPastDue, type PastDue } from '../support/past-due.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import { holdRows } from '../webhooks/row-lock.ts';

const graceDays = 3;
let nowMs: number | undefined;
const backend = await startBackend({ after });
const proxy = await startProcessorProxy(backend);
const till = await startTill({
  in: 'process',
  on: backend,
  processorUrl: proxy.url,
  mustNotLogErrors: true,
  entitlementGraceDays: graceDays,
  processorClock: new MovableClock({ now: () => new Date(nowMs ?? Date.now()) }),
});
const { sql, stripe, services } = till;

const eventsOf = ({ id }: { readonly id: string }) => readEvents(sql, id);
const typesOf = async (object: { readonly id: string }) => (await eventsOf(object)).map(({ type }) => type);
/** Without `updated`: how many steps there are between two types depends on how the webhooks are batched. */
const tellingTypesOf = async (object: { readonly id: string }) =>
  (await typesOf(object)).filter((type) => !type.endsWith('.updated'));
const lastOf = async (object: { readonly id: string }): Promise<StoredEventRow> => {
  const last = (await eventsOf(object)).at(-1);
  assert.ok(last !== undefined);
  return last;
};
const countEvents = async () => (await readEvents(sql)).length;

describe('types', () => {
  test('of a customer: created, updated, deleted, and the last without personal data', async () => {
    const customer = await createCustomer(till);
    await till.call('PATCH', `/customers/${customer.id}`, { name: 'Ada King' });
    await till.settle();
    const [created, updated] = await eventsOf(customer);
    assert.deepEqual([created?.data, created?.previous, created?.customerId], [customer, {}, customer.id]);
    assert.deepEqual(updated?.previous, { name: 'Ada', updatedAt: customer.updatedAt });
    await till.fetch(`/api/v1/customers/${customer.id}`, { method: 'DELETE' });
    await till.settle();
    assert.deepEqual(await typesOf(customer), ['customer.created', 'customer.updated', 'customer.deleted']);
    const { data, previous } = await lastOf(customer);
    assert.deepEqual(data, { ...created?.data, email: '', name: null, updatedAt: data['updatedAt'] });
    assert.deepEqual(Object.keys(previous), ['updatedAt']);
  });

  test('of a plan: created, updated, archived', async () => {
    const plan = await createPlan(till);
    await till.call('PATCH', `/plans/${plan.id}`, { name: 'Other' });
    await till.post(`/plans/${plan.id}/archive`);
    // The processor reports product and price one after the other. Only one of the two changes what the API shows.
    await till.settle();
    assert.deepEqual(await typesOf(plan), ['plan.created', 'plan.updated', 'plan.archived']);
  });

  test('of a payment and its refunds: created, failed, succeeded, refunded, disputed, canceled', async () => {
    const payment = await createPayment(till);
    await confirmPayment(till, payment, 'pm_card_chargeDeclined').catch(() => {});
    await till.settle();
    await confirmPayment(till, payment);
    await till.settle();
    const { refund } = await till.post<RefundedBody>(`/payments/${payment.id}/refund`, { amount: 500 });
    await till.settle();
    assert.deepEqual(await tellingTypesOf(payment), [
      'payment.created',
      'payment.failed',
      'payment.succeeded',
      'payment.refunded',
    ]);
    assert.equal((await lastOf(payment)).data['status'], 'succeeded');
    assert.deepEqual(await typesOf(refund), ['refund.created']);
    assert.equal((await lastOf(refund)).customerId, payment.customerId);

    const disputed = await createPayment(till);
    await confirmPayment(till, disputed, 'pm_card_createDispute');
    await till.control('clock', { advanceSeconds: 0 });
    await till.settle();
    assert.ok((await typesOf(disputed)).includes('payment.disputed'));

    const unpaid = await createPayment(till);
    await till.post(`/payments/${unpaid.id}/cancel`);
    await till.settle();
    assert.deepEqual(await typesOf(unpaid), ['payment.created', 'payment.canceled']);
  });

  test('of a refund that fails: the refund, and the payment that is paid again', async () => {
    const payment = await createPayment(till);
    await confirmPayment(till, payment, 'pm_card_refundFail');
    await till.settle();
    const { refund } = await till.post<RefundedBody>(`/payments/${payment.id}/refund`);
    await till.control('clock', { advanceSeconds: 60 });
    await till.settle();
    assert.deepEqual(
      [(await typesOf(refund)).at(0), (await typesOf(refund)).at(-1)],
      ['refund.created', 'refund.failed'],
    );
    assert.deepEqual((await typesOf(payment)).slice(-2), ['payment.refunded', 'payment.updated']);
  });

  test('of a subscription and its invoice: created, entitled, paid, canceled', async () => {
    const { subscription, clientSecret } = await createSubscription(till);
    await till.settle();
    await confirmSecret(till, clientSecret);
    await till.settle();
    const { latestInvoiceId } = await till.get<SubscriptionBody>(`/subscriptions/${subscription.id}`);
    assert.deepEqual(await tellingTypesOf({ id: String(latestInvoiceId) }), [
      'invoice.created',
      'invoice.paid',
    ]);
    await till.call('DELETE', `/subscriptions/${subscription.id}`);
    await till.settle();
    assert.deepEqual(await tellingTypesOf(subscription), [
      'subscription.created',
      'subscription.entitled',
      'subscription.canceled',
    ]);
  });

  test('of a subscription that begins entitled: created, then entitled, by whatever way Till learns of it', async () => {
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    const paid = await createSubscription(till, { customerId: customer.id, paymentMethodId });
    const trial = await createSubscription(till, { trialPeriodDays: 7 });
    const elsewhere = await subscribeElsewhere();
    await till.take(elsewhere.subscription);
    const { data } = await till.get<{ data: readonly SubscriptionBody[] }>(
      `/subscriptions?customerId=${elsewhere.customer.id}`,
    );
    await till.settle();
    for (const subscription of [paid.subscription, trial.subscription, ...data]) {
      const [created, entitled] = await eventsOf(subscription);
      assert.deepEqual([created?.type, created?.previous], ['subscription.created', {}]);
      assert.deepEqual([entitled?.type, entitled?.previous], ['subscription.entitled', { entitled: false }]);
      assert.deepEqual([entitled?.data, entitled?.cause], [created?.data, created?.cause]);
      assert.equal(created?.data['entitled'], true);
      await services.resync.ofCustomer(subscription.customerId);
      assert.deepEqual(
        (await typesOf(subscription)).filter((type) => type === 'subscription.entitled'),
        ['subscription.entitled'],
        'once',
      );
    }
    assert.equal(data.length, 1);
  });

  test('of many subscriptions that one transaction records: each is created before it is entitled', async () => {
    const { subscribe } = await payerElsewhere();
    const created = await eventsDuring(async () => {
      for (let count = 0; count < 3; count += 1) await subscribe();
    });
    const before = await countEvents();
    const active = created.filter(
      ({ data: { object } }) => object.object === 'subscription' && object.status === 'active',
    );
    await till.take(...active.map((event) => JSON.stringify(event)));
    const added = (await readEvents(sql)).slice(before);
    const subscriptions = added.filter(({ objectType }) => objectType === 'subscription');
    assert.deepEqual(
      [...Map.groupBy(subscriptions, ({ objectId }) => objectId).values()].map((events) =>
        events.map(({ type }) => type),
      ),
      Array.from(active, () => ['subscription.created', 'subscription.entitled']),
    );
    assert.equal(active.length, 3);
    await till.settle();
  });

  test('of a renewal that is declined: unentitled only when the grace period ends, within a minute', async () => {
    let created: PastDue | undefined;
    const events = await eventsDuring(async () => {
      created = await createPastDue(till);
    });
    const { subscription, invoiceId } = created ?? assert.fail();
    const paidEndMs = await paidEndOf(subscription);
    nowMs = paidEndMs + 3_600_000;
    for (const event of events) await till.take(JSON.stringify(event));
    await till.settle();
    assert.equal((await lastOf(subscription)).data['entitled'], true);
    const [invoice] = await sql<{ id: string }>(
      'select id from till.invoices where processor_invoice_id = $1',
      [invoiceId],
    );
    assert.ok((await typesOf(invoice ?? { id: '' })).includes('invoice.payment_failed'));
    nowMs = paidEndMs + graceDays * 86_400_000 - 1;
    const before = await countEvents();
    await services.eventUpkeep.writeDue();
    assert.equal(await countEvents(), before, 'nothing is due yet');
    nowMs += 1;
    await services.eventUpkeep.writeDue();
    const last = await lastOf(subscription);
    assert.deepEqual(
      [last.type, last.previous, last.cause.kind],
      ['subscription.unentitled', { entitled: true }, 'sweeper'],
    );
    await services.eventUpkeep.writeDue();
    assert.equal(await countEvents(), before + 1);
    nowMs = undefined;
  });

  test('a longer grace period has its event after the restart that sets it', async () => {
    const { subscription } = await createPastDue(till);
    await till.settle();
    nowMs = (await paidEndOf(subscription)) + graceDays * 86_400_000 + 1;
    await services.eventUpkeep.writeDue();
    assert.equal((await lastOf(subscription)).type, 'subscription.unentitled');
    const later = await startTill({
      in: 'process',
      on: till,
      entitlementGraceDays: 2 * graceDays,
      processorClock: new MovableClock({ now: () => new Date(nowMs ?? 0) }),
    });
    await later.services.eventUpkeep.writeDue();
    assert.equal((await lastOf(subscription)).type, 'subscription.entitled');
    await later.stop();
    till.deliverTo(() => till.url);
    nowMs = undefined;
  });
});

async function paidEndOf({ processorSubscriptionId }: SubscriptionBody): Promise<number> {
  const { data } = await stripe.invoices.list({ subscription: processorSubscriptionId, status: 'paid' });
  return Math.max(...data.flatMap(({ lines }) => lines.data.map(({ period }) => period.end))) * 1_000;
}

describe('causes', () => {
  const noCause = { keyName: null, person: null, requestId: null, processorEventId: null };

  test('a request, with its key and its id, also where requests share a statement', async () => {
    const customer = await createCustomer(till);
    const order = { customerId: customer.id, amount: 900, currency: 'eur' };
    const ids = ['first', 'second', 'third'].map((name) => `${name}-${randomUUID()}`);
    const created = await Promise.all(
      ids.map(async (id) =>
        readJson<{ payment: PaymentBody }>(
          await till.call('POST', '/payments', order, { 'x-request-id': id }),
          201,
        ),
      ),
    );
    const causes = await Promise.all(created.map(async ({ payment }) => (await lastOf(payment)).cause));
    assert.deepEqual(
      causes,
      ids.map((requestId) => ({ ...noCause, kind: 'api', keyName: 'tests', requestId })),
    );
  });

  test('a request, even if a webhook reports its change before the request has recorded it', async () => {
    const customer = await createCustomer(till);
    const { subscription } = await createSubscription(till, { customerId: customer.id });
    await till.settle();
    const whileInProgress = async (
      held: { readonly method: 'POST' | 'DELETE'; readonly path: string },
      request: (headers: Readonly<Record<string, string>>) => Promise<Response>,
    ): Promise<string> => {
      const requestId = randomUUID();
      proxy.hold(held.path, held.method);
      const answered = request({ 'x-request-id': requestId });
      await (await proxy.nextHeld()).holdResponse();
      // The processor has done it. Its event arrives before its response.
      await till.settle();
      proxy.releaseAll();
      assert.ok((await answered).ok);
      await till.settle();
      return requestId;
    };
    const causeOf = async (object: { readonly id: string }) => {
      const { kind, keyName, requestId } = (await lastOf(object)).cause;
      return { kind, keyName, requestId };
    };
    const update = { method: 'POST', path: `/v1/customers/${customer.processorCustomerId}` } as const;
    const changed = await whileInProgress(update, (headers) =>
      till.call('PATCH', `/customers/${customer.id}`, { name: 'Ada King' }, headers),
    );
    assert.deepEqual(await causeOf(customer), { kind: 'api', keyName: 'tests', requestId: changed });
    const cancelPath = `/v1/subscriptions/${subscription.processorSubscriptionId}`;
    const cancel = { method: 'DELETE', path: cancelPath } as const;
    const canceled = await whileInProgress(cancel, (headers) =>
      till.call('DELETE', `/subscriptions/${subscription.id}`, undefined, headers),
    );
    assert.deepEqual(await causeOf(subscription), { kind: 'api', keyName: 'tests', requestId: canceled });
    const { latestInvoiceId } = await till.get<SubscriptionBody>(`/subscriptions/${subscription.id}`);
    assert.equal((await eventsOf({ id: String(latestInvoiceId) })).at(0)?.cause.kind, 'webhook');
  });

  test('a webhook: the newest event about the object, of a refund for its payment, of an invoice for its subscription', async () => {
    const { processorCustomerId, id: customerId } = await createCustomer(till);
    const payment = await createPayment(till, { customerId });
    await confirmPayment(till, payment);
    await till.settle();
    const created = await eventsDuring(async () => {
      await stripe.refunds.create({ payment_intent: payment.processorPaymentIntentId, amount: 100 });
      await stripe.customers.update(processorCustomerId, { name: 'Other' });
    });
    await till.settle();
    const idOf = (type: string) => created.find((event) => event.type === type)?.id;
    const { cause } = await lastOf({ id: customerId });
    assert.deepEqual(cause, { ...noCause, kind: 'webhook', processorEventId: idOf('customer.updated') });
    const refunded = (await eventsOf(payment)).find(({ type }) => type === 'payment.refunded');
    assert.equal(refunded?.cause.kind, 'webhook');
    assert.ok(created.some(({ id }) => id === refunded?.cause.processorEventId));
  });

  test('resync and recovery', async () => {
    const [one, two] = [await createPayment(till), await createPayment(till)];
    await till.settle();
    const created = await eventsDuring(async () => {
      await confirmPayment(till, one);
      await confirmPayment(till, two);
    });
    const createdAt = new Date(Date.now() - 3_600_000).toISOString();
    await sql('update till.payments set created_at = $2 where id = $1', [one.id, createdAt]);
    await sql(
      `update till.events set data = jsonb_set(data::jsonb, '{createdAt}', to_jsonb($2::text))::json where object_id = $1`,
      [one.id, createdAt],
    );
    await services.resync.ofCustomer(two.customerId);
    assert.deepEqual((await lastOf(two)).cause, { ...noCause, kind: 'resync' });
    // Their events never arrive: the row of the first is checked because it is open for so long.
    for (const { id } of created) await sql(`delete from till.webhook_events where id = $1`, [id]);
    await services.recovery.run();
    assert.deepEqual((await lastOf(one)).cause, { ...noCause, kind: 'recovery' });
    await till.settle();
  });
});

/** The processor's events from now on, oldest first. */
async function eventsDuring(act: () => Promise<unknown>): Promise<readonly Stripe.Event[]> {
  const [last] = (await stripe.events.list({ limit: 1 })).data;
  await act();
  const { data } = await stripe.events.list({ limit: 100, ...(last && { ending_before: last.id }) });
  return data.toReversed();
}

test('no event for a webhook that is repeated or out of date, nor for a request that changes nothing', async () => {
  const payment = await createPayment(till);
  const created = await eventsDuring(() => confirmPayment(till, payment));
  await till.settle();
  await till.call('PATCH', `/payments/${payment.id}`, { metadata: { a: '1' } });
  await till.settle();
  const before = await countEvents();
  for (const event of created) {
    const again = { ...event, id: `evt_${randomUUID()}` };
    await till.take(JSON.stringify(event), JSON.stringify(again));
  }
  await till.call('PATCH', `/payments/${payment.id}`, { metadata: { a: '1' } });
  await services.resync.ofCustomer(payment.customerId);
  assert.equal(await countEvents(), before);
});

/** A customer with a card, and a way to subscribe it that Till learns of from webhooks only. */
async function payerElsewhere() {
  const [customer, plan] = [await createCustomer(till), await createPlan(till)];
  const { id: card } = await stripe.paymentMethods.attach('pm_card_visa', {
    customer: customer.processorCustomerId,
  });
  await till.settle();
  const subscribe = () =>
    stripe.subscriptions.create({
      customer: customer.processorCustomerId,
      items: [{ price: plan.processorPriceId }],
      default_payment_method: card,
    });
  return { customer, subscribe };
}

/** A subscription that was created at the processor, so that its events can arrive in any order. */
async function subscribeElsewhere() {
  const { customer, subscribe } = await payerElsewhere();
  const created = await eventsDuring(subscribe);
  const last = (kind: string) =>
    JSON.stringify(created.findLast(({ data }) => data.object.object === kind) ?? assert.fail(kind));
  return { customer, subscription: last('subscription'), invoice: last('invoice') };
}

describe('what rows show of each other', () => {
  const ofCustomer = async ({ id }: CustomerBody) => {
    const { data } = await till.get<{ data: readonly SubscriptionBody[] }>(
      `/subscriptions?customerId=${id}&limit=1`,
    );
    const invoices = await till.get<{ data: readonly InvoiceBody[] }>(`/invoices?customerId=${id}&limit=1`);
    const [subscription, invoice] = [data[0] ?? assert.fail(), invoices.data[0] ?? assert.fail()];
    return { subscription, invoice };
  };

  test('the invoice first: its event, then both when the subscription comes', async () => {
    const events = await subscribeElsewhere();
    await till.take(events.invoice);
    await till.take(events.subscription);
    const { subscription, invoice } = await ofCustomer(events.customer);
    const [created, updated] = await eventsOf(invoice);
    assert.deepEqual(
      [created?.data['subscriptionId'], updated?.data['subscriptionId']],
      [null, subscription.id],
    );
    assert.deepEqual(updated?.previous, { subscriptionId: null });
    assert.equal(updated?.cause.processorEventId, JSON.parse(events.subscription).id);
    assert.equal((await eventsOf(subscription))[0]?.data['latestInvoiceId'], invoice.id);
    await till.settle();
    await assertEventsComplete(till, sql);
  });

  test('the subscription first: its event, then both when the invoice comes', async () => {
    const events = await subscribeElsewhere();
    await till.take(events.subscription);
    await till.take(events.invoice);
    const { subscription, invoice } = await ofCustomer(events.customer);
    assert.equal((await eventsOf(invoice))[0]?.data['subscriptionId'], subscription.id);
    const [created, , updated] = await eventsOf(subscription);
    assert.deepEqual(
      [created?.data['latestInvoiceId'], updated?.data['latestInvoiceId']],
      [null, invoice.id],
    );
    assert.equal(updated?.cause.processorEventId, JSON.parse(events.invoice).id);
    await till.settle();
    await assertEventsComplete(till, sql);
  });

  test('the first facts of an invoice do not name its subscription: both show it once they do', async () => {
    const events = await subscribeElsewhere();
    await till.take(events.subscription);
    const { id, data, ...rest } = JSON.parse(events.invoice);
    const unlinked = { ...data, object: { ...data.object, parent: null } };
    await till.take(JSON.stringify({ ...rest, id: `${id}_unlinked`, data: unlinked }));
    await till.settle();
    await till.take(events.invoice);
    await till.settle();
    await assertEventsComplete(till, sql);
  });

  test('a discount that an invoice has used ends with the invoice alone', async () => {
    const code = 'USEDONCE';
    const coupon = await stripe.coupons.create({ percent_off: 50, duration: 'once' });
    await stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: coupon.id }, code });
    const { subscription, clientSecret } = await createSubscription(till, { promotionCode: code });
    await till.settle();
    assert.notEqual((await lastOf(subscription)).data['discount'], null);
    const paying = await eventsDuring(() => confirmSecret(till, clientSecret));
    await till.take(JSON.stringify(paying.findLast(({ type }) => type === 'invoice.paid')));
    assert.equal((await lastOf(subscription)).data['discount'], null);
    await till.settle();
    await assertEventsComplete(till, sql);
  });

  test('both at once, by transactions that do not see each other', async () => {
    const events = await subscribeElsewhere();
    // Stops the first transaction when it inserts its events, just before its commit. The second waits for the first.
    const lock = await holdRows(till, 'lock table till.events in exclusive mode');
    await till.send(events.invoice);
    const first = services.eventApplier.applyBatch();
    await lock.awaited(1);
    await till.send(events.subscription);
    const second = services.eventApplier.applyBatch();
    await lock.awaited(2);
    await lock.release();
    await Promise.all([first, second]);
    const { subscription, invoice } = await ofCustomer(events.customer);
    assert.equal((await lastOf(invoice)).data['subscriptionId'], subscription.id);
    assert.equal((await lastOf(subscription)).data['latestInvoiceId'], invoice.id);
    await till.settle();
    await assertEventsComplete(till, sql);
  });
});

test('all that these tests did can be rebuilt from the events', () => assertEventsComplete(till, sql));
