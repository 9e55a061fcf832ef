import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import { newId } from '#core/platform/id.ts';
import { assertMirrored, listAll, readMirroredIds } from '../support/checks/mirrors.ts';
import { effort } from '../support/effort.ts';
import {
  type CustomerBody,
  confirmPayment,
  confirmSecret,
  createCustomer,
  createPayment,
  createPlan,
  createSubscription,
  type PlanBody,
  type RefundBody,
} from '../support/objects.ts';
import { createPromotionCode } from '../support/promotion-codes.ts';
import {
  assertSameResponses,
  type RecordedResponse,
  recordResponse,
  recordResponses,
} from '../support/recorded-responses.ts';
import { changed } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

/** As after the restore of a backup from before anything else happened. */
async function restoreEmpty(till: TillInProcess): Promise<void> {
  await till.sql(`truncate till.customers, till.external_ids, till.plans, till.payments, till.refunds, till.subscriptions,
    till.subscription_add_ons, till.subscription_history, till.invoices, till.checkouts, till.idempotency_claims, till.webhook_events,
    till.list_counts`);
  await till.sql(`update till.recovery set read_until = now() - interval '1 hour'`);
}

/** A customer that has paid, got something back, disputed a payment and subscribed. */
async function newBuyer(till: TillInProcess, plan: PlanBody): Promise<CustomerBody> {
  const customer = await createCustomer(till);
  const payment = await createPayment(till, { customerId: customer.id });
  await confirmPayment(till, payment);
  await till.settle();
  await till.post(`/payments/${payment.id}/refund`, { amount: 500 });
  const { code: promotionCode } = await createPromotionCode(till, { max_redemptions: 1 });
  const { subscription, clientSecret } = await createSubscription(till, {
    ...{ customerId: customer.id, planId: plan.id, quantity: 2, promotionCode },
  });
  await confirmSecret(till, clientSecret);
  await changed(till, subscription, { quantity: 3, when: 'periodEnd' });
  await createPayment(till, { customerId: customer.id });
  const disputed = await createPayment(till, { customerId: customer.id });
  // An inquiry stays as it is for months.
  await confirmPayment(till, disputed, 'pm_card_createDisputeInquiry');
  // Moving the clock by no time waits for the dispute.
  await till.control('clock', { advanceSeconds: 0 });
  await till.settle();
  return customer;
}

/** Some of everything that Till creates: live, changed, archived, canceled and deleted. */
async function createSome(till: TillInProcess) {
  const own = { intervalCount: 3, features: { seats: 5, sso: true, support: 'phone' }, group: 'base' };
  const [plan, unused, archived] = [
    await createPlan(till, own),
    await createPlan(till),
    await createPlan(till, own),
  ];
  await till.post(`/plans/${archived.id}/archive`);
  const buyer = await newBuyer(till, plan);
  const deleted = await newBuyer(till, plan);
  const lonely = await createCustomer(till);
  const renamed = await createCustomer(till);
  const identified = await till.post<CustomerBody>('/customers', {
    email: 'identified@example.com',
    externalId: 'user-1',
    metadata: { tier: 'gold' },
  });
  await till.stripe.customers.update(renamed.processorCustomerId, { name: 'Grace' });
  const canceled = await createPayment(till, { customerId: renamed.id });
  await till.post(`/payments/${canceled.id}/cancel`);
  assert.equal((await till.fetch(`/api/v1/customers/${deleted.id}`, { method: 'DELETE' })).status, 204);
  await till.settle();
  return { plan, unused, archived, buyer, deleted, lonely, renamed, identified };
}

const recordAll = (till: TillInProcess, gone: readonly CustomerBody[]) =>
  recordResponses(
    till,
    gone.map(({ id }) => id),
  );

/** Every id returns the same as before, every row equals the processor's object, and every total is exact. */
async function assertRecovered(
  till: TillInProcess,
  recorded: readonly RecordedResponse[],
  customers: Iterable<string>,
) {
  await assertSameResponses(till, recorded);
  const { paymentIntents } = await readMirroredIds(till.stripe);
  await assertMirrored(till.stripe, till.sql, { customers: new Set(customers), paymentIntents });
}

const processorIds = (customers: Readonly<Record<string, unknown>>) =>
  Object.values(customers).flatMap((value) =>
    value instanceof Object && 'processorCustomerId' in value ? [String(value.processorCustomerId)] : [],
  );

