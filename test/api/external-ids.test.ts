import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import { type CustomerBody, createCustomer, onlyPage, type PageBody } from '../support/objects.ts';
import { withoutMark } from '../support/own-metadata.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, sql } = till;

function signUp(externalId: string, values: object = {}) {
  return call('POST', '/customers', { email: 'ada@example.com', externalId, ...values });
}

async function signedUp(externalId: string, values: object = {}): Promise<CustomerBody> {
  return readJson(await signUp(externalId, values), 201);
}

async function metadataThere({ processorCustomerId }: CustomerBody): Promise<object> {
  const there = await stripe.customers.retrieve(processorCustomerId);
  assert.ok(!there.deleted);
  return withoutMark(there.metadata);
}

async function assertTaken(response: Response, holder: CustomerBody): Promise<void> {
  const problem = await readProblem(response, 409, 'external_id_taken');
  assert.equal(problem.customerId, holder.id);
}

test('201: an external id is kept here and at the processor, and found in the list', async () => {
  const externalId = `user:${randomUUID()}/é漢`;
  const customer = await signedUp(externalId);
  assert.deepEqual([customer.externalId, customer.metadata], [externalId, {}]);
  assert.deepEqual(await metadataThere(customer), { till_id: customer.id, till_external_id: externalId });
  const list = (query: string) =>
    call('GET', `/customers?externalId=${encodeURIComponent(externalId)}${query}`).then((response) =>
      readJson<PageBody<CustomerBody>>(response, 200),
    );
  assert.deepEqual(await list(''), { ...onlyPage, data: [customer], total: 1 });
  assert.deepEqual(await list('&page=2&limit=5'), { ...onlyPage, data: [], total: 1, page: 2, limit: 5 });
  const none = await call('GET', '/customers?externalId=nobody');
  assert.deepEqual(await readJson(none, 200), { ...onlyPage, data: [], total: 0 });
});

test('200: signing up again returns the customer, unchanged, if the values are the same or absent', async () => {
  const customer = await signedUp('again', { name: 'Ada', phone: '+15550100', metadata: { a: '1', b: '2' } });
  for (const values of [
    {},
    { email: 'ADA@Example.COM' },
    { name: 'Ada' },
    { phone: '+15550100', metadata: { a: '1' } },
    { metadata: {} },
  ]) {
    const again = await signUp('again', values);
    assert.equal(again.headers.get('idempotent-replayed'), null);
    assert.deepEqual(await readJson(again, 200), customer);
  }
  const { data } = await stripe.customers.list({ email: 'ada@example.com', limit: 100 });
  assert.equal(data.filter(({ metadata }) => metadata['till_external_id'] === 'again').length, 1);
});

test('409: signing up with other values names the customer that has the external id', async () => {
  const customer = await signedUp('other-values', { name: 'Ada' });
  for (const values of [
    { email: 'grace@example.com' },
    { name: 'Grace' },
    { phone: '+15550100' },
    { metadata: { a: '1' } },
  ]) {
    await assertTaken(await signUp('other-values', values), customer);
    await assertTaken(await signUp('other-values', { ...values, idempotencyKey: 'other-values' }), customer);
  }
  // The refusals have freed the idempotency key.
  const same = await signUp('other-values', { idempotencyKey: 'other-values' });
  assert.deepEqual(await readJson(same, 200), customer);
});

test('a repeated idempotency key returns the first status and customer, whatever happened to the external id', async () => {
  const created = await signedUp('keyed', { idempotencyKey: 'keyed-1' });
  const found = await signUp('keyed', { idempotencyKey: 'keyed-2' });
  assert.deepEqual(await readJson(found, 200), created);
  const freed = await call('PATCH', `/customers/${created.id}`, { externalId: null });
  const current = await readJson<CustomerBody>(freed, 200);
  for (const [key, status] of [
    ['keyed-1', 201],
    ['keyed-2', 200],
  ] as const) {
    const again = await signUp('keyed', { idempotencyKey: key });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson(again, status), current);
    const other = await signUp('keyed', { idempotencyKey: key, name: 'Other' });
    await readProblem(other, 422, 'idempotency_key_reused');
  }
  assert.notEqual((await signedUp('keyed')).id, created.id);
});

