import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { readJson } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { confirmSecret, intentOf, readInvoice, readSubscription } from '../support/objects.ts';
import {
  chargesOf,
  createActive,
  createPastDue,
  createUnpaid,
  endSubscriptions,
  paid,
  pay,
} from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, control } = till;
beforeEach(() => endSubscriptions(till));

const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

const statusesOf = (invoiceIds: readonly string[]) =>
  Promise.all(invoiceIds.map(async (id) => (await stripe.invoices.retrieve(id)).status));

const idsOf = (invoiceIds: readonly string[]) =>
  Promise.all(invoiceIds.map(async (id) => (await readInvoice(till, id)).id));

async function secretOf({ id }: { readonly id: string }): Promise<string | null> {
  const response = await call('POST', `/subscriptions/${id}/client-secret`);
  return (await readJson<{ clientSecret: string | null }>(response, 200)).clientSecret;
}

for (const missed of effort({ short: [1, 3], long: [1, 2, 3] }))
  test(`200: after ${missed} missed periods one payment brings access back, and older invoices stay`, async () => {
    const { subscription, goodCard, invoiceIds } = await createUnpaid(till, missed);
    const [newest, ...older] = invoiceIds;
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'unpaid');
    const before = await statusesOf(older);
    const response = await paid(pay(till, subscription, { paymentMethodId: goodCard }, `missed-${missed}`));
    assert.deepEqual([response.status, response.entitled], ['active', true]);
    assert.equal((await stripe.invoices.retrieve(newest)).status, 'paid');
    assert.deepEqual(await statusesOf(older), before);
    assert.deepEqual(response.olderUnpaidInvoiceIds, await idsOf(older));
    assert.equal(await secretOf(subscription), null);
    const replay = await pay(till, subscription, { paymentMethodId: goodCard }, `missed-${missed}`);
    assert.equal(replay.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson(replay, 200), response);
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'active');
    const { detail } = await readProblem(await pay(till, subscription), 409, 'nothing_to_pay');
    assert.equal(detail.includes('invoiceId'), missed > 1);
    // Each older one can be paid by its id, and the status stays what it is.
    for (const [index, invoiceId] of response.olderUnpaidInvoiceIds.entries()) {
      const rest = await paid(pay(till, subscription, { invoiceId, paymentMethodId: goodCard }));
      assert.deepEqual(rest.olderUnpaidInvoiceIds, response.olderUnpaidInvoiceIds.slice(index + 1));
      assert.equal(rest.status, 'active');
      await readProblem(await pay(till, subscription, { invoiceId }), 409, 'nothing_to_pay');
    }
    for (const id of invoiceIds) assert.equal((await chargesOf(till, id)).successes, 1);
  });

test('200: the rows of older invoices exist when the response names them, before any webhook', async () => {
  await control('delivery', { mode: 'paused' });
  const { subscription, goodCard } = await createUnpaid(till, 3);
  const { olderUnpaidInvoiceIds } = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
  for (const [index, id] of olderUnpaidInvoiceIds.entries())
    assert.equal((await till.get<{ status: string }>(`/invoices/${id}`)).status, ['draft', 'open'][index]);
  await control('delivery', { mode: 'normal' });
});

test('402: a declined draft is open, is not charged by the processor later, and can be paid', async () => {
  const { subscription, goodCard, badCard, invoiceIds } = await createUnpaid(till, 3);
  const [newest, ...older] = invoiceIds;
  const decline = await pay(till, subscription, { paymentMethodId: badCard }, 'declined-draft');
  await readProblem(decline, 402, 'payment_declined');
  const {
    status,
    auto_advance: advances,
    next_payment_attempt: next,
  } = await stripe.invoices.retrieve(newest);
  assert.deepEqual([status, advances, next], ['open', false, null]);
  assert.deepEqual(await statusesOf(older), ['draft', 'open']);
  // The processor would retry within days. The next period is weeks away.
  await stripe.subscriptions.update(subscription.processorSubscriptionId, {
    default_payment_method: goodCard,
  });
  await control('clock', { advanceSeconds: 5 * 86_400 });
  assert.deepEqual(await chargesOf(till, newest), { attempts: 1, successes: 0 });
  const replay = await pay(till, subscription, { paymentMethodId: badCard }, 'declined-draft');
  await readProblem(replay, 402, 'payment_declined');
  assert.equal((await paid(pay(till, subscription))).status, 'active');
  assert.deepEqual(await chargesOf(till, newest), { attempts: 2, successes: 1 });
});

