import assert from 'node:assert/strict';
import { test } from 'node:test';
import { confirmSecret, createPaidPayment, createSubscription } from '../support/objects.ts';
import { startTill } from '../support/till.ts';

test('a lost subscription that cannot be recovered is read once and ignored', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const { subscription, clientSecret } = await createSubscription(till);
  // The items of a subscription can be changed once its first invoice is paid.
  await confirmSecret(till, clientSecret);
  await till.settle();
  const foreign = await till.stripe.prices.create({
    currency: 'eur',
    unit_amount: 700,
    recurring: { interval: 'month' },
    product_data: { name: 'Not a plan' },
  });
  const { processorSubscriptionId: id } = subscription;
  const [item] = (await till.stripe.subscriptions.retrieve(id)).items.data;
  assert.ok(item !== undefined);
  await till.stripe.subscriptions.update(id, { items: [{ id: item.id, price: foreign.id }] });
  await till.settle();
  await till.sql('delete from till.subscriptions');
  const reads = () => till.count('processor_request_duration_seconds', { operation: 'subscriptions.read' });
  const before = await reads();
  await till.stripe.subscriptions.update(id, { metadata: { note: 'changed' } });
  await till.settle();
  assert.equal((await reads()) - before, 1);
  const pending = await till.sql(`select type from till.webhook_events where state = 'pending'`);
  assert.deepEqual(pending, []);
});

test('a payment first recorded from a late event is brought up to date', async (t) => {
  let behindMs = 120_000;
  const till = await startTill({
    in: 'process',
    for: t,
    clock: { now: () => new Date(Date.now() - behindMs) },
  });
  await createPaidPayment(till);
  await till.settle();
  await till.sql('delete from till.payments');
  behindMs = 0;
  await till.sql(`update till.webhook_events set state = 'pending', attempts = 0, next_try_at = now()
    where type = 'payment_intent.created'`);
  await till.settle();
  const rows = await till.sql('select status from till.payments');
  assert.deepEqual(rows, [{ status: 'succeeded' }]);
});

for (const table of ['payments', 'invoices'])
  test(`a resync goes on after a deadlock, here on the ${table}`, async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const { clientSecret } = await createSubscription(till);
    await confirmSecret(till, clientSecret);
    await till.settle();
    const count = () => till.sql(`select count(*) from till.${table}`);
    const before = await count();
    await till.sql(`delete from till.${table}`);
    // A sequence does not roll back, so only the first two attempts fail.
    await till.sql('create sequence public.attempts');
    await till.sql(`create function public.collide() returns trigger language plpgsql as $$ begin
      if nextval('public.attempts') <= 2 then raise 'deadlock detected' using errcode = '40P01'; end if;
      return new; end $$`);
    await till.sql(`create trigger collide before insert on till.${table}
      for each row execute function public.collide()`);
    assert.deepEqual(await till.services.resync.all(), []);
    assert.deepEqual(await count(), before);
    assert.equal(till.deadlocks.length, 2);
  });
