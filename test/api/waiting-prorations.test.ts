import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { newestInvoice, type Subscribed, subscribed, useCard, waitingItems } from '../support/changes.ts';
import { createPlan } from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { stripe } = till;
beforeEach(() => endSubscriptions(till));

const good = 'pm_card_mastercard';
const declining = 'pm_card_chargeCustomerFail';
const authenticating = 'pm_card_authenticationRequired';
const dearer = await createPlan(till, { name: 'Platinum', amount: 5_000 });
const yearly = await createPlan(till, { name: 'Yearly', amount: 9_000, interval: 'year' });

const daySeconds = 86_400;
/** A renewal is a draft for an hour before it is charged. */
const afterRenewalSeconds = 2 * 3_600;

async function moveClock(advanceSeconds: number): Promise<number> {
  const { now } = Object(await till.control('clock', { advanceSeconds }));
  return Number(now);
}

type Item = Awaited<ReturnType<typeof waitingItems>>[number];

/** Everything that an invoice shows of an item, and that decides which invoice bills it. */
function billedOf({ amount, currency, description, period, discountable, parent }: Item): unknown[] {
  const subscription = parent?.subscription_details?.subscription ?? null;
  return [amount, currency, description, period, discountable, subscription];
}

const billed = (items: readonly Item[]) =>
  items.map(billedOf).toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));

const total = (items: readonly Item[]) => items.reduce((sum, { amount }) => sum + amount, 0);

/** A subscription of two, with charges and credits of two earlier changes that wait. */
async function withWaiting(): Promise<Subscribed & { readonly waiting: readonly Item[] }> {
  const start = await subscribed(till);
  await moveClock(5 * daySeconds);
  await start.changed({ quantity: 4 });
  await moveClock(6 * daySeconds);
  await start.changed({ quantity: 2 });
  await moveClock(60);
  const waiting = await waitingItems(till, start.subscription);
  assert.deepEqual(
    waiting.map(({ amount }) => Math.sign(amount)),
    [-1, 1, -1, 1],
  );
  return { ...start, waiting };
}

/** Renews the subscription. Its bill is what the preview showed: the renewal, and what waited, once. */
async function assertRenewalBills(start: Subscribed, waiting: readonly Item[]): Promise<void> {
  const { subscription, previewed, read } = start;
  const { currentPeriodEnd, quantity } = await read();
  const preview = await previewed({ quantity });
  assert.deepEqual([preview.billedNow, preview.amountDue], [false, 2 * 900 + total(waiting)]);
  await useCard(till, subscription, good);
  const now = await moveClock(0);
  await moveClock(Date.parse(String(currentPeriodEnd)) / 1_000 - now + afterRenewalSeconds);
  const renewal = await newestInvoice(till, subscription);
  assert.deepEqual(
    [renewal.billing_reason, renewal.status, renewal.amount_paid],
    ['subscription_cycle', 'paid', preview.amountDue],
  );
  const amounts = (lines: readonly { readonly amount: number }[]) =>
    lines.map(({ amount }) => amount).toSorted((a, b) => a - b);
  assert.deepEqual(amounts(renewal.lines.data), amounts(preview.lines));
  assert.deepEqual(await waitingItems(till, subscription), []);
}

test('402: prorations that wait survive every declined change, and the next renewal bills them once', async () => {
  const start = await withWaiting();
  const { subscription, change, waiting } = start;
  await useCard(till, subscription, declining);
  for (const body of [
    { planId: yearly.id },
    { planId: dearer.id, proration: 'invoice' },
    { quantity: 7, proration: 'invoice', idempotencyKey: `declined-${subscription.id}` },
  ]) {
    await readProblem(await change(body), 402, 'payment_declined');
    assert.equal((await newestInvoice(till, subscription)).status, 'void');
    assert.deepEqual(billed(await waitingItems(till, subscription)), billed(waiting));
    // Another attempt, or the same one repeated.
    await readProblem(await change(body), 402, 'payment_declined');
    assert.deepEqual(billed(await waitingItems(till, subscription)), billed(waiting));
  }
  await assertRenewalBills(start, waiting);
});

test('prorations that wait survive a change that is dropped before the customer authenticates it', async () => {
  for (const drop of [
    { planId: 'present', quantity: 2 },
    { quantity: 5, when: 'periodEnd' },
    { cancelAtPeriodEnd: true },
  ]) {
    const start = await withWaiting();
    const { plan, subscription, changed, waiting } = start;
    await useCard(till, subscription, authenticating);
    const { clientSecret } = await changed({ planId: yearly.id });
    assert.notEqual(clientSecret, null);
    // Until the change is dropped, they can be paid with it.
    assert.deepEqual(await waitingItems(till, subscription), []);
    const { subscription: dropped } = await changed('planId' in drop ? { ...drop, planId: plan.id } : drop);
    assert.notEqual(dropped.pendingChange?.planId, yearly.id);
    assert.deepEqual(billed(await waitingItems(till, subscription)), billed(waiting));
    if ('planId' in drop) await assertRenewalBills(start, waiting);
  }
});