describe('after the restore of a backup that knows nothing of it, everything is recovered under its id', () => {
  test('by a resync, with what was created on the dashboard', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const created = await createSome(till);
    const [payment] = await till.sql<{ id: string }>(
      `select processor_payment_intent_id as id from till.payments where status = 'succeeded' and dispute is null limit 1`,
    );
    await till.stripe.refunds.create({ payment_intent: payment?.id ?? '', amount: 100 });
    await till.stripe.subscriptions.create({
      customer: created.buyer.processorCustomerId,
      items: [{ price: created.unused.processorPriceId }],
      trial_period_days: 7,
    });
    await till.settle();
    const recorded = await recordAll(till, [created.deleted]);
    await restoreEmpty(till);
    await till.services.resync.all();
    await assertRecovered(till, recorded, processorIds(created));
    assert.deepEqual(await till.sql('select 1 from till.webhook_events'), [], 'without a single event');
  });

  /** Nothing happens at the processor after this. Each of the tests below loses all rows first. */
  const shared = (async () => {
    const till = await startTill({ in: 'process', for: { after } });
    const created = await createSome(till);
    const recorded = await recordAll(till, [created.deleted]);
    const payments = await till.sql<{ id: string }>('select id from till.payments where customer_id = $1', [
      created.deleted.id,
    ]);
    return { till, created, recorded, paymentsOfDeleted: payments };
  })();

  // The short form leaves out the easier order, which background recovery has too.
  for (const order of effort({ short: ['newest first'], long: ['newest first', 'oldest first'] })) {
    test(`by events alone, ${order}`, async () => {
      const { till, created, recorded } = await shared;
      const events = await listAll(till.stripe.events.list({ limit: 100 }));
      await restoreEmpty(till);
      for (const event of order === 'newest first' ? events : events.toReversed())
        await till.take(JSON.stringify(event));
      await assertRecovered(till, recorded, processorIds(created));
    });
  }

  test('by background recovery, which reads the list of events', async () => {
    const { till, created, recorded } = await shared;
    await till.control('delivery', { mode: 'drop' });
    await restoreEmpty(till);
    await till.services.recovery.run();
    await till.drain();
    await assertRecovered(till, recorded, processorIds(created));
    const failed = await till.sql(`select id from till.webhook_events where state in ('failed', 'pending')`);
    assert.deepEqual(failed, []);
  });

  test('by a resync of one customer: what is theirs and the plan that they use, and nothing else', async () => {
    const { till, created, recorded: all, paymentsOfDeleted } = await shared;
    const { buyer, deleted, lonely, plan } = created;
    const recorded = all.filter(
      ({ path, body }) =>
        path.endsWith(buyer.id) || path.endsWith(plan.id) || body['customerId'] === buyer.id,
    );
    await restoreEmpty(till);
    await till.services.resync.ofCustomer(buyer.id);
    await assertSameResponses(till, recorded);
    assert.equal((await recordResponse(till, `/customers/${lonely.id}`)).status, 404);
    assert.equal((await till.get<object[]>('/plans')).length, 1);
    // A deleted customer is found as long as the processor remembers the event.
    await till.services.resync.ofCustomer(deleted.id);
    for (const { id } of paymentsOfDeleted)
      assert.equal((await recordResponse(till, `/payments/${id}`)).body['customerId'], deleted.id);
    await assert.rejects(till.services.resync.ofCustomer(newId(new Date())), { code: 'not_found' });
  });
});