test('402: a payment that must be authenticated is completed with the secret', async () => {
  const { subscription, badCard } = await createUnpaid(till, 2, 'pm_card_authenticationRequired');
  await readProblem(await pay(till, subscription), 402, 'authentication_required');
  const secret = await secretOf(subscription);
  await confirmSecret(till, secret, badCard);
  await control(`payment_intents/${intentOf(secret)}/authenticate`, { result: 'succeeded' });
  assert.equal(await secretOf(subscription), null);
  assert.equal((await readSubscription(till, subscription)).status, 'active');
});

test('200: the secret finalizes the draft that a payment would, and its customer pays with it', async () => {
  const { subscription, goodCard, invoiceIds } = await createUnpaid(till, 3);
  const [newest, ...older] = invoiceIds;
  const secrets = await Promise.all(Array.from({ length: 5 }, () => secretOf(subscription)));
  assert.equal(new Set(secrets).size, 1);
  const invoice = await stripe.invoices.retrieve(newest);
  assert.deepEqual([invoice.status, invoice.auto_advance], ['open', false]);
  assert.deepEqual(await statusesOf(older), ['draft', 'open']);
  await confirmSecret(till, secrets[0] ?? null, goodCard);
  assert.equal(await secretOf(subscription), null);
  assert.equal((await readSubscription(till, subscription)).status, 'active');
});

test('200: a past due subscription in a new period pays that one, although its invoice is still a draft', async () => {
  const { subscription, goodCard, invoiceId: first } = await createPastDue(till);
  const { processorSubscriptionId: id } = subscription;
  const { items } = await stripe.subscriptions.retrieve(id);
  const { now } = Object(await control('clock', { advanceSeconds: 0 }));
  await control('dunning', { afterwards: 'unpaid' });
  // A retry of the first renewal in a month, as if the account retried for so long.
  await stripe.invoices.update(first, { auto_advance: false });
  await control('clock', { advanceSeconds: Number(items.data[0]?.current_period_end) - Number(now) + 60 });
  const { latest_invoice: draft, status } = await stripe.subscriptions.retrieve(id);
  assert.deepEqual([status, await statusesOf([String(draft)])], ['past_due', ['draft']]);
  const response = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
  assert.equal(response.status, 'active');
  assert.deepEqual(response.olderUnpaidInvoiceIds, await idsOf([first]));
  // The hour of the draft is over: it was paid once.
  await control('clock', { advanceSeconds: 7_200 });
  assert.deepEqual(await chargesOf(till, String(draft)), { attempts: 1, successes: 1 });
});

test('the draft of an active subscription is left to the processor, unless the caller names it', async () => {
  const { subscription, goodCard } = await createActive(till);
  const { processorSubscriptionId: id } = subscription;
  const { items } = await stripe.subscriptions.retrieve(id);
  const { now } = Object(await control('clock', { advanceSeconds: 0 }));
  await control('clock', { advanceSeconds: Number(items.data[0]?.current_period_end) - Number(now) + 60 });
  const { latest_invoice: draft, status } = await stripe.subscriptions.retrieve(id);
  assert.deepEqual([status, await statusesOf([String(draft)])], ['active', ['draft']]);
  await till.settle();
  await readProblem(await pay(till, subscription), 409, 'nothing_to_pay');
  assert.equal(await secretOf(subscription), null);
  assert.deepEqual(await statusesOf([String(draft)]), ['draft']);
  const [invoiceId = ''] = await idsOf([String(draft)]);
  const response = await paid(pay(till, subscription, { invoiceId, paymentMethodId: goodCard }));
  assert.deepEqual([response.status, response.olderUnpaidInvoiceIds], ['active', []]);
  assert.deepEqual(await statusesOf([String(draft)]), ['paid']);
});

