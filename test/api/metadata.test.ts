import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import { assertMistake } from '../support/invalid.ts';
import {
  type CreatedSubscriptionBody,
  type CustomerBody,
  confirmPayment,
  createCustomer,
  createPayment,
  createPlan,
  createSubscription,
  type PaymentBody,
  type PlanBody,
  type SubscriptionBody,
} from '../support/objects.ts';
import { withoutMark } from '../support/own-metadata.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const plan = { name: 'Gold', amount: 1_900, currency: 'eur', interval: 'month' };

interface Described {
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
}

const customerId = (await createCustomer(till)).id;
const planId = (await createPlan(till)).id;

interface Kind {
  readonly path: string;
  readonly values: object;
  /** What a change can change besides the metadata. */
  readonly more?: { readonly name: string };
  /** The name of the resource in the responses to its creation and its change, if they contain more. */
  readonly createdAs?: string;
  readonly changedAs?: string;
  /** The metadata at the processor. */
  readonly there: (created: Described) => Promise<Record<string, string> | null>;
  readonly setThere: (created: Described, metadata: Record<string, string>) => Promise<unknown>;
}

/** The resources whose metadata can be changed, each with its own way to the processor's object. */
const kinds: readonly Kind[] = [
  {
    path: '/customers',
    values: { email: 'ada@example.com' },
    more: { name: 'Once' },
    there: async (created: Described) => {
      const { processorCustomerId } = created as CustomerBody;
      const there = await stripe.customers.retrieve(processorCustomerId);
      assert.ok(!there.deleted);
      return there.metadata;
    },
    setThere: (created, metadata) =>
      stripe.customers.update((created as CustomerBody).processorCustomerId, { metadata }),
  },
  {
    path: '/plans',
    values: plan,
    more: { name: 'Once' },
    there: async (created: Described) =>
      (await stripe.products.retrieve((created as PlanBody).processorProductId)).metadata,
    setThere: (created, metadata) =>
      stripe.products.update((created as PlanBody).processorProductId, { metadata }),
  },
  {
    path: '/payments',
    values: { customerId, amount: 2_000, currency: 'eur' },
    createdAs: 'payment',
    there: async (created: Described) =>
      (await stripe.paymentIntents.retrieve((created as PaymentBody).processorPaymentIntentId)).metadata,
    setThere: (created, metadata) =>
      stripe.paymentIntents.update((created as PaymentBody).processorPaymentIntentId, { metadata }),
  },
  {
    path: '/subscriptions',
    values: { customerId, planId },
    createdAs: 'subscription',
    changedAs: 'subscription',
    there: async (created: Described) =>
      (await stripe.subscriptions.retrieve((created as SubscriptionBody).processorSubscriptionId)).metadata,
    setThere: (created, metadata) =>
      stripe.subscriptions.update((created as SubscriptionBody).processorSubscriptionId, { metadata }),
  },
];

/** The resource in a response that must have this status. */
async function resourceIn(response: Response, status: number, name: string | undefined): Promise<Described> {
  const body = await readJson<Described & Readonly<Record<string, Described>>>(response, status);
  const resource = name === undefined ? body : body[name];
  assert(resource);
  return resource;
}

