import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import { assertMistake } from '../support/invalid.ts';
import { type CustomerBody, createCustomer, createPlan, type PlanBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const plan = { name: 'Gold', amount: 1_900, currency: 'eur', interval: 'month' };

interface Described {
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The two resources whose metadata can be changed, each with its own way to the processor's object. */
const kinds = [
  {
    path: '/customers',
    values: { email: 'ada@example.com' },
    there: async (made: Described) => {
      const { processorCustomerId } = made as CustomerBody;
      const there = await stripe.customers.retrieve(processorCustomerId);
      assert.ok(!there.deleted);
      return there.metadata;
    },
    setThere: (made: Described, metadata: Record<string, string>) =>
      stripe.customers.update((made as CustomerBody).processorCustomerId, { metadata }),
  },
  {
    path: '/plans',
    values: plan,
    there: async (made: Described) =>
      (await stripe.products.retrieve((made as PlanBody).processorProductId)).metadata,
    setThere: (made: Described, metadata: Record<string, string>) =>
      stripe.products.update((made as PlanBody).processorProductId, { metadata }),
  },
] as const;

for (const { path, values, there, setThere } of kinds) {
  const create = (metadata?: object) => call('POST', path, { ...values, metadata });
  const change = (id: string, body: object) => call('PATCH', `${path}/${id}`, body);

  test(`${path}: metadata is kept here and at the processor, and a change merges`, async () => {
    const made = await readJson<Described>(await create({ tier: 'gold', 'ключ.1': 'é 漢 😀' }), 201);
    assert.deepEqual(made.metadata, { tier: 'gold', 'ключ.1': 'é 漢 😀' });
    assert.deepEqual(await there(made), { ...made.metadata, till_id: made.id });
    assert.deepEqual(await readJson(await call('GET', `${path}/${made.id}`), 200), made);

    const merged = await change(made.id, { metadata: { tier: 'silver', constructor: 'x', 'ключ.1': null } });
    const changed = await readJson<Described>(merged, 200);
    assert.deepEqual(changed.metadata, { tier: 'silver', constructor: 'x' });
    assert.deepEqual(await there(made), { ...changed.metadata, till_id: made.id });
    assert.deepEqual(await readJson(await call('GET', `${path}/${made.id}`), 200), changed);

    const unchanged = await readJson(await change(made.id, { metadata: {} }), 200);
    assert.deepEqual(unchanged, changed);
    const emptied = await change(made.id, { metadata: { tier: null, constructor: null, none: null } });
    assert.deepEqual((await readJson<Described>(emptied, 200)).metadata, {});
  });

  test(`${path}: keys that others set at the processor appear, those of Till never do`, async () => {
    const made = await readJson<Described>(await create({ mine: '1' }), 201);
    await setThere(made, { theirs: '2', till_other: '3' });
    const changed = await readJson<Described>(await change(made.id, { metadata: { mine: '4' } }), 200);
    assert.deepEqual(changed.metadata, { mine: '4', theirs: '2' });
  });

  test(`${path}: at most twenty keys remain, unless others set more`, async () => {
    const keys = (from: number, count: number, value: string | null = 'v') =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, value]));
    await assertMistake(await create(keys(0, 21)), 'body.metadata');
    const made = await readJson<Described>(await create(keys(0, 20)), 201);
    await assertMistake(await change(made.id, { metadata: keys(20, 1) }), 'body.metadata');
    const exchanged = await change(made.id, { metadata: { ...keys(0, 20, null), ...keys(20, 20) } });
    assert.deepEqual((await readJson<Described>(exchanged, 200)).metadata, keys(20, 20));
    await setThere(made, { theirs: '1' });
    const replaced = await readJson<Described>(await change(made.id, { metadata: { k20: 'w' } }), 200);
    assert.equal(Object.keys(replaced.metadata).length, 21);
    await assertMistake(await change(made.id, { metadata: { more: '1' } }), 'body.metadata');
    await readJson(await change(made.id, { metadata: { k20: null } }), 200);
  });

  test(`${path}: 400 for keys and values outside the limits`, async () => {
    const { id } = await readJson<Described>(await create({ ['k'.repeat(40)]: 'v'.repeat(500) }), 201);
    for (const [key, value] of [
      ['till_id', 'x'],
      ['till_anything', 'x'],
      ['', 'x'],
      ['a b', 'x'],
      ['a[b', 'x'],
      ['a]', 'x'],
      ['k'.repeat(41), 'x'],
      ['\ud800', 'x'],
      ['k', ''],
      ['k', 'v'.repeat(501)],
      ['k', 7],
      ['k', { nested: 'x' }],
      ['k', 'a\0b'],
    ] as const) {
      for (const answer of [
        await create({ [key]: value }),
        await change(id, { metadata: { [key]: value } }),
      ]) {
        const problem = await readProblem(answer, 400, 'invalid_request');
        assert.match(JSON.stringify(problem.errors), /body\.metadata/);
      }
    }
    await assertMistake(await create({ k: null }), 'body.metadata.k');
    for (const metadata of [null, 'text', [], 7]) {
      await assertMistake(await call('POST', path, { ...values, metadata }), 'body.metadata');
      await assertMistake(await change(id, { metadata }), 'body.metadata');
    }
  });

  test(`${path}: a change with a key is made once, and its repetition answers the same`, async () => {
    const { id } = await readJson<Described>(await create(), 201);
    const body = { name: 'Once', metadata: { n: '1' }, idempotencyKey: `once ${path}`.replace(' ', '') };
    const first = await change(id, body);
    assert.equal(first.headers.get('idempotent-replayed'), null);
    const changed = await readJson<Described>(first, 200);
    const later = await readJson<Described>(await change(id, { metadata: { n: '2' } }), 200);
    const again = await change(id, body);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson(again, 200), later);
    assert.equal(changed.metadata['n'], '1');
    await readProblem(await change(id, { ...body, name: 'Other' }), 422, 'idempotency_key_reused');
    const { id: other } = await readJson<Described>(await create(), 201);
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
  const made = await createPlan(till);
  const renamed = await readJson<PlanBody>(
    await call('PATCH', `/plans/${made.id}`, { name: 'Platinum' }),
    200,
  );
  assert.deepEqual({ ...renamed, updatedAt: '' }, { ...made, name: 'Platinum', updatedAt: '' });
  assert.equal((await stripe.products.retrieve(made.processorProductId)).name, 'Platinum');
  assert.deepEqual(await readJson(await call('PATCH', `/plans/${made.id}`, {}), 200), renamed);
  for (const name of ['', null, 'x'.repeat(257)])
    await assertMistake(await call('PATCH', `/plans/${made.id}`, { name }), 'body.name');
  await assertMistake(await call('PATCH', `/plans/${made.id}`, { amount: 1 }), 'body.amount');
});

test('404: a change of a plan or customer that does not exist', async () => {
  const unknown = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
  for (const path of [`/plans/${unknown}`, `/customers/${unknown}`, '/plans/x', '/customers/x']) {
    await readProblem(await call('PATCH', path, { name: 'x' }), 404, 'not_found');
    await readProblem(await call('PATCH', path, { name: 'x', idempotencyKey: 'unknown' }), 404, 'not_found');
  }
  const customer = await createCustomer(till);
  const found = await call('PATCH', `/customers/${customer.id}`, { name: 'x', idempotencyKey: 'unknown' });
  assert.equal(found.status, 200, 'the refusal has freed the key');
});
