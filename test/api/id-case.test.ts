import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  type CreatedPaymentBody,
  type CreatedSubscriptionBody,
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  type PageBody,
  type RefundedBody,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, sql } = till;

/** The same id, written in another case: all upper, and mixed. */
const spellings = (id: string) => [
  id.toUpperCase(),
  [...id].map((letter, index) => (index % 2 === 0 ? letter.toUpperCase() : letter)).join(''),
];

test('a refund repeated with its payment id in another case is the same refund', async () => {
  const { id } = await createPaidPayment(till);
  const refund = (paymentId: string) =>
    call('POST', `/payments/${paymentId}/refund`, { amount: 500 }, { 'idempotency-key': 'refund-case' });
  const first = await readJson<RefundedBody>(await refund(id.toUpperCase()), 200);
  assert.equal(first.id, id);
  for (const spelling of [id, ...spellings(id)]) {
    const response = await refund(spelling);
    assert.equal(response.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson<RefundedBody>(response, 200), first);
  }
  await assertParent('refunds.create', 'refund-case', id);
});

test('a payment repeated with its customer id in another case is the same payment', async () => {
  const { id } = await createCustomer(till);
  const pay = (customerId: string) =>
    call('POST', '/payments', { customerId, amount: 2_000, currency: 'eur', idempotencyKey: 'pay-case' });
  const first = await readJson<CreatedPaymentBody>(await pay(id.toUpperCase()), 201);
  assert.equal(first.payment.customerId, id);
  for (const spelling of [id, ...spellings(id)]) {
    const response = await pay(spelling);
    assert.equal(response.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson<CreatedPaymentBody>(response, 201), first);
  }
  await assertParent('payments.create', 'pay-case', id);
});

test('a subscription repeated with its ids in another case is the same subscription', async () => {
  const [customer, plan] = [await createCustomer(till), await createPlan(till)];
  const subscribe = (customerId: string, planId: string) =>
    call('POST', '/subscriptions', { customerId, planId, idempotencyKey: 'subscribe-case' });
  const first = await readJson<CreatedSubscriptionBody>(
    await subscribe(customer.id.toUpperCase(), plan.id),
    201,
  );
  const { customerId, planId } = first.subscription;
  assert.deepEqual([customerId, planId], [customer.id, plan.id]);
  for (const [index, spelling] of spellings(customer.id).entries()) {
    const response = await subscribe(spelling, spellings(plan.id)[index] ?? '');
    assert.equal(response.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson<CreatedSubscriptionBody>(response, 201), first);
  }
  await assertParent('subscriptions.create', 'subscribe-case', customer.id);
});

test('every resource is read, listed, changed and canceled by its id in upper or lower case', async () => {
  const customer = await createCustomer(till);
  const plan = await createPlan(till);
  const payment = await createPayment(till, { customerId: customer.id });
  const { subscription } = await createSubscription(till, { customerId: customer.id, planId: plan.id });
  const [invoice] = await sql<{ id: string }>(
    `insert into till.invoices (id, processor_invoice_id, customer_id, amount_due, amount_paid, amount_remaining,
       currency, status, attempt_count, processor_as_of, processor_as_of_latest, created_at, updated_at)
     values (gen_random_uuid(), 'in_case', $1, 1900, 0, 1900, 'eur', 'open', 0, now(), now(), now(), now())
     returning id`,
    [customer.id],
  );
  const things = {
    customers: customer.id,
    plans: plan.id,
    payments: payment.id,
    subscriptions: subscription.id,
    invoices: invoice?.id ?? '',
  };
  for (const [resource, id] of Object.entries(things)) {
    for (const spelling of spellings(id))
      assert.equal(await idFrom('GET', `/${resource}/${spelling}`), id, resource);
  }
  for (const resource of ['payments', 'subscriptions', 'invoices']) {
    for (const spelling of spellings(customer.id)) {
      const page = await readJson<PageBody<object>>(
        await call('GET', `/${resource}?customerId=${spelling}`),
        200,
      );
      assert.equal(page.total, 1, resource);
    }
  }
  const [upper] = spellings(payment.id);
  const refunds = await readJson<PageBody<object>>(await call('GET', `/payments/${upper}/refunds`), 200);
  assert.equal(refunds.total, 0);
  assert.equal(
    await idFrom('PATCH', `/customers/${customer.id.toUpperCase()}`, { name: 'Ada' }),
    customer.id,
  );
  assert.equal(await idFrom('POST', `/payments/${payment.id.toUpperCase()}/cancel`), payment.id);
  assert.equal(await idFrom('DELETE', `/subscriptions/${subscription.id.toUpperCase()}`), subscription.id);
  assert.equal(await idFrom('POST', `/plans/${plan.id.toUpperCase()}/archive`), plan.id);
  assert.equal((await call('DELETE', `/customers/${customer.id.toUpperCase()}`)).status, 204);
  assert.equal((await call('GET', `/customers/${customer.id}`)).status, 404);
});

test('the processor’s ids keep their case', async () => {
  const id = `evt_Case${Date.now()}`;
  await sql(
    `insert into till.webhook_events (id, type, created_at, payload, state, next_try_at, received_at)
     values ($1, 'balance.available', now(), '{}', 'ignored', now(), now())`,
    [id],
  );
  assert.equal((await call('GET', `/webhook-events/${id}`)).status, 200);
  assert.equal((await call('GET', `/webhook-events/${id.toUpperCase()}`)).status, 404);
});

async function idFrom(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) {
  return (await readJson<{ readonly id: string }>(await call(method, path, body), 200)).id;
}

/** What the sweeper finds the parent by. */
async function assertParent(operation: string, key: string, parentId: string): Promise<void> {
  const claims = await sql<{ parent_id: string }>(
    'select parent_id from till.idempotency_claims where operation = $1 and key like $2',
    [operation, `%${key}`],
  );
  assert.deepEqual(claims, [{ parent_id: parentId }]);
}
