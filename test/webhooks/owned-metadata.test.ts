import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  type CreatedPaymentBody,
  type CreatedSubscriptionBody,
  type CustomerBody,
  confirmPayment,
  createCustomer,
  createPlan,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { eventOf } from '../support/webhook-events.ts';
import { holdRows } from './row-lock.ts';

const till = await startTill({ in: 'process', for: { after } });
const { stripe } = till;

interface Described {
  readonly metadata: Readonly<Record<string, string>>;
}

/** A payment or subscription with metadata, and how others change it at the processor in a way that sends an event. */
interface Owned {
  readonly id: string;
  readonly path: string;
  readonly type: string;
  readonly change: (metadata: Record<string, string>) => Promise<unknown>;
}

const metadata = { mine: '1' };

async function createOwned(kind: 'payment' | 'subscription'): Promise<Owned> {
  const { id: customerId } = await createCustomer(till);
  if (kind === 'payment') {
    const order = { customerId, amount: 900, currency: 'eur', captureMethod: 'manual', metadata };
    const { payment } = await till.post<CreatedPaymentBody>('/payments', order);
    await confirmPayment(till, payment);
    await till.settle();
    return {
      id: payment.id,
      path: `/payments/${payment.id}`,
      type: 'payment_intent.succeeded',
      change: (change) =>
        stripe.paymentIntents.capture(payment.processorPaymentIntentId, { metadata: change }),
    };
  }
  const { id: planId } = await createPlan(till);
  const order = { customerId, planId, metadata };
  const { subscription } = await till.post<CreatedSubscriptionBody>('/subscriptions', order);
  await till.settle();
  return {
    id: subscription.id,
    path: `/subscriptions/${subscription.id}`,
    type: 'customer.subscription.updated',
    change: (change) =>
      stripe.subscriptions.update(subscription.processorSubscriptionId, { metadata: change }),
  };
}

for (const kind of ['payment', 'subscription'] as const) {
  test(`metadata keys that others set on a ${kind} appear with its next event, and Till hides its own`, async () => {
    const { path, change } = await createOwned(kind);
    await change({ theirs: '2', mine: '', till_new: 'x' });
    await till.settle();
    assert.deepEqual((await till.get<Described>(path)).metadata, { theirs: '2' });
  });

  test(`an erased event of a ${kind} never clears its metadata`, async () => {
    const { id, path, type, change } = await createOwned(kind);
    await change({ theirs: '2' });
    await till.settle();
    const before = await till.get<Described>(path);
    assert.deepEqual(before.metadata, { mine: '1', theirs: '2' });
    const [event] = await till.sql<{ id: string; payload: string }>(
      'select id, payload from till.webhook_events where type = $1 and payload like $2',
      [type, `%${id}%`],
    );
    assert(event);
    // As an event is stored whose object did not belong to Till at first: the metadata reduced to Till's id, and a
    // mark.
    const stored = { ...JSON.parse(event.payload), till_erased: true };
    const object = { ...stored.data.object, metadata: { till_id: id } };
    const show = async (created: number) => {
      const payload = JSON.stringify({ ...stored, created, data: { ...stored.data, object } });
      await till.sql(
        `update till.webhook_events set payload = $2, personal_data = 'unchecked', state = 'pending',
           next_try_at = now() where id = $1`,
        [event.id, payload],
      );
      await till.drain();
    };
    for (const created of [stored.created - 60, stored.created, stored.created + 60]) {
      await show(created);
      assert.deepEqual(await till.get(path), before, String(created));
    }
    // Nor does it create a row without metadata, if the row was lost.
    await till.sql(`delete from till.${kind}s where id = $1`, [id]);
    await show(stored.created);
    assert.deepEqual((await till.get<Described>(path)).metadata, before.metadata);
    const [row] = await till.sql('select state from till.webhook_events where id = $1', [event.id]);
    assert.deepEqual(row, { state: 'processed' });
  });
}

test('a change of the metadata of a payment elsewhere, which sends no event, shows with the next read', async () => {
  const { id: customerId } = await createCustomer(till);
  const order = { customerId, amount: 900, currency: 'eur', metadata };
  const { payment } = await till.post<CreatedPaymentBody>('/payments', order);
  const path = `/payments/${payment.id}`;
  await stripe.paymentIntents.update(payment.processorPaymentIntentId, { metadata: { theirs: '2' } });
  await till.settle();
  assert.deepEqual((await till.get<Described>(path)).metadata, metadata);
  await till.post(`${path}/client-secret`);
  assert.deepEqual((await till.get<Described>(path)).metadata, { ...metadata, theirs: '2' });
});

/** Writes of metadata that a deletion can meet. Each creates what it changes, and returns the write. */
const writes: Readonly<Record<string, (customerId: string) => Promise<() => Promise<unknown>>>> = {
  'a new payment': async (customerId) => () =>
    till.tryPost('/payments', { customerId, amount: 900, currency: 'eur', metadata }),
  'a change of a payment': async (customerId) => {
    const order = { customerId, amount: 900, currency: 'eur' };
    const { payment } = await till.post<CreatedPaymentBody>('/payments', order);
    return () => till.call('PATCH', `/payments/${payment.id}`, { metadata });
  },
  'a new subscription': async (customerId) => {
    const { id: planId } = await createPlan(till);
    return () => till.tryPost('/subscriptions', { customerId, planId, metadata });
  },
  'a change of a subscription': async (customerId) => {
    const { id: planId } = await createPlan(till);
    const { subscription } = await till.post<CreatedSubscriptionBody>('/subscriptions', {
      customerId,
      planId,
    });
    return () => till.call('PATCH', `/subscriptions/${subscription.id}`, { metadata });
  },
};

/** The ways in which Till learns that a customer is deleted. */
const deletions: Readonly<Record<string, (customer: CustomerBody) => Promise<unknown>>> = {
  'by the API': ({ id }) => till.call('DELETE', `/customers/${id}`),
  'by a webhook': ({ processorCustomerId }) =>
    till.take(eventOf('customer.deleted', { id: processorCustomerId, deleted: true })),
};

test('metadata that is being recorded while its customer is deleted is gone once the deletion has ended', async (t) => {
  // A write of metadata waits for the lock after its row is written, and before its transaction ends.
  await till.sql(`create function till.wait_for_test() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(1); return null; end'`);
  for (const table of ['payments', 'subscriptions'])
    await till.sql(`create trigger wait_for_test after insert or update on till.${table} for each row
      when (new.metadata <> '{}') execute function till.wait_for_test()`);
  for (const [write, prepare] of Object.entries(writes))
    for (const [way, remove] of Object.entries(deletions))
      await t.test(`${write}, deleted ${way}`, async () => {
        const customer = await createCustomer(till);
        const begin = await prepare(customer.id);
        await till.drain();
        const held = await holdRows(till, 'select pg_advisory_xact_lock(1)');
        const writing = begin();
        await held.awaited(1);
        const removing = remove(customer);
        // The deletion waits for the write.
        await Promise.race([held.awaited(2), removing]);
        await held.release();
        await Promise.all([writing, removing]);
        for (const table of ['payments', 'subscriptions'])
          assert.deepEqual(
            await till.sql(`select from till.${table} where customer_id = $1 and metadata <> '{}'`, [
              customer.id,
            ]),
            [],
          );
        await till.services.erasure.run();
        assert.deepEqual(till.deadlocks, []);
      });
  await till.sql('drop function till.wait_for_test cascade');
});
