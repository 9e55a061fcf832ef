import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import { listAll } from '../support/checks/mirrors.ts';
import type { CustomerBody, PageBody, PlanBody } from '../support/objects.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after } });

function signUp(externalId: string | null, metadata: object = {}): Promise<CustomerBody> {
  const own = externalId === null ? {} : { externalId };
  return till.post('/customers', { email: 'ada@example.com', ...own, metadata });
}

const read = (id: string) => till.get<CustomerBody>(`/customers/${id}`);

/** Changes a customer at the processor; the event is delivered later. */
async function changeThere({ processorCustomerId }: CustomerBody, metadata: Record<string, string>) {
  await till.stripe.customers.update(processorCustomerId, { metadata });
  const { data } = await till.stripe.events.list({ type: 'customer.updated', limit: 1 });
  return JSON.stringify(data[0]);
}

describe('metadata follows the processor', () => {
  test('metadata keys that others set appear, and Till hides its own', async () => {
    const customer = await signUp('follows', { mine: '1' });
    await till.take(await changeThere(customer, { theirs: '2', mine: '', till_new: 'x' }));
    const { metadata, externalId } = await read(customer.id);
    assert.deepEqual([metadata, externalId], [{ theirs: '2' }, 'follows']);
  });

  test("a product's metadata is the plan's", async () => {
    const values = { name: 'Gold', amount: 900, currency: 'eur', interval: 'month', metadata: { mine: '1' } };
    const { id, processorProductId } = await till.post<PlanBody>('/plans', values);
    await till.stripe.products.update(processorProductId, { metadata: { theirs: '2' } });
    await till.settle();
    assert.deepEqual((await till.get<PlanBody>(`/plans/${id}`)).metadata, { mine: '1', theirs: '2' });
  });
});

describe('two customers exchange external ids at the processor', () => {
  for (const order of ['in order', 'in reverse'] as const) {
    test(`one gives it to the other, and the events arrive ${order}`, async () => {
      const name = `given-${order.replace(' ', '-')}`;
      const [giver, taker] = [await signUp(name), await signUp(null)];
      const events = [
        await changeThere(giver, { till_external_id: '' }),
        await changeThere(taker, { till_external_id: name }),
      ];
      for (const event of order === 'in order' ? events : events.toReversed()) await till.take(event);
      assert.deepEqual([(await read(giver.id)).externalId, (await read(taker.id)).externalId], [null, name]);
      await assertHeldBy(name, taker);
    });

    test(`they swap, and the events arrive ${order}`, async () => {
      const names = [`left-${order.replace(' ', '-')}`, `right-${order.replace(' ', '-')}`] as const;
      const [left, right] = [await signUp(names[0]), await signUp(names[1])];
      const events = [
        await changeThere(left, { till_external_id: names[1] }),
        await changeThere(right, { till_external_id: names[0] }),
      ];
      for (const event of order === 'in order' ? events : events.toReversed()) await till.take(event);
      assert.deepEqual(
        [(await read(left.id)).externalId, (await read(right.id)).externalId],
        [names[1], names[0]],
      );
      await assertHeldBy(names[0], right);
    });
  }

  test('a resync ends equal to the processor, without any event', async () => {
    const [giver, taker] = [await signUp('resynced'), await signUp(null)];
    await changeThere(giver, { till_external_id: '' });
    await changeThere(taker, { till_external_id: 'resynced' });
    const lost = await signUp('lost-and-swapped');
    await changeThere(lost, { till_external_id: '' });
    await changeThere(giver, { till_external_id: 'lost-and-swapped' });
    await till.sql('delete from till.customers where id = $1', [giver.id]);
    await till.services.resync.all();
    assert.deepEqual(
      [
        (await read(giver.id)).externalId,
        (await read(taker.id)).externalId,
        (await read(lost.id)).externalId,
      ],
      ['lost-and-swapped', 'resynced', null],
    );
    await assertHeldBy('resynced', taker);
    await till.settle();
    await assertHeldBy('lost-and-swapped', giver);
  });

  test('both have it at the processor: one has it in Till, and no event fails', async () => {
    const [first, second] = [await signUp('both'), await signUp(null)];
    await till.take(await changeThere(second, { till_external_id: 'both' }));
    assert.deepEqual([(await read(first.id)).externalId, (await read(second.id)).externalId], ['both', null]);
    await assertHeldBy('both', first);
    const failed = await till.sql(`select id from till.webhook_events where state in ('failed', 'pending')`);
    assert.deepEqual(failed, []);
  });
});

test('a lost customer is found again by its external id, and a sign-up then finds it', async () => {
  const customer = await signUp('lost', { tier: 'gold' });
  await till.sql('delete from till.external_ids where customer_id = $1', [customer.id]);
  await till.sql('delete from till.customers where id = $1', [customer.id]);
  const events = await listAll(till.stripe.events.list({ type: 'customer.created', limit: 100 }));
  const created = events.find(
    ({ data }) => (data.object as Stripe.Customer).id === customer.processorCustomerId,
  );
  await till.take(JSON.stringify(created));
  const page = await till.get<PageBody<CustomerBody>>('/customers?externalId=lost');
  assert.deepEqual(
    page.data.map(({ id, metadata }) => ({ id, metadata })),
    [{ id: customer.id, metadata: { tier: 'gold' } }],
  );
  assert.equal((await signUp('lost', { tier: 'gold' })).id, customer.id);
});

async function assertHeldBy(externalId: string, { id }: CustomerBody): Promise<void> {
  const rows = await till.sql('select customer_id, claim_id from till.external_ids where external_id = $1', [
    externalId,
  ]);
  assert.deepEqual(rows, [{ customer_id: id, claim_id: null }]);
  const { data } = await till.get<PageBody<CustomerBody>>(`/customers?externalId=${externalId}`);
  assert.deepEqual(
    data.map((customer) => customer.id),
    [id],
  );
}