test('a change sets, replaces and clears an external id, and what is cleared is free', async () => {
  const [first, second] = [await createCustomer(till), await createCustomer(till)];
  const change = (customer: CustomerBody, externalId: string | null) =>
    call('PATCH', `/customers/${customer.id}`, { externalId });
  const set = await readJson<CustomerBody>(await change(first, 'patched'), 200);
  assert.equal(set.externalId, 'patched');
  assert.deepEqual(await metadataThere(first), { till_id: first.id, till_external_id: 'patched' });
  assert.deepEqual(await readJson(await change(first, 'patched'), 200), set);
  await assertTaken(await change(second, 'patched'), first);
  await assertTaken(await signUp('patched', { email: 'grace@example.com' }), first);

  const replaced = await readJson<CustomerBody>(await change(first, 'replaced'), 200);
  assert.equal(replaced.externalId, 'replaced');
  await readJson(await change(second, 'patched'), 200);
  await assertTaken(await change(first, 'patched'), second);

  const cleared = await readJson<CustomerBody>(await change(first, null), 200);
  assert.equal(cleared.externalId, null);
  assert.deepEqual(await metadataThere(first), { till_id: first.id });
  assert.equal((await signedUp('replaced')).externalId, 'replaced');
});

test('a deleted customer gives back its external id and keeps neither that nor its metadata', async () => {
  const gone = await signedUp('deleted', { metadata: { secretly: 'personal' } });
  assert.equal((await call('DELETE', `/customers/${gone.id}`)).status, 204);
  const [row] = await sql('select external_id, metadata from till.customers where id = $1', [gone.id]);
  assert.deepEqual(row, { external_id: null, metadata: {} });
  assert.deepEqual(await sql('select from till.external_ids where customer_id = $1', [gone.id]), []);
  const next = await signedUp('deleted');
  assert.notEqual(next.id, gone.id);
  const list = await call('GET', '/customers?externalId=deleted');
  assert.equal((await readJson<PageBody<CustomerBody>>(list, 200)).total, 1);
});

test('fifty sign-ups at once create one customer, here and at the processor, and one 201', async () => {
  const signUps = Array.from({ length: 50 }, (_, index) =>
    // Some with their own idempotency key, some with none.
    signUp('fifty', index % 2 === 0 ? { idempotencyKey: `fifty-${index}` } : {}),
  );
  const responses = await Promise.all(signUps);
  const statuses = responses.map(({ status }) => status).toSorted();
  assert.deepEqual(statuses, [...Array.from({ length: 49 }, () => 200), 201]);
  const bodies = await Promise.all(responses.map((response) => response.json() as Promise<CustomerBody>));
  assert.equal(new Set(bodies.map(({ id }) => id)).size, 1);
  const { data } = await stripe.customers.search({ query: `metadata['till_external_id']:'fifty'` });
  assert.equal(data.length, 1);
  const rows = await sql(`select claim_id from till.external_ids where external_id = 'fifty'`);
  assert.deepEqual(rows, [{ claim_id: null }]);
});

test('a refusal by the processor frees the external id', async () => {
  // The processor has a lower limit than Till.
  const refused = await signUp('refused', { phone: '5'.repeat(32) });
  await readProblem(refused, 422, 'processor_rejected');
  const customer = await createCustomer(till);
  const change = await call('PATCH', `/customers/${customer.id}`, {
    externalId: 'refused',
    phone: '5'.repeat(32),
  });
  await readProblem(change, 422, 'processor_rejected');
  assert.equal((await signedUp('refused')).externalId, 'refused');
});
