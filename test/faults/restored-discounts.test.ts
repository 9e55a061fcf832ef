import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backend, cutsOf, startBackend } from '../support/backend.ts';
import { newestInvoice, subscribed, useCard } from '../support/changes.ts';
import { rotation } from '../support/effort.ts';
import { createPlan } from '../support/objects.ts';
import { sweepAll } from '../support/sweep.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

/** What the processor takes off the next invoice. */
async function nextDiscount({ stripe }: Pick<Backend, 'stripe'>, subscription: string): Promise<number> {
  const { total_discount_amounts: taken } = await stripe.invoices.createPreview({ subscription });
  return (taken ?? []).reduce((sum, { amount }) => sum + amount, 0);
}

/** The last version of the API in which a customer can get a discount. */
const older = { apiVersion: '2025-02-24.acacia' };

/** A subscription with a discount for one invoice, which the invoice of a change that waits has used up. */
async function withUsedDiscount(till: TillInProcess, owner: 'subscription' | 'customer') {
  const { stripe } = till;
  const { plan, subscription, path, changed } = await subscribed(till);
  const { id, processorSubscriptionId } = subscription;
  const { customer } = await stripe.subscriptions.retrieve(processorSubscriptionId);
  // A limited coupon, so that Till creates one of its own.
  const coupon = await stripe.coupons.create({ percent_off: 50, duration: 'once', max_redemptions: 1 });
  if (owner === 'customer')
    await stripe.rawRequest('POST', `/v1/customers/${String(customer)}`, { coupon: coupon.id }, older);
  else await stripe.subscriptions.update(processorSubscriptionId, { discounts: [{ coupon: coupon.id }] });
  const before = await nextDiscount(till, processorSubscriptionId);
  await useCard(till, subscription, 'pm_card_authenticationRequired');
  const yearly = await createPlan(till, { amount: 9_000, interval: 'year' });
  await changed({ planId: yearly.id });
  assert.deepEqual([before, await nextDiscount(till, processorSubscriptionId)], [450, 0]);
  await useCard(till, subscription, 'pm_card_mastercard');
  return { plan, yearly, subscription, path, id, processorSubscriptionId, before };
}

/** Each call that drops a change and restores its discount makes. */
const restoringCalls = [
  ...['invoices.retrieve', 'invoices.void', 'invoiceitems.list', 'coupons.create', 'invoices.list'],
  ...['subscriptions.update', 'customers.update'],
];

/** Who finishes what a request has begun that died. */
const finishers = {
  'the same request': async (_backend, till, path, drop, key) => {
    const { status, body } = await till.tryPatch(path, drop, key);
    assert.equal(status, 200, JSON.stringify(body));
  },
  'the sweeper': (backend, till) => sweepAll(backend, till),
  /** The turn of the dead request is over, and its claim is settled first. */
  'another request': async (backend, till, path, drop) => {
    await backend.sql(`update till.subscription_turns set leased_until = now() - interval '1 minute'`);
    await sweepAll(backend, till);
    const { status, body } = await till.tryPatch(path, drop, `other${path.replaceAll('/', '-')}`);
    assert.equal(status, 200, JSON.stringify(body));
  },
} satisfies Record<
  string,
  (backend: Backend, till: TillInProcess, path: string, drop: object, key: string) => Promise<void>
>;

test('a discount that a dropped change used up is restored once, whichever call dies and whatever finishes it', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const nextFinishers = rotation(Object.entries(finishers), 1);
  for (const operation of restoringCalls)
    for (const kind of cutsOf(operation))
      for (const [name, finish] of nextFinishers())
        await t.test(`${operation} ${kind}, ${name}`, async () => {
          const owner = operation === 'customers.update' ? 'customer' : 'subscription';
          const scene = await withUsedDiscount(hasty, owner);
          const { plan, yearly, path, subscription, processorSubscriptionId, before } = scene;
          const drop = { planId: plan.id, quantity: 1 };
          const key = `drop-${operation}-${kind}-${name.replaceAll(' ', '-')}`;
          await backend.setFault({ operation, kind });
          assert.equal((await hasty.tryPatch(path, drop, key)).status, 503);
          await finish(backend, hasty, path, drop, key);
          // The sweeper may have found only the claim, and the next request drops the change.
          if ((await backend.stripe.subscriptions.retrieve(processorSubscriptionId)).pending_update !== null)
            assert.equal((await hasty.tryPatch(path, drop, `${key}-2`)).status, 200);
          assert.equal(await nextDiscount(backend, processorSubscriptionId), before);
          // A change uses it. After that, nothing gives it back.
          const change = { planId: yearly.id };
          assert.equal((await hasty.tryPatch(path, change, `${key}-use`)).status, 200);
          const { discounts, status } = await newestInvoice(hasty, subscription);
          assert.deepEqual([discounts.length, status], [1, 'paid']);
          await hasty.tryPatch(path, drop, key);
          await sweepAll(backend, hasty);
          await hasty.settle();
          assert.equal(await nextDiscount(backend, processorSubscriptionId), 0);
        });
});

test('the next change has the discount that the process which voided the invoice did not restore', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  for (const owner of ['subscription', 'customer'] as const) {
    const { yearly, path, subscription, processorSubscriptionId } = await withUsedDiscount(till, owner);
    const { id } = await newestInvoice(till, subscription);
    await till.stripe.invoices.voidInvoice(String(id));
    assert.equal(await nextDiscount(till, processorSubscriptionId), 0);
    const answers = await Promise.all(
      ['a', 'b'].map((key) => till.tryPatch(path, { planId: yearly.id }, `${key}-${owner}`)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    const { data } = await till.stripe.invoices.list({ subscription: processorSubscriptionId });
    const used = data.filter(({ status, discounts }) => status === 'paid' && discounts.length > 0);
    assert.equal(used.length, 1);
    await till.settle();
    assert.equal(await nextDiscount(till, processorSubscriptionId), 0);
  }
});

test("a customer's discount survives the end of a subscription whose waiting change has used it", async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  for (const kind of [null, 'reset_before', 'reset_after'] as const) {
    const { path, subscription } = await withUsedDiscount(hasty, 'customer');
    if (kind !== null) await backend.setFault({ operation: 'customers.update', kind });
    assert.equal((await hasty.call('DELETE', path)).status, 200);
    await hasty.settle();
    const { customerId } = subscription;
    const other = await subscribed(hasty, { customerId });
    const { total_discount_amounts: taken } = await newestInvoice(hasty, other.subscription);
    assert.deepEqual(
      taken?.map(({ amount }) => amount),
      [450],
    );
  }
});
