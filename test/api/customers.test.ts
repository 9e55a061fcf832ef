import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  assertResource,
  type CustomerBody,
  confirmPayment,
  createCustomer,
  createPayment,
  createPlan,
  createSubscription,
  type PageBody,
  type PaymentBody,
  type SubscriptionBody,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, sql } = till;

const longestEmail = `${'a'.repeat(64)}@${`${'b'.repeat(61)}.`.repeat(3)}com`;

test('201: a customer is created here and at the processor, with exactly the fields of the spec', async () => {
  const response = await call('POST', '/customers', {
    email: 'Ada@Example.com',
    name: 'Ada Lovelace',
    phone: '+15550100',
  });
  assert.equal(response.headers.get('idempotent-replayed'), null);
  const customer = await readJson<CustomerBody>(response, 201);
  const { processorCustomerId } = customer;
  assertResource(customer, {
    processorCustomerId,
    email: 'Ada@Example.com',
    name: 'Ada Lovelace',
    phone: '+15550100',
    externalId: null,
    metadata: {},
  });
  const there = await stripe.customers.retrieve(processorCustomerId);
  assert.ok(!there.deleted);
  assert.deepEqual(
    [there.email, there.name, there.phone, there.metadata['till_id']],
    ['Ada@Example.com', 'Ada Lovelace', '+15550100', customer.id],
  );
});

test('201: name and phone that are not given are null', async () => {
  const response = await call('POST', '/customers', { email: 'grace@example.com' });
  const customer = await readJson<CustomerBody>(response, 201);
  const { processorCustomerId } = customer;
  const own = { externalId: null, metadata: {} };
  assertResource(customer, {
    processorCustomerId,
    email: 'grace@example.com',
    name: null,
    phone: null,
    ...own,
  });
});

test('201: the longest values are taken as they are', async () => {
  assert.equal(longestEmail.length, 254);
  const values = { email: longestEmail, name: 'é'.repeat(256), phone: '5'.repeat(20) };
  const created = await createCustomer(till, values);
  const read = await readJson<CustomerBody>(await call('GET', `/customers/${created.id}`), 200);
  assert.deepEqual([read.email, read.name, read.phone], [values.email, values.name, values.phone]);
});

test('201: a repeated idempotency key returns the first customer, and none is created twice', async () => {
  const body = { email: 'key@example.com', idempotencyKey: 'customer-1' };
  const first = await readJson<CustomerBody>(await call('POST', '/customers', body), 201);
  const again = await call('POST', '/customers', { email: body.email }, { 'idempotency-key': 'customer-1' });
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(await readJson(again, 201), first);
  const there = await stripe.customers.list({ email: body.email });
  assert.equal(there.data.length, 1);
});

test('200: a customer is read as it was created', async () => {
  const created = await createCustomer(till, { name: 'Ada' });
  assert.deepEqual(await readJson(await call('GET', `/customers/${created.id}`), 200), created);
  assert.deepEqual(await readJson(await call('GET', `/customers/${created.id.toUpperCase()}`), 200), created);
});

test('200: a change replaces what it names, null clears, and the rest stays, here and at the processor', async () => {
  const created = await createCustomer(till, { name: 'Ada', phone: '+15550100' });
  const { id, processorCustomerId } = created;
  const steps = [
    {
      change: { name: 'Ada King' },
      after: { email: 'ada@example.com', name: 'Ada King', phone: '+15550100' },
    },
    { change: { phone: null }, after: { email: 'ada@example.com', name: 'Ada King', phone: null } },
    {
      change: { email: 'king@example.com', name: null },
      after: { email: 'king@example.com', name: null, phone: null },
    },
  ];
  for (const { change, after } of steps) {
    const changed = await readJson<CustomerBody>(await call('PATCH', `/customers/${id}`, change), 200);
    assertResource(changed, { processorCustomerId, ...after, externalId: null, metadata: {} });
    assert.equal(changed.createdAt, created.createdAt);
    assert.deepEqual(await readJson(await call('GET', `/customers/${id}`), 200), changed);
    const there = await stripe.customers.retrieve(processorCustomerId);
    assert.ok(!there.deleted);
    assert.deepEqual(
      [there.email, there.name ?? null, there.phone ?? null],
      [after.email, after.name, after.phone],
    );
  }
});