describe('a customer that was deleted at the processor', () => {
  /** Deleted by hand, so that its deletion can be forgotten as after 30 days. */
  const shared = (async () => {
    const till = await startTill({ in: 'process', for: { after } });
    const buyer = await newBuyer(till, await createPlan(till));
    await till.stripe.customers.del(buyer.processorCustomerId);
    await till.settle();
    const recorded = await recordAll(till, [buyer]);
    return { till, buyer, recorded };
  })();

  const tombstones = (till: TillInProcess) =>
    till.sql('select id, email, name, phone, deleted_at is not null as gone from till.customers');

  test('and whose row was lost leaves a tombstone without personal data, under its id', async () => {
    const { till, buyer, recorded } = await shared;
    await restoreEmpty(till);
    await till.services.resync.all();
    assert.deepEqual(await tombstones(till), [
      { id: buyer.id, email: null, name: null, phone: null, gone: true },
    ]);
    await assertSameResponses(till, recorded);
  });

  test('is not brought back by its older events, which are stored without personal data', async () => {
    const { till, buyer } = await shared;
    const events = await listAll(till.stripe.events.list({ limit: 100 }));
    const isOwn = ({ type }: Stripe.Event) => ['customer.created', 'customer.deleted'].includes(type);
    const newestFirst = events.filter(isOwn);
    for (const own of [newestFirst, newestFirst.toReversed()]) {
      await restoreEmpty(till);
      for (const event of own) await till.take(JSON.stringify(event));
      // What was stored before its deletion was known is erased like that of any other customer.
      if (own !== newestFirst) await till.services.erasure.run();
      assert.equal((await till.fetch(`/api/v1/customers/${buyer.id}`)).status, 404);
      const kept = await till.sql<{ payload: string }>('select payload from till.webhook_events');
      assert.equal(kept.length, 2);
      assert.ok(kept.every(({ payload }) => !payload.includes(buyer.email)));
    }
  });

  test('so long ago that no event has its id still has its payments, subscriptions and invoices', async () => {
    const { till, buyer, recorded } = await shared;
    await till.control('clock', { advanceSeconds: 31 * 86_400 });
    await restoreEmpty(till);
    await till.services.resync.all();
    const [tombstone, ...others] = await tombstones(till);
    assert.deepEqual(others, []);
    assert.deepEqual({ ...tombstone, id: '' }, { id: '', email: null, name: null, phone: null, gone: true });
    for (const { path, status, body } of recorded.filter(({ path }) => !path.includes('?'))) {
      const response = await recordResponse(till, path);
      const expected = body['customerId'] === buyer.id ? { ...body, customerId: tombstone?.['id'] } : body;
      assert.deepEqual([path, response.status, response.body], [path, status, expected]);
    }
  });

  test('after the backup is erased again, and so are its events', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const customer = await createCustomer(till);
    await till.stripe.customers.update(customer.processorCustomerId, { name: 'Countess Lovelace' });
    await till.settle();
    await till.control('delivery', { mode: 'drop' });
    await till.stripe.customers.del(customer.processorCustomerId);
    await till.services.resync.all();
    await till.services.erasure.run();
    const rows = await till.sql<{ payload: string }>('select payload from till.webhook_events');
    assert.ok(rows.length > 0);
    assert.ok(rows.every(({ payload }) => !payload.includes('Lovelace')));
    assert.equal((await till.fetch(`/api/v1/customers/${customer.id}`)).status, 404);
  });
});