test('200: a draft of nothing is paid by being finalized', async () => {
  const { subscription, goodCard } = await createUnpaid(till, 1);
  const { id: coupon } = await stripe.coupons.create({ percent_off: 100, duration: 'forever' });
  const { processorSubscriptionId: id } = subscription;
  await stripe.subscriptions.update(id, { discounts: [{ coupon }] });
  await control('clock', { advanceSeconds: 32 * 86_400 });
  const response = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
  assert.deepEqual([response.status, response.olderUnpaidInvoiceIds.length], ['active', 1]);
  const { data } = await stripe.invoices.list({ subscription: id, limit: 1 });
  assert.deepEqual([data[0]?.status, data[0]?.amount_paid], ['paid', 0]);
});

test('200: of one that has ended, the open invoice is paid, and nothing is finalized', async () => {
  const { subscription, goodCard, invoiceIds } = await createUnpaid(till, 2);
  await readJson(await call('DELETE', `/subscriptions/${subscription.id}`), 200);
  const response = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
  assert.deepEqual([response.status, response.entitled], ['canceled', false]);
  assert.deepEqual(await statusesOf(invoiceIds), ['draft', 'paid']);
  await readProblem(await pay(till, subscription), 409, 'nothing_to_pay');
});

test('404: an invoice that is unknown, of another subscription, or of an unknown customer', async () => {
  const { subscription, goodCard, invoiceIds } = await createUnpaid(till, 1);
  const other = await createUnpaid(till, 1);
  await till.settle();
  const [ofOther = ''] = await idsOf(other.invoiceIds);
  for (const invoiceId of [unknownId, ofOther, subscription.id]) {
    const refused = await pay(till, subscription, { invoiceId, paymentMethodId: goodCard }, 'other-invoice');
    await readProblem(refused, 404, 'not_found');
  }
  assert.deepEqual(await statusesOf([...invoiceIds, ...other.invoiceIds]), ['open', 'open']);
  // The idempotency key is free, and ids are the same in upper and lower case.
  const [invoiceId = ''] = await idsOf(invoiceIds);
  const body = { paymentMethodId: goodCard };
  await paid(pay(till, subscription, { ...body, invoiceId: invoiceId.toUpperCase() }, 'other-invoice'));
  const replay = await pay(till, subscription, { ...body, invoiceId }, 'other-invoice');
  assert.equal(replay.headers.get('idempotent-replayed'), 'true');
});

test('404: a card of another customer leaves the draft a draft', async () => {
  const { subscription, invoiceIds } = await createUnpaid(till, 2);
  const { goodCard } = await createActive(till);
  await readProblem(await pay(till, subscription, { paymentMethodId: goodCard }), 404, 'not_found');
  assert.deepEqual(await statusesOf(invoiceIds), ['draft', 'open']);
});

test('payments and secrets at once charge the draft once, and no other invoice', async () => {
  const { subscription, goodCard, invoiceIds } = await createUnpaid(till, 3);
  const [newest, ...older] = invoiceIds;
  const responses = await Promise.all([
    ...Array.from({ length: 20 }, (_, index) =>
      pay(till, subscription, { paymentMethodId: goodCard }, `unpaid-storm-${index}`),
    ),
    ...Array.from({ length: 5 }, () => call('POST', `/subscriptions/${subscription.id}/client-secret`)),
  ]);
  const statuses = responses.map(({ status }) => status);
  assert.ok(
    statuses.slice(0, 20).every((status) => status === 200 || status === 409),
    String(statuses),
  );
  assert.ok(statuses.slice(0, 20).includes(200));
  assert.deepEqual(statuses.slice(20), [200, 200, 200, 200, 200]);
  assert.deepEqual(await chargesOf(till, newest), { attempts: 1, successes: 1 });
  assert.deepEqual(await statusesOf(older), ['draft', 'open']);
});
