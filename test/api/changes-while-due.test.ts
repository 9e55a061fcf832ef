import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newestInvoice, useCard } from '../support/changes.ts';
import { readJson } from '../support/client.ts';
import { createPlan, readSubscription } from '../support/objects.ts';
import { createPastDue, type PastDue, paid, pay } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { changed, patch } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const [dearer, cheaper, free, yearly] = [
  await createPlan(till, { name: 'Platinum', amount: 5_000 }),
  await createPlan(till, { name: 'Silver', amount: 100 }),
  await createPlan(till, { name: 'Free', amount: 0 }),
  await createPlan(till, { name: 'Yearly', amount: 9_000, interval: 'year' }),
];

/** A subscription with two units whose renewal was declined. Its card works again, so that a charge would succeed. */
async function createDue(): Promise<PastDue> {
  const due = await createPastDue(till);
  await changed(till, due.subscription, { quantity: 2, proration: 'none' });
  await useCard(till, due.subscription, 'pm_card_visa');
  await till.settle();
  return due;
}

test('409: what is billed now or credited is refused until the renewal is paid, and its preview too', async () => {
  const { subscription, invoiceId } = await createDue();
  const { id, processorSubscriptionId } = subscription;
  const before = await readSubscription(till, subscription);
  assert.deepEqual([before.status, before.quantity], ['past_due', 2]);
  const there = await stripe.subscriptions.retrieve(processorSubscriptionId);
  for (const body of [
    { planId: cheaper.id, proration: 'invoice' },
    { planId: free.id, proration: 'invoice' },
    { quantity: 1, proration: 'invoice' },
    // The customer would pay the difference, and not the renewal.
    { planId: dearer.id, proration: 'invoice' },
    { quantity: 3, proration: 'invoice' },
    // Another interval is billed now whatever `proration` says.
    { planId: yearly.id },
    { planId: yearly.id, proration: 'none' },
    // The credit for the unpaid period would pay the next renewal.
    { planId: cheaper.id },
    { planId: free.id },
    { quantity: 1 },
    { planId: cheaper.id, proration: 'nextInvoice', idempotencyKey: 'credited' },
  ]) {
    const { detail } = await readProblem(await patch(till, subscription, body), 409, 'payment_due');
    assert.match(detail, /pay/);
    const { idempotencyKey: _, ...fields } = { idempotencyKey: '', ...body };
    const preview = await readProblem(
      await call('POST', `/subscriptions/${id}/preview`, fields),
      409,
      'payment_due',
    );
    assert.equal(preview.detail, detail);
  }
  assert.deepEqual(await stripe.subscriptions.retrieve(processorSubscriptionId), there);
  assert.equal((await newestInvoice(till, subscription)).id, invoiceId);
  assert.deepEqual(await readSubscription(till, subscription), before);
  // Once it is paid, the same requests succeed, also under a key that was refused.
  assert.equal((await paid(pay(till, subscription))).status, 'active');
  const after = await changed(till, subscription, { planId: cheaper.id }, 'credited');
  assert.deepEqual([after.planId, after.status], [cheaper.id, 'active']);
  await changed(till, subscription, { planId: dearer.id, proration: 'invoice' });
});

test('200: what neither bills nor credits is possible, and leaves the renewal to pay', async () => {
  const { subscription, invoiceId } = await createDue();
  for (const [body, expected] of [
    [{ quantity: 3 }, { quantity: 3 }],
    [{ quantity: 3, proration: 'invoice' }, { quantity: 3 }],
    [{ planId: dearer.id }, { planId: dearer.id }],
    [{ planId: cheaper.id, proration: 'none' }, { planId: cheaper.id }],
    [{ planId: free.id, proration: 'none' }, { planId: free.id }],
    [{ planId: cheaper.id, when: 'periodEnd' }, { planId: free.id }],
    [{ planId: yearly.id, when: 'periodEnd' }, { planId: free.id }],
    [{ cancelAtPeriodEnd: true }, { cancelAtPeriodEnd: true }],
    [{ cancelAtPeriodEnd: false }, { cancelAtPeriodEnd: false }],
    [{ metadata: { a: '1' } }, { metadata: { a: '1' } }],
  ] as const) {
    if ('planId' in body || 'quantity' in body)
      await readJson(await call('POST', `/subscriptions/${subscription.id}/preview`, body), 200);
    const { status, ...after } = await changed(till, subscription, body);
    assert.equal(status, 'past_due', JSON.stringify(body));
    assert.deepEqual({ ...after, ...expected }, after);
  }
  // From free to paid starts a period.
  await readProblem(await patch(till, subscription, { planId: dearer.id }), 409, 'payment_due');
  assert.equal((await stripe.invoices.retrieve(invoiceId)).status, 'open');
  assert.equal((await paid(pay(till, subscription))).status, 'active');
  assert.equal((await stripe.invoices.retrieve(invoiceId)).status, 'paid');
});

test('200: nothing is due of a subscription whose open invoices were voided', async () => {
  const { subscription, invoiceId } = await createDue();
  await stripe.invoices.voidInvoice(invoiceId);
  const after = await changed(till, subscription, { planId: dearer.id, proration: 'invoice' });
  assert.deepEqual([after.planId, after.status], [dearer.id, 'active']);
});
