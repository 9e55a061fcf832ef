import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import type { Stripe } from 'stripe';
import { newestInvoice, useCard } from '../support/changes.ts';
import { readJson } from '../support/client.ts';
import { rotation } from '../support/effort.ts';
import { createPlan, readSubscription } from '../support/objects.ts';
import {
  createActive,
  createPastDue,
  createUnpaid,
  endSubscriptions,
  type PastDue,
  paid,
  pay,
} from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { changed, patch } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, control } = till;
beforeEach(() => endSubscriptions(till));

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
  // Once it is paid, the same requests succeed, even with an idempotency key that was refused.
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

const same = await createPlan(till, { name: 'Same', amount: 900 });

/** How the begun period of an unpaid subscription can be billed, without being paid. Its card works. */
const invoiceStates = {
  draft: () => createUnpaid(till, 2),
  open: () => createUnpaid(till, 1),
  void: async () => {
    const unpaid = await createUnpaid(till, 1);
    await stripe.invoices.voidInvoice(unpaid.invoiceIds[0]);
    return unpaid;
  },
  uncollectible: async () => {
    const unpaid = await createUnpaid(till, 1);
    await stripe.invoices.markUncollectible(unpaid.invoiceIds[0]);
    return unpaid;
  },
};

/** The changes that bill or credit the begun period, and what its detail names besides paying. */
const refusedChanges: readonly (readonly [object, RegExp])[] = [
  [{ planId: cheaper.id, proration: 'invoice' }, /end proration: none or when: periodEnd\.$/],
  [{ planId: free.id, proration: 'invoice' }, /end proration: none or when: periodEnd\.$/],
  [
    { planId: same.id, proration: 'invoice' },
    /end proration: nextInvoice or proration: none or when: periodEnd\.$/,
  ],
  [
    { planId: dearer.id, proration: 'invoice' },
    /end proration: nextInvoice or proration: none or when: periodEnd\.$/,
  ],
  [
    { quantity: 3, proration: 'invoice' },
    /end proration: nextInvoice or proration: none or when: periodEnd\.$/,
  ],
  [{ planId: cheaper.id }, /end proration: none or when: periodEnd\.$/],
  [{ planId: free.id, proration: 'nextInvoice' }, /end proration: none or when: periodEnd\.$/],
  [{ planId: yearly.id }, /end when: periodEnd\.$/],
  [{ planId: yearly.id, proration: 'invoice' }, /end when: periodEnd\.$/],
  [{ planId: yearly.id, proration: 'none' }, /end when: periodEnd\.$/],
];

const allowedChanges = [
  { planId: same.id },
  { planId: dearer.id },
  { quantity: 2 },
  { planId: cheaper.id, proration: 'none' },
  { planId: dearer.id, proration: 'none' },
  { planId: free.id, proration: 'none' },
  { planId: cheaper.id, when: 'periodEnd' },
  { planId: yearly.id, when: 'periodEnd' },
];

const nextRefused = rotation(refusedChanges, 3);
const nextAllowed = rotation(allowedChanges, 2);

async function assertRefused(
  subscription: { readonly id: string },
  body: object,
  detail: RegExp,
  isPayable: boolean,
): Promise<void> {
  const refused = await readProblem(await patch(till, subscription, body), 409, 'payment_due');
  assert.match(refused.detail, detail);
  assert.equal(/\/pay/.test(refused.detail), isPayable, refused.detail);
  const preview = await call('POST', `/subscriptions/${subscription.id}/preview`, body);
  assert.equal((await readProblem(preview, 409, 'payment_due')).detail, refused.detail);
}