test('200: a change of nothing changes nothing, not even the time of the last change', async () => {
  const created = await createCustomer(till);
  assert.deepEqual(await readJson(await call('PATCH', `/customers/${created.id}`, {}), 200), created);
  const same = { email: created.email };
  assert.deepEqual(await readJson(await call('PATCH', `/customers/${created.id}`, same), 200), created);
});

test('204: deleting erases the person, cancels what runs, and keeps what was paid readable', async () => {
  const customer = await createCustomer(till, {
    email: 'gone@example.com',
    name: 'Gone',
    phone: '+15550199',
  });
  const payment = await createPayment(till, { customerId: customer.id });
  await confirmPayment(till, payment);
  const { id: planId } = await createPlan(till);
  const { subscription } = await createSubscription(till, { customerId: customer.id, planId });
  const trial = await createSubscription(till, { customerId: customer.id, planId, trialPeriodDays: 7 });

  const deleted = await call('DELETE', `/customers/${customer.id}`);
  assert.deepEqual([deleted.status, await deleted.text()], [204, '']);

  const [row] = await sql('select email, name, phone, deleted_at from till.customers where id = $1', [
    customer.id,
  ]);
  assert.deepEqual([row?.['email'], row?.['name'], row?.['phone']], [null, null, null]);
  assert.ok(row?.['deleted_at'] instanceof Date);
  assert.ok((await stripe.customers.retrieve(customer.processorCustomerId)).deleted);

  assert.deepEqual(await readJson(await call('GET', `/payments/${payment.id}`), 200), payment);
  const payments = await call('GET', `/payments?customerId=${customer.id}`);
  assert.deepEqual((await readJson<PageBody<PaymentBody>>(payments, 200)).data, [payment]);
  for (const { id, processorSubscriptionId } of [subscription, trial.subscription]) {
    const read = await readJson<SubscriptionBody>(await call('GET', `/subscriptions/${id}`), 200);
    assert.equal(read.status, 'canceled');
    assert.equal((await stripe.subscriptions.retrieve(processorSubscriptionId)).status, 'canceled');
  }
});

test('204: a customer that the processor deleted already can be deleted here', async () => {
  const { id, processorCustomerId } = await createCustomer(till);
  await stripe.customers.del(processorCustomerId);
  assert.equal((await call('DELETE', `/customers/${id}`)).status, 204);
  await readProblem(await call('GET', `/customers/${id}`), 404, 'not_found');
});

test('404: a deleted customer cannot be read, changed or used', async () => {
  const { id } = await createCustomer(till);
  const { id: planId } = await createPlan(till);
  await call('DELETE', `/customers/${id}`);
  for (const response of [
    await call('GET', `/customers/${id}`),
    await call('PATCH', `/customers/${id}`, { name: 'Back' }),
    await call('PATCH', `/customers/${id}`, {}),
    await call('DELETE', `/customers/${id}`),
    await call('POST', '/payments', { customerId: id, amount: 2_000, currency: 'eur' }),
    await call('POST', '/subscriptions', { customerId: id, planId }),
  ]) {
    await readProblem(response, 404, 'not_found');
  }
  const { data } = await readJson<PageBody<CustomerBody>>(await call('GET', '/customers?limit=100'), 200);
  assert.ok(!data.some((customer) => customer.id === id), 'it is in no list');
});

test('404: a change of a customer that the processor deleted meanwhile erases it here too', async () => {
  const { id, processorCustomerId } = await createCustomer(till);
  await stripe.customers.del(processorCustomerId);
  await readProblem(await call('PATCH', `/customers/${id}`, { name: 'Back' }), 404, 'not_found');
  const [row] = await sql('select email from till.customers where id = $1', [id]);
  assert.equal(row?.['email'], null);
});

test('422: a value that only the processor refuses, in its words', async () => {
  const response = await call('POST', '/customers', { email: 'ada@example.com', phone: '5'.repeat(32) });
  const problem = await readProblem(response, 422, 'processor_rejected');
  assert.match(problem.detail, /at most 20 characters/);
});
