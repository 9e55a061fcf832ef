import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { newestInvoice, type PreviewBody, subscribed, useCard } from '../support/changes.ts';
import { readJson } from '../support/client.ts';
import { assertMistake } from '../support/invalid.ts';
import { createPlan, createSubscription } from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;
beforeEach(() => endSubscriptions(till));

const daySeconds = 86_400;
/** A renewal is a draft for an hour before it is charged. */
const afterRenewalSeconds = 2 * 3_600;

const secondsUntil = (time: string | null, now: number) => Date.parse(String(time)) / 1_000 - now;

/** Moves the clock, and returns its time in seconds. */
async function moveClock(advanceSeconds: number): Promise<number> {
  const { now } = Object(await till.control('clock', { advanceSeconds }));
  return Number(now);
}

test('200: the preview of a change that is billed now shows its invoice, and changes nothing', async () => {
  const dearer = await createPlan(till, { name: 'Platinum', amount: 3_000 });
  const { plan, subscription, previewed, changed, read } = await subscribed(till);
  await moveClock(10 * daySeconds);
  const before = [await read(), await newestInvoice(till, subscription)];
  const preview = await previewed({ planId: dearer.id, quantity: 2, proration: 'invoice' });
  assert.deepEqual([await read(), await newestInvoice(till, subscription)], before);
  assert.deepEqual([preview.billedNow, preview.currency], [true, 'eur']);
  const date = String(preview.prorationDate);
  assert.match(date, /T\d\d:\d\d:\d\d\.000Z$/);
  assert.deepEqual(
    preview.lines.map(({ amount, proration, periodStart }) => [Math.sign(amount), proration, periodStart]),
    [
      [-1, true, date],
      [1, true, date],
    ],
  );
  assert.equal(
    preview.amountDue,
    preview.lines.reduce((sum, { amount }) => sum + amount, 0),
  );
  await moveClock(3_600);
  await changed({ planId: dearer.id, quantity: 2, proration: 'invoice', prorationDate: date });
  assert.equal((await newestInvoice(till, subscription)).amount_paid, preview.amountDue);
  assert.equal(plan.amount, 900);
});

test('200: `none` has no proration date, and the current plan costs what the renewal costs', async () => {
  const { plan, previewed } = await subscribed(till);
  const none = await previewed({ quantity: 3, proration: 'none' });
  assert.deepEqual([none.amountDue, none.billedNow, none.prorationDate], [2_700, false, null]);
  const same = await previewed({ planId: plan.id, quantity: 1, proration: 'invoice' });
  assert.deepEqual([same.amountDue, same.billedNow, same.lines.length], [900, false, 1]);
});

test('200: a change at the end of the period costs what the renewal will cost', async () => {
  const yearly = await createPlan(till, { name: 'Yearly', amount: 9_000, interval: 'year' });
  for (const body of [
    { quantity: 3, when: 'periodEnd' },
    { planId: yearly.id, when: 'periodEnd' },
  ]) {
    const { subscription, previewed, changed, read } = await subscribed(till);
    await changed({ quantity: 2 });
    await moveClock(3 * daySeconds);
    const preview = await previewed(body);
    assert.deepEqual([preview.billedNow, preview.prorationDate], [false, null]);
    const { subscription: waiting } = await changed(body);
    const renewal = preview.lines.find(({ proration }) => !proration);
    assert.equal(renewal?.periodStart, waiting.currentPeriodEnd);
    const now = await moveClock(0);
    await moveClock(secondsUntil(waiting.currentPeriodEnd, now) + afterRenewalSeconds);
    const invoice = await newestInvoice(till, subscription);
    assert.deepEqual([invoice.billing_reason, invoice.status], ['subscription_cycle', 'paid']);
    assert.equal(invoice.amount_due, preview.amountDue);
    await till.settle();
    assert.equal((await read()).currentPeriodEnd, renewal?.periodEnd);
  }
});