for (const [state, create] of Object.entries(invoiceStates))
  test(`409: nothing bills or credits a period whose invoice is ${state}`, async () => {
    const { subscription, invoiceIds } = await create();
    await useCard(till, subscription, 'pm_card_visa');
    await till.settle();
    const { processorSubscriptionId } = subscription;
    const there = await stripe.subscriptions.retrieve(processorSubscriptionId);
    assert.equal(there.status, 'unpaid');
    assert.equal((await stripe.invoices.retrieve(invoiceIds[0])).status, state);
    const isPayable = state === 'draft' || state === 'open';
    for (const [body, detail] of nextRefused()) await assertRefused(subscription, body, detail, isPayable);
    assert.deepEqual(await stripe.subscriptions.retrieve(processorSubscriptionId), there);
    for (const body of nextAllowed()) {
      await readJson(await call('POST', `/subscriptions/${subscription.id}/preview`, body), 200);
      assert.equal((await changed(till, subscription, body)).status, 'unpaid', JSON.stringify(body));
      await changed(till, subscription, {
        planId: subscription.planId,
        quantity: 1,
        proration: 'none',
      }).catch(
        // From a free plan it starts a period. `none` to another plan, and then to the first one, does not.
        () =>
          stripe.subscriptions.update(processorSubscriptionId, {
            items: [firstItem(there)],
            proration_behavior: 'none',
          }),
      );
    }
    assert.equal((await newestInvoice(till, subscription)).id, invoiceIds[0]);
    assert.equal((await stripe.invoices.retrieve(invoiceIds[0])).status, state);
  });

function firstItem({ items }: Stripe.Subscription) {
  const [item] = items.data;
  return { id: String(item?.id), price: String(item?.price.id), quantity: 1 };
}

test('409: the detail does not name the end of a period after which nothing follows', async () => {
  const { subscription } = await createUnpaid(till, 1);
  await changed(till, subscription, { cancelAtPeriodEnd: true });
  await assertRefused(subscription, { planId: cheaper.id }, /send proration: none\.$/, true);
  await assertRefused(subscription, { planId: yearly.id }, /\/pay\.$/, true);
});

test('409: an invoice that only bills a change does not pay for the period', async () => {
  const { subscription, goodCard } = await renewing();
  // In the hour of the draft the subscription is active, and changes work.
  await changed(till, subscription, { quantity: 2, proration: 'invoice' });
  const billed = await newestInvoice(till, subscription);
  assert.deepEqual([billed.status, billed.billing_reason], ['paid', 'subscription_update']);
  await useCard(till, subscription, 'pm_card_chargeCustomerFail');
  await control('clock', { advanceSeconds: 7_200 });
  await till.settle();
  assert.equal((await readSubscription(till, subscription)).status, 'past_due');
  await assertRefused(subscription, { quantity: 1, proration: 'invoice' }, /none/, true);
  const response = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
  assert.equal(response.status, 'active');
  await changed(till, subscription, { quantity: 1, proration: 'invoice' });
});

test('200: in the hour of the draft of an active subscription every change works as before', async () => {
  for (const body of [
    { planId: cheaper.id, proration: 'invoice' },
    { planId: cheaper.id },
    { planId: dearer.id, proration: 'invoice' },
    { planId: yearly.id },
  ]) {
    const { subscription } = await renewing();
    await readJson(await call('POST', `/subscriptions/${subscription.id}/preview`, body), 200);
    assert.equal((await changed(till, subscription, body)).status, 'active');
  }
});

test('200: a period that cost nothing, or is paid, is covered, whatever else is not paid', async () => {
  for (const percent of [100, 10]) {
    const { subscription } = await createActive(till);
    const { processorSubscriptionId: id } = subscription;
    const { id: coupon } = await stripe.coupons.create({ percent_off: percent, duration: 'forever' });
    await stripe.subscriptions.update(id, { discounts: [{ coupon }] });
    await control('clock', { advanceSeconds: 32 * 86_400 });
    await stripe.subscriptions.update(id, { discounts: '' });
    await useCard(till, subscription, 'pm_card_chargeCustomerFail');
    // A change in the dashboard, billed now and declined: the period itself is paid.
    const { items } = await stripe.subscriptions.retrieve(id);
    await stripe.subscriptions.update(id, {
      items: [{ id: String(items.data[0]?.id), quantity: 4 }],
      proration_behavior: 'always_invoice',
    });
    await useCard(till, subscription, 'pm_card_visa');
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'past_due');
    await changed(till, subscription, { quantity: 5, proration: 'invoice' });
  }
});

/** An active subscription in the first hour of its second period, whose invoice is a draft. */
async function renewing() {
  const active = await createActive(till);
  const { processorSubscriptionId: id } = active.subscription;
  const { items } = await stripe.subscriptions.retrieve(id);
  const { now } = Object(await control('clock', { advanceSeconds: 0 }));
  await control('clock', { advanceSeconds: Number(items.data[0]?.current_period_end) - Number(now) + 60 });
  await till.settle();
  const { status } = await newestInvoice(till, active.subscription);
  assert.equal(status, 'draft');
  return active;
}