describe('recovery', () => {
  test('of a customer whose address was cleared elsewhere reads the processor, and leaves it empty', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const customer = await createCustomer(till);
    // In another second, so that the event of the creation is applied first.
    await till.control('clock', { advanceSeconds: 1 });
    await till.stripe.customers.update(customer.processorCustomerId, { email: '' });
    await till.control('delivery', { mode: 'drop' });
    await restoreEmpty(till);
    await till.services.recovery.run();
    await till.drain();
    const response = await till.get<CustomerBody>(`/customers/${customer.id}`);
    assert.deepEqual([response.name, response.email === ''], ['Ada', false], 'the older event knew it');
    await restoreEmpty(till);
    await till.services.resync.all();
    assert.equal((await till.get<CustomerBody>(`/customers/${customer.id}`)).email, '');
  });

  test('gives invoices that were stored without a customer their customer', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const customer = await createCustomer(till);
    await till.settle();
    const events = await listAll(till.stripe.events.list({ limit: 100 }));
    const invoice = { id: 'in_standing_alone', customer: customer.processorCustomerId };
    await restoreEmpty(till);
    await till.take(eventOf('invoice.paid.newer', { ...invoice, parent: null }));
    const owners = () => till.sql('select customer_id from till.invoices');
    assert.deepEqual(await owners(), [{ customer_id: null }]);
    await till.take(...events.map((event) => JSON.stringify(event)));
    assert.deepEqual(await owners(), [{ customer_id: customer.id }]);
  });

  test('follows a subscription to a lost plan, and of unknown objects reads only a refund', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const { subscription, clientSecret } = await createSubscription(till);
    // The items of a subscription can be changed once its first invoice is paid.
    await confirmSecret(till, clientSecret);
    const other = await createPlan(till);
    await till.settle();
    await till.sql('delete from till.plans where id = $1', [other.id]);
    const { items } = await till.stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
    await till.stripe.subscriptions.update(subscription.processorSubscriptionId, {
      items: [{ id: items.data[0]?.id ?? '', price: other.processorPriceId }],
    });
    await till.settle();
    const { planId } = await till.get<{ planId: string }>(`/subscriptions/${subscription.id}`);
    assert.equal(planId, other.id);

    const calls = await till.count('processor_request_duration_seconds');
    const strangers = [
      eventOf('customer.updated', { id: 'cus_x' }),
      eventOf('customer.deleted', { id: 'cus_x' }),
      eventOf('price.updated', { id: 'price_x' }),
      eventOf('product.updated', { id: 'prod_x' }),
      eventOf('payment_intent.succeeded', { id: 'pi_x', customer: 'cus_x' }),
      eventOf('customer.subscription.updated.newer', { id: 'sub_x', customer: 'cus_x' }),
      eventOf('invoice.paid.newer', { id: 'in_x', customer: 'cus_x', parent: null }),
    ].map((event) => withoutOurId(event));
    await till.take(...strangers);
    assert.equal(await till.count('processor_request_duration_seconds'), calls);
    const states = await till.sql('select state from till.webhook_events where id = any($1) order by state', [
      strangers.map(idOf),
    ]);
    assert.equal(states.filter(({ state }) => state === 'ignored').length, strangers.length - 1);
    // It does not say whose payment it is.
    const refund = withoutOurId(eventOf('refund.created', { id: 're_x', payment_intent: 'pi_x' }));
    await till.take(refund);
    assert.equal(await till.count('processor_request_duration_seconds'), calls + 1);
    assert.deepEqual(await till.sql('select state from till.webhook_events where id = $1', [idOf(refund)]), [
      { state: 'ignored' },
    ]);
  });

  test('of a refund that was reserved at the time of the backup ends equal to the processor', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const payment = await createPayment(till);
    await confirmPayment(till, payment);
    await till.settle();
    const { refund } = await till.post<{ refund: RefundBody }>(`/payments/${payment.id}/refund`, {
      amount: 700,
    });
    // As in the backup: reserved, and not at the processor yet.
    await till.sql('update till.refunds set processor_refund_id = null, status = $1', ['pending']);
    await till.sql('update till.payments set amount_refunded = 0, amount_reserved = 700');
    await till.services.resync.all();
    assert.deepEqual(await till.sql('select id, processor_refund_id, status, amount from till.refunds'), [
      { id: refund.id, processor_refund_id: refund.processorRefundId, status: 'succeeded', amount: 700 },
    ]);
    assert.deepEqual(await till.sql('select amount_refunded, amount_reserved from till.payments'), [
      { amount_refunded: 700, amount_reserved: 0 },
    ]);
  });
});

describe('a resync of everything corrects the totals of lists', () => {
  test('whether too high or too low, and reports by how much', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    await newBuyer(till, await createPlan(till));
    await till.sql(`update till.list_counts set count = count + 3 where (resource, shard) in
      (select resource, min(shard) from till.list_counts where resource = 'customers' group by resource)`);
    await till.sql(`delete from till.list_counts where resource = 'invoices'`);
    const totals = await till.services.resync.correctTotals();
    const [invoices] = await till.sql<{ count: number }>('select count(*) as count from till.invoices');
    assert.deepEqual(totals, [
      { resource: 'customers', correction: -3 },
      { resource: 'invoices', correction: invoices?.count },
    ]);
    const sql = `select sum(count)::bigint as total, (select count(*) from till.customers where deleted_at is null) as rows
      from till.list_counts where resource = 'customers'`;
    const [customers] = await till.sql<{ total: number; rows: number }>(sql);
    assert.equal(customers?.total, customers?.rows);
    assert.deepEqual(await till.services.resync.correctTotals(), []);
  });

  test('exactly, while rows are created and another resync corrects them too', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    await createCustomer(till);
    await till.sql('update till.list_counts set count = count + 5');
    await Promise.all([
      ...Array.from({ length: 20 }, () => createCustomer(till)),
      till.services.resync.correctTotals(),
      till.services.resync.correctTotals(),
    ]);
    const { total } = await till.get<{ total: number }>('/customers?limit=1');
    assert.equal(total, 21);
  });
});

function withoutOurId(event: string): string {
  return JSON.stringify(JSON.parse(event), (name, value) => (name === 'metadata' ? {} : value));
}