test('a change that replaces the one that waits for authentication bills the prorations, once', async () => {
  const start = await withWaiting();
  const { subscription, changed, waiting } = start;
  await useCard(till, subscription, authenticating);
  await changed({ planId: yearly.id });
  await useCard(till, subscription, good);
  const { subscription: after } = await changed({ planId: dearer.id, proration: 'invoice' });
  assert.equal(after.planId, dearer.id);
  const invoice = await newestInvoice(till, subscription);
  assert.equal(invoice.status, 'paid');
  for (const { description, amount } of waiting)
    assert.ok(invoice.lines.data.some((line) => line.description === description && line.amount === amount));
  assert.deepEqual(await waitingItems(till, subscription), []);
});

test('prorations that wait survive a change that the processor drops after 23 hours, once', async () => {
  const start = await withWaiting();
  const { subscription, changed, read, waiting } = start;
  await useCard(till, subscription, authenticating);
  await changed({ planId: yearly.id });
  await moveClock(daySeconds);
  await till.settle();
  assert.equal((await read()).pendingChange, null);
  assert.deepEqual(billed(await waitingItems(till, subscription)), billed(waiting));
  // The same event again.
  const { data } = await stripe.events.list({ type: 'customer.subscription.pending_update_expired' });
  const [event] = data.filter(
    ({ data: { object } }) => Object(object).id === subscription.processorSubscriptionId,
  );
  assert.ok(event !== undefined);
  await till.take(JSON.stringify({ ...event, id: `${event.id}again` }));
  await till.settle();
  await assertRenewalBills(start, waiting);
});

test('an item that was added elsewhere survives too, with its metadata, and one of another subscription stays', async () => {
  const start = await subscribed(till, { card: declining });
  const { subscription, change } = start;
  const customer = String((await newestInvoice(till, subscription)).customer);
  const other = await subscribed(till, { customerId: subscription.customerId });
  await other.changed({ quantity: 2 });
  const before = await waitingItems(till, subscription);
  const fee = await stripe.invoiceItems.create({
    ...{ customer, amount: 250, currency: 'eur', description: 'Setup fee', metadata: { ticket: '7' } },
    discountable: false,
  });
  await readProblem(await change({ planId: dearer.id, proration: 'invoice' }), 402, 'payment_declined');
  const after = await waitingItems(till, subscription);
  assert.deepEqual(after.slice(0, -1), before);
  const restored = after.at(-1);
  assert.ok(restored !== undefined && restored.id !== fee.id);
  assert.deepEqual(billedOf(restored), billedOf(fee));
  assert.deepEqual(restored.metadata, { ticket: '7', till_restores: fee.id });
});

/** A one-off fee of the customer, which the invoice of a change of the first of two subscriptions has taken. */
async function withTakenFee() {
  const start = await subscribed(till, { card: authenticating });
  const { subscription, changed } = start;
  const other = await subscribed(till, { customerId: subscription.customerId });
  const { customer } = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
  const fee = await stripe.invoiceItems.create({
    ...{ customer: String(customer), amount: 25_000, currency: 'eur', description: 'Setup fee' },
  });
  await changed({ planId: dearer.id, proration: 'invoice' });
  assert.deepEqual(await waitingItems(till, subscription), []);
  return { ...start, other, fee };
}

test('an item of the customer survives the end of a subscription whose waiting change has taken it, once', async () => {
  for (const ended of ['by Till', 'elsewhere']) {
    const { subscription, path, other, fee } = await withTakenFee();
    if (ended === 'by Till') {
      assert.equal((await till.call('DELETE', path)).status, 200);
      assert.deepEqual(billed(await waitingItems(till, subscription)), billed([fee]));
    } else await stripe.subscriptions.cancel(subscription.processorSubscriptionId);
    await till.settle();
    assert.deepEqual(billed(await waitingItems(till, subscription)), billed([fee]));
    const { currentPeriodEnd } = await other.read();
    await useCard(till, other.subscription, good);
    const now = await moveClock(0);
    await moveClock(Date.parse(String(currentPeriodEnd)) / 1_000 - now + afterRenewalSeconds);
    const renewal = await newestInvoice(till, other.subscription);
    assert.deepEqual([renewal.status, renewal.amount_paid], ['paid', 900 + fee.amount]);
  }
});

test('a customer that is deleted while a change waits needs no items, and the events about that succeed', async () => {
  const { subscription } = await withTakenFee();
  assert.equal((await till.call('DELETE', `/customers/${subscription.customerId}`)).status, 204);
  await till.settle();
  const states = await till.sql<{ state: string }>(
    `select distinct state from till.webhook_events where type = 'invoice.voided'`,
  );
  assert.deepEqual(states, [{ state: 'processed' }]);
});