test('200: a preview includes what the invoice of a change that waits has taken, because the change drops it', async () => {
  const dearer = await createPlan(till, { name: 'Platinum', amount: 5_000 });
  for (const [balance, body] of [
    [-1_000, { quantity: 6, proration: 'invoice' }],
    [700, { quantity: 6, proration: 'invoice' }],
    [0, { planId: dearer.id, quantity: 1, proration: 'invoice' }],
    [-100_000, { quantity: 6, proration: 'nextInvoice' }],
    [-1_000, { quantity: 6, proration: 'none' }],
    [700, { quantity: 6, when: 'periodEnd' }],
    [-1_000, { quantity: 4 }],
  ] as const) {
    const { subscription, previewed, changed, read } = await subscribed(till);
    const { customer: id } = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
    const customer = String(id);
    await moveClock(5 * daySeconds);
    await changed({ quantity: 4 });
    await stripe.invoiceItems.create({ customer, amount: 450, currency: 'eur', description: 'Setup fee' });
    await stripe.customers.update(customer, { balance });
    await moveClock(60);
    await useCard(till, subscription, 'pm_card_authenticationRequired');
    const { subscription: waiting } = await changed({
      planId: dearer.id,
      quantity: 40,
      proration: 'invoice',
    });
    assert.equal(waiting.pendingChange?.at, null);
    await useCard(till, subscription, 'pm_card_visa');
    const before = [await read(), await newestInvoice(till, subscription)];
    const { prorationDate, ...preview } = await previewed(body);
    assert.deepEqual([await read(), await newestInvoice(till, subscription)], before);
    await changed(prorationDate === null ? body : { ...body, prorationDate });
    if (!preview.billedNow) {
      const now = await moveClock(0);
      await moveClock(secondsUntil((await read()).currentPeriodEnd, now) + afterRenewalSeconds);
    }
    const invoice = await newestInvoice(till, subscription);
    assert.deepEqual([invoice.status, invoice.amount_due], ['paid', preview.amountDue], JSON.stringify(body));
    const amounts = (lines: readonly { readonly amount: number }[]) =>
      lines.map(({ amount }) => amount).toSorted((a, b) => a - b);
    assert.deepEqual(amounts(invoice.lines.data), amounts(preview.lines));
    assert.ok(preview.lines.some(({ description }) => description === 'Setup fee'));
  }
});

test('409: a change at the end of the period that also ends the subscription has no preview', async () => {
  const { path, changed } = await subscribed(till);
  await changed({ cancelAtPeriodEnd: true });
  const refused = await call('POST', `${path}/preview`, { quantity: 3, when: 'periodEnd' });
  await readProblem(refused, 409, 'subscription_ending');
});

test('200: a subscription that ends with its period has nothing more to bill', async () => {
  const { subscription, previewed } = await subscribed(till);
  await stripe.subscriptions.update(subscription.processorSubscriptionId, { cancel_at_period_end: true });
  const { prorationDate: _, ...none } = await previewed({ quantity: 3, proration: 'none' });
  assert.deepEqual(none, { amountDue: 0, currency: 'eur', billedNow: false, lines: [] });
});

test('200: in a trial the preview is the first renewal, and its date can be used', async () => {
  const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
  const path = `/subscriptions/${subscription.id}`;
  const body = { quantity: 4, proration: 'invoice' };
  const preview = await readJson<PreviewBody>(await call('POST', `${path}/preview`, body), 200);
  assert.deepEqual([preview.amountDue, preview.billedNow], [3_600, false]);
  const { prorationDate } = preview;
  await readJson(await call('PATCH', path, { ...body, prorationDate }), 200);
});

test('400, 404, 409 and 422: a preview is refused like the change', async () => {
  const { subscription, path } = await subscribed(till);
  const preview = (body: object, of = path) => call('POST', `${of}/preview`, body);
  await assertMistake(await preview({}), 'body');
  await assertMistake(await preview({ quantity: 1, metadata: {} }), 'body.metadata');
  await readProblem(await preview({ planId: subscription.id }), 404, 'not_found');
  const archived = await createPlan(till);
  await readJson(await call('POST', `/plans/${archived.id}/archive`), 200);
  await readProblem(await preview({ planId: archived.id }), 409, 'plan_archived');
  const early = { quantity: 2, prorationDate: '2020-01-01T00:00:00Z' };
  await readProblem(await preview(early), 422, 'processor_rejected');
  const { subscription: incomplete } = await createSubscription(till);
  const refused = await preview({ quantity: 2 }, `/subscriptions/${incomplete.id}`);
  await readProblem(refused, 409, 'subscription_incomplete');
  await readJson(await call('DELETE', path), 200);
  await readProblem(await preview({ quantity: 2 }), 409, 'subscription_ended');
});