for (const { path, values, more = {}, createdAs, changedAs, there, setThere } of kinds) {
  const create = (metadata?: object) => call('POST', path, { ...values, metadata });
  const change = (id: string, body: object) => call('PATCH', `${path}/${id}`, body);
  const created201 = (response: Response) => resourceIn(response, 201, createdAs);
  const changed200 = (response: Response) => resourceIn(response, 200, changedAs);

  test(`${path}: metadata is kept here and at the processor, and a change merges`, async () => {
    const created = await created201(await create({ tier: 'gold', 'ключ.1': 'é 漢 😀' }));
    assert.deepEqual(created.metadata, { tier: 'gold', 'ключ.1': 'é 漢 😀' });
    assert.deepEqual(withoutMark(await there(created)), { ...created.metadata, till_id: created.id });
    assert.deepEqual(await readJson(await call('GET', `${path}/${created.id}`), 200), created);

    const merged = await change(created.id, {
      metadata: { tier: 'silver', constructor: 'x', 'ключ.1': null },
    });
    const changed = await changed200(merged);
    assert.deepEqual(changed.metadata, { tier: 'silver', constructor: 'x' });
    assert.deepEqual(withoutMark(await there(created)), { ...changed.metadata, till_id: created.id });
    assert.deepEqual(await readJson(await call('GET', `${path}/${created.id}`), 200), changed);

    const unchanged = await changed200(await change(created.id, { metadata: {} }));
    assert.deepEqual(unchanged, changed);
    const emptied = await change(created.id, { metadata: { tier: null, constructor: null, none: null } });
    assert.deepEqual((await changed200(emptied)).metadata, {});
  });

  test(`${path}: metadata keys that others set at the processor appear, those of Till never do`, async () => {
    const created = await created201(await create({ mine: '1' }));
    await setThere(created, { theirs: '2', till_other: '3' });
    const changed = await changed200(await change(created.id, { metadata: { mine: '4' } }));
    assert.deepEqual(changed.metadata, { mine: '4', theirs: '2' });
  });

  test(`${path}: at most twenty metadata keys remain, unless others set more`, async () => {
    const keys = (from: number, count: number, value: string | null = 'v') =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, value]));
    await assertMistake(await create(keys(0, 21)), 'body.metadata');
    const created = await created201(await create(keys(0, 20)));
    await assertMistake(await change(created.id, { metadata: keys(20, 1) }), 'body.metadata');
    const exchanged = await change(created.id, { metadata: { ...keys(0, 20, null), ...keys(20, 20) } });
    assert.deepEqual((await changed200(exchanged)).metadata, keys(20, 20));
    await setThere(created, { theirs: '1' });
    const replaced = await changed200(await change(created.id, { metadata: { k20: 'w' } }));
    assert.equal(Object.keys(replaced.metadata).length, 21);
    await assertMistake(await change(created.id, { metadata: { more: '1' } }), 'body.metadata');
    await changed200(await change(created.id, { metadata: { k20: null } }));
  });

  test(`${path}: metadata keys have up to 40 characters, and values up to 500`, async () => {
    await created201(await create({ ['k'.repeat(40)]: 'v'.repeat(500) }));
    // A character is one Unicode code point.
    await created201(await create({ ['🔑'.repeat(40)]: '💶'.repeat(500) }));
  });

  test(`${path}: a change with an idempotency key is applied once, and its repetition returns the same`, async () => {
    const { id } = await created201(await create());
    const body = { ...more, metadata: { n: '1' }, idempotencyKey: `once${path}` };
    const first = await change(id, body);
    assert.equal(first.headers.get('idempotent-replayed'), null);
    const changed = await changed200(first);
    const later = await changed200(await change(id, { metadata: { n: '2' } }));
    const again = await change(id, body);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await changed200(again), later);
    assert.equal(changed.metadata['n'], '1');
    await readProblem(await change(id, { ...body, metadata: { n: '3' } }), 422, 'idempotency_key_reused');
    const { id: other } = await created201(await create());
    await readProblem(await change(other, body), 422, 'idempotency_key_reused');
    const inHeader = await call(
      'PATCH',
      `${path}/${id}`,
      { ...body, idempotencyKey: undefined },
      {
        'idempotency-key': body.idempotencyKey,
      },
    );
    assert.equal(inHeader.headers.get('idempotent-replayed'), 'true');
  });
}

test('200: a plan is renamed, here and at the processor', async () => {
  const created = await createPlan(till);
  const renamed = await readJson<PlanBody>(
    await call('PATCH', `/plans/${created.id}`, { name: 'Platinum' }),
    200,
  );
  assert.deepEqual({ ...renamed, updatedAt: '' }, { ...created, name: 'Platinum', updatedAt: '' });
  assert.equal((await stripe.products.retrieve(created.processorProductId)).name, 'Platinum');
  assert.deepEqual(await readJson(await call('PATCH', `/plans/${created.id}`, {}), 200), renamed);
});

test('404: a change of something that does not exist', async () => {
  const unknown = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
  const change = { metadata: { a: '1' } };
  for (const path of kinds.flatMap((kind) => [`${kind.path}/${unknown}`, `${kind.path}/x`])) {
    await readProblem(await call('PATCH', path, change), 404, 'not_found');
    await readProblem(await call('PATCH', path, { ...change, idempotencyKey: 'unknown' }), 404, 'not_found');
  }
  const customer = await createCustomer(till);
  const found = await call('PATCH', `/customers/${customer.id}`, { name: 'x', idempotencyKey: 'unknown' });
  assert.equal(found.status, 200, 'the refusal has freed the idempotency key');
});

test('200: the metadata of a payment can be changed in every state, and nothing else of it changes', async () => {
  const [paid, canceled] = [await createPayment(till), await createPayment(till)];
  await confirmPayment(till, paid);
  await readJson(await call('POST', `/payments/${canceled.id}/cancel`), 200);
  for (const [{ id }, status] of [
    [paid, 'succeeded'],
    [canceled, 'canceled'],
  ] as const) {
    const changed = await readJson<PaymentBody>(
      await call('PATCH', `/payments/${id}`, { metadata: { order: '7' } }),
      200,
    );
    assert.deepEqual([changed.status, changed.metadata], [status, { order: '7' }]);
    assert.deepEqual(await till.get(`/payments/${id}`), changed);
  }
  // The processor reports the payment late, as it was before the change.
  await till.settle();
  assert.deepEqual((await till.get<PaymentBody>(`/payments/${paid.id}`)).metadata, { order: '7' });
  const { id } = await createPayment(till);
  const unchanged = await till.get(`/payments/${id}`);
  assert.deepEqual(await readJson(await call('PATCH', `/payments/${id}`, {}), 200), unchanged);
});

