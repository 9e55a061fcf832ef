import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newestInvoice, subscribed, useCard } from '../support/changes.ts';
import { readJson } from '../support/client.ts';
import { assertMistake } from '../support/invalid.ts';
import {
  type CreatedSubscriptionBody,
  createCustomer,
  createPlan,
  createSubscription,
  intentOf,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const declining = 'pm_card_chargeCustomerFail';
const authenticating = 'pm_card_authenticationRequired';
const dearer = await createPlan(till, { name: 'Platinum', amount: 5_000 });
const yearly = await createPlan(till, { name: 'Yearly', amount: 9_000, interval: 'year' });

test('200: a change with the next invoice changes plan and quantity, and bills nothing yet', async () => {
  const { subscription, changed, read } = await subscribed(till);
  const before = await newestInvoice(till, subscription);
  const { subscription: after, clientSecret } = await changed({ planId: dearer.id, quantity: 3 });
  assert.deepEqual(
    [after.planId, after.quantity, after.status, after.pendingChange, clientSecret],
    [dearer.id, 3, 'active', null, null],
  );
  assert.equal((await newestInvoice(till, subscription)).id, before.id);
  const { planId, quantity } = await read();
  assert.deepEqual([planId, quantity], [dearer.id, 3]);
});

test('200: an absent quantity stays, and so does an absent plan', async () => {
  const { plan, changed } = await subscribed(till);
  const { subscription: first } = await changed({ quantity: 4 });
  assert.deepEqual([first.planId, first.quantity], [plan.id, 4]);
  const { subscription: second } = await changed({ planId: dearer.id });
  assert.deepEqual([second.planId, second.quantity], [dearer.id, 4]);
});

test('200: `invoice` bills and charges the change at once, `none` never', async () => {
  const { subscription, changed } = await subscribed(till);
  const { subscription: after } = await changed({ planId: dearer.id, proration: 'invoice' });
  assert.equal(after.planId, dearer.id);
  const billed = await newestInvoice(till, subscription);
  assert.deepEqual([billed.billing_reason, billed.status], ['subscription_update', 'paid']);
  assert.ok(billed.amount_paid > 4_000 && billed.amount_paid <= 4_100, `${billed.amount_paid}`);
  await changed({ quantity: 5, proration: 'none' });
  assert.equal((await newestInvoice(till, subscription)).id, billed.id);
  const { data } = await stripe.invoiceItems.list({ customer: String(billed.customer), pending: true });
  assert.deepEqual(data, []);
});

test('402: a declined change is voided and leaves everything as it was, and its idempotency key repeats the decline', async () => {
  for (const body of [
    { planId: dearer.id, proration: 'invoice' },
    { planId: yearly.id },
    { planId: yearly.id, proration: 'none' },
  ]) {
    const { plan, subscription, change, read } = await subscribed(till, { card: declining });
    const keyed = { ...body, idempotencyKey: `declined ${subscription.id}`.replace(' ', '-') };
    const response = await change(keyed);
    const problem = await readProblem(response, 402, 'payment_declined');
    assert.equal(Object(problem).declineCode, 'generic_decline');
    assert.match(problem.detail, /declined/);
    const invoice = await newestInvoice(till, subscription);
    assert.deepEqual([invoice.status, invoice.billing_reason], ['void', 'subscription_update']);
    const there = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
    assert.deepEqual([there.pending_update, there.items.data[0]?.price.id], [null, plan.processorPriceId]);
    const { planId, pendingChange, status } = await read();
    assert.deepEqual([planId, pendingChange, status], [plan.id, null, 'active']);
    const again = await change(keyed);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    const repeated = await readProblem(again, 402, 'payment_declined');
    assert.deepEqual([repeated.detail, Object(repeated).declineCode], [problem.detail, 'generic_decline']);
    assert.equal((await newestInvoice(till, subscription)).id, invoice.id);
    // Another idempotency key is another attempt.
    await useCard(till, subscription, 'pm_card_mastercard');
    const { subscription: changed } = await readJson<CreatedSubscriptionBody>(await change(body), 200);
    assert.equal(changed.planId, body.planId);
  }
});

test('200: a repeated request gets no secret of a later change that waits', async () => {
  const { subscription, change, changed } = await subscribed(till);
  await useCard(till, subscription, authenticating);
  const earlier = [{ quantity: 2 }, { metadata: { team: 'blue' } }, { cancelAtPeriodEnd: false }].map(
    (body, index) => ({ ...body, idempotencyKey: `earlier-${index}-${subscription.id}` }),
  );
  for (const body of earlier) assert.equal((await changed(body)).clientSecret, null);
  const waiting = await changed({ planId: dearer.id, proration: 'invoice' });
  assert.notEqual(waiting.clientSecret, null);
  for (const body of earlier) {
    const again = await change(body);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    const replayed = await readJson<CreatedSubscriptionBody>(again, 200);
    assert.deepEqual([replayed.clientSecret, replayed.subscription], [null, waiting.subscription]);
  }
});

test('200: a change that needs authentication waits, and is applied once the customer has confirmed it', async () => {
  const { plan, subscription, changed, change, read, path } = await subscribed(till, {
    card: authenticating,
  });
  const body = {
    planId: dearer.id,
    quantity: 2,
    proration: 'invoice',
    idempotencyKey: `auth-${subscription.id}`,
  };
  const { subscription: waiting, clientSecret } = await changed(body);
  assert.deepEqual(
    [waiting.planId, waiting.quantity, waiting.status, waiting.pendingChange],
    [plan.id, 1, 'active', { planId: dearer.id, quantity: 2, addOns: [], at: null }],
  );
  const intentId = intentOf(clientSecret);
  const again = await change(body);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  const replayed = await readJson<CreatedSubscriptionBody>(again, 200);
  assert.deepEqual([replayed.clientSecret, replayed.subscription], [clientSecret, waiting]);
  assert.deepEqual(await readJson(await call('POST', `${path}/client-secret`), 200), { clientSecret });
  await till.control(`payment_intents/${intentId}/authenticate`, { result: 'succeeded' });
  const after = await readJson<CreatedSubscriptionBody>(await change(body), 200);
  assert.deepEqual(
    [
      after.subscription.planId,
      after.subscription.quantity,
      after.subscription.pendingChange,
      after.clientSecret,
    ],
    [dearer.id, 2, null, null],
  );
  assert.deepEqual(await read(), after.subscription);
});

test('a new change replaces the one that waits, and one to the current plan and quantity drops it', async () => {
  for (const [body, expected] of [
    [{ quantity: 3 }, { planId: 'old', quantity: 3 }],
    [
      { planId: 'old', quantity: 1 },
      { planId: 'old', quantity: 1 },
    ],
    [
      { quantity: 1, proration: 'invoice' },
      { planId: 'old', quantity: 1 },
    ],
  ] as const) {
    const { plan, subscription, changed } = await subscribed(till, { card: authenticating });
    const { subscription: waiting } = await changed({ planId: dearer.id, proration: 'invoice' });
    assert.notEqual(waiting.pendingChange, null);
    const held = await newestInvoice(till, subscription);
    const sent = 'planId' in body ? { ...body, planId: plan.id } : body;
    const { subscription: after, clientSecret } = await changed(sent);
    assert.deepEqual(
      [after.planId, after.quantity, after.pendingChange, clientSecret],
      [plan.id, expected.quantity, null, null],
    );
    assert.equal((await stripe.invoices.retrieve(String(held.id))).status, 'void');
  }
});

test('a second change that needs authentication replaces the first one', async () => {
  const { subscription, changed } = await subscribed(till, { card: authenticating });
  const first = await changed({ planId: dearer.id, proration: 'invoice' });
  const held = await newestInvoice(till, subscription);
  const second = await changed({ planId: yearly.id });
  assert.deepEqual(second.subscription.pendingChange, {
    planId: yearly.id,
    quantity: 1,
    addOns: [],
    at: null,
  });
  assert.notEqual(second.clientSecret, first.clientSecret);
  assert.equal((await stripe.invoices.retrieve(String(held.id))).status, 'void');
});

test('another interval, and from free to paid, start a period that is billed now', async () => {
  const free = await createPlan(till, { name: 'Free', amount: 0 });
  for (const [from, to, proration] of [
    [undefined, yearly, 'nextInvoice'],
    [undefined, yearly, 'none'],
    [free.id, dearer, 'nextInvoice'],
    [free.id, dearer, 'none'],
  ] as const) {
    const start = await subscribed(till, {
      customerCard: 'pm_card_visa',
      ...(from === undefined ? {} : { planId: from }),
    });
    const { subscription: after } = await start.changed({ planId: to.id, proration });
    assert.equal(after.planId, to.id);
    const invoice = await newestInvoice(till, start.subscription);
    assert.deepEqual([invoice.billing_reason, invoice.status], ['subscription_update', 'paid']);
    const item = (await stripe.subscriptions.retrieve(start.subscription.processorSubscriptionId)).items
      .data[0];
    assert.equal(Date.parse(String(after.currentPeriodEnd)), Number(item?.current_period_end) * 1_000);
  }
});

test('in a trial a change costs nothing, and the trial goes on', async () => {
  const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
  const path = `/subscriptions/${subscription.id}`;
  const response = await call('PATCH', path, { planId: yearly.id, proration: 'invoice' });
  const { subscription: after } = await readJson<CreatedSubscriptionBody>(response, 200);
  assert.deepEqual(
    [after.planId, after.status, after.trialEnd],
    [yearly.id, 'trialing', subscription.trialEnd],
  );
});

test('422: without a card, what is to be billed now is refused, in the words of the processor', async () => {
  const free = await createPlan(till, { amount: 0 });
  const { plan, change, read } = await subscribed(till, { planId: free.id });
  const problem = await readProblem(await change({ planId: dearer.id }), 422, 'processor_rejected');
  assert.match(problem.detail, /payment method/);
  assert.equal((await read()).planId, plan.id);
});

test('409: an archived plan, another currency, and a subscription that has ended or never began', async () => {
  const { subscription, change, changed } = await subscribed(till);
  const archived = await createPlan(till);
  await readJson(await call('POST', `/plans/${archived.id}/archive`), 200);
  await readProblem(await change({ planId: archived.id }), 409, 'plan_archived');
  const dollars = await readJson<{ id: string }>(
    await call('POST', '/plans', { name: 'US', amount: 900, currency: 'usd', interval: 'month' }),
    201,
  );
  await readProblem(await change({ planId: dollars.id }), 409, 'currency_mismatch');
  await readProblem(await change({ planId: subscription.id }), 404, 'not_found');
  // A plan that is archived at the processor only.
  const archivedThere = await createPlan(till);
  await stripe.prices.update(archivedThere.processorPriceId, { active: false });
  await readProblem(await change({ planId: archivedThere.id }), 409, 'plan_archived');
  await changed({ quantity: 2 });
  await readJson(await call('DELETE', `/subscriptions/${subscription.id}`), 200);
  await readProblem(await change({ quantity: 3 }), 409, 'subscription_ended');
  const { subscription: incomplete } = await createSubscription(till);
  const path = `/subscriptions/${incomplete.id}`;
  await readProblem(await call('PATCH', path, { quantity: 3 }), 409, 'subscription_incomplete');
  await readJson(await call('PATCH', path, { metadata: { a: '1' } }), 200);
  const ended = await subscribed(till);
  await stripe.subscriptions.cancel(ended.subscription.processorSubscriptionId);
  await readProblem(await ended.change({ quantity: 3 }), 409, 'subscription_ended');
});

test('a subscription keeps an archived plan when its quantity changes', async () => {
  const { plan, changed } = await subscribed(till);
  await readJson(await call('POST', `/plans/${plan.id}/archive`), 200);
  const { subscription } = await changed({ quantity: 2 });
  assert.deepEqual([subscription.planId, subscription.quantity], [plan.id, 2]);
});

test('422: a proration date outside the period', async () => {
  const { subscription, change, read } = await subscribed(till);
  for (const prorationDate of ['2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z']) {
    await readProblem(await change({ quantity: 3, prorationDate }), 422, 'processor_rejected');
  }
  assert.equal((await read()).quantity, subscription.quantity);
});

test('400: a change together with something else, and no field at all', async () => {
  const { change } = await subscribed(till);
  const date = '2026-11-15T00:00:00Z';
  await assertMistake(await change({ quantity: 2, metadata: { a: '1' } }), 'body.metadata');
  await assertMistake(await change({}), 'body');
  await assertMistake(await change({ idempotencyKey: 'alone' }), 'body');
  await assertMistake(await change({ proration: 'none' }), 'body');
  await assertMistake(await change({ prorationDate: date }), 'body');
});

test('409: one per group holds for changes too, and a change that waits counts', async () => {
  const [one, other] = [
    await createPlan(till, { group: 'changes', amount: 1_000 }),
    await createPlan(till, { group: 'changes', amount: 2_000 }),
  ];
  const { id: customerId } = await createCustomer(till);
  const held = await subscribed(till, { customerId, planId: one.id });
  const free = await subscribed(till, { customerId });
  const taken = async (response: Response, subscriptionId: string) => {
    const problem = await readProblem(response, 409, 'already_subscribed');
    assert.equal(Object(problem).subscriptionId, subscriptionId);
  };
  await taken(await free.change({ planId: other.id }), held.subscription.id);
  await taken(await call('POST', `${free.path}/preview`, { planId: other.id }), held.subscription.id);
  // Within its own group a subscription can be changed.
  assert.equal((await held.changed({ planId: other.id })).subscription.planId, other.id);
  await readJson(await call('DELETE', held.path), 200);
  await useCard(till, free.subscription, authenticating);
  const { subscription: waiting } = await free.changed({ planId: one.id, proration: 'invoice' });
  assert.notEqual(waiting.pendingChange, null);
  await taken(await call('POST', '/subscriptions', { customerId, planId: other.id }), free.subscription.id);
  assert.deepEqual(await till.sql('select * from till.group_reservations'), []);
});