test('200: the metadata of a subscription can be changed in every state, and the response has no secret', async () => {
  const { subscription } = await createSubscription(till);
  const path = `/subscriptions/${subscription.id}`;
  for (const [before, status, n] of [
    [async () => {}, 'incomplete', '1'],
    [() => call('DELETE', path), 'canceled', '2'],
  ] as const) {
    await before();
    const response = await call('PATCH', path, { metadata: { n } });
    const changed = await readJson<CreatedSubscriptionBody>(response, 200);
    assert.deepEqual(Object.keys(changed), ['subscription', 'clientSecret']);
    assert.equal(changed.clientSecret, null);
    assert.deepEqual([changed.subscription.status, changed.subscription.metadata], [status, { n }]);
    assert.deepEqual(await till.get(path), changed.subscription);
  }
});

test('400: a change of a subscription that names no field, or an unknown one', async () => {
  const { subscription } = await createSubscription(till);
  const path = `/subscriptions/${subscription.id}`;
  await assertMistake(await call('PATCH', path, {}), 'body');
  await assertMistake(await call('PATCH', path, { idempotencyKey: 'nothing' }), 'body');
  await assertMistake(await call('PATCH', path, { metadata: {}, status: 'active' }), 'body.status');
});

test('copies of metadata that the processor creates do not show elsewhere', async () => {
  const metadata = { secretPlan: 'to-be-found-once' };
  const payment = await readJson<{ payment: PaymentBody }>(
    await call('POST', '/payments', { customerId, amount: 900, currency: 'eur', metadata }),
    201,
  );
  await confirmPayment(till, payment.payment);
  const { subscription } = await readJson<CreatedSubscriptionBody>(
    await call('POST', '/subscriptions', { customerId, planId, metadata }),
    201,
  );
  await till.settle();
  const { total, data } = await till.get<{ total: number; data: readonly object[] }>(
    `/invoices?customerId=${customerId}`,
  );
  assert.ok(total > 0);
  assert.doesNotMatch(JSON.stringify(data), /to-be-found-once/);
  const stored = await till.sql<{ type: string }>(
    `select distinct type from till.webhook_events where payload like '%to-be-found-once%' order by type`,
  );
  assert.deepEqual(
    stored.filter(({ type }) => !/^(payment_intent|customer\.subscription)\./.test(type)),
    [],
  );
  assert.ok(stored.length > 1);
  assert.deepEqual((await till.get<PaymentBody>(`/payments/${payment.payment.id}`)).metadata, metadata);
  assert.deepEqual(
    (await till.get<SubscriptionBody>(`/subscriptions/${subscription.id}`)).metadata,
    metadata,
  );
});

test('409: the metadata of objects of a deleted customer cannot be changed', async () => {
  const customer = await createCustomer(till);
  const owned = { customerId: customer.id };
  const payment = await createPayment(till, owned);
  const { subscription } = await createSubscription(till, owned);
  const paths = [`/payments/${payment.id}`, `/subscriptions/${subscription.id}`];
  for (const path of paths)
    assert.equal((await call('PATCH', path, { metadata: { note: 'Ada' } })).status, 200);
  assert.equal((await call('DELETE', `/customers/${customer.id}`)).status, 204);
  for (const path of paths) {
    assert.deepEqual((await till.get<Described>(path)).metadata, {});
    const again = await call('PATCH', path, { metadata: { note: 'Ada' }, idempotencyKey: 'erased' });
    await readProblem(again, 409, 'customer_deleted');
    assert.deepEqual((await till.get<Described>(path)).metadata, {});
  }
});

test('409: nor can objects without metadata when their customer was deleted get any, here or at the processor', async () => {
  const customer = await createCustomer(till);
  const owned = { customerId: customer.id };
  const payment = await createPayment(till, owned);
  const { subscription } = await createSubscription(till, owned);
  assert.equal((await call('DELETE', `/customers/${customer.id}`)).status, 204);
  for (const path of [`/payments/${payment.id}`, `/subscriptions/${subscription.id}`])
    await readProblem(await call('PATCH', path, { metadata: { note: 'Ada' } }), 409, 'customer_deleted');
  const intent = await till.stripe.paymentIntents.retrieve(payment.processorPaymentIntentId);
  assert.deepEqual(withoutMark(intent.metadata), { till_id: payment.id });
});
