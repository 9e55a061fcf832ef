import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { MovableClock } from '#core/platform/clock.ts';
import { readJson } from '../support/client.ts';
import {
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  readSubscription,
  type SubscriptionBody,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';
import { eventOf } from '../support/webhook-events.ts';

interface EntitlementsBody {
  readonly customerId: string;
  readonly externalId: string | null;
  readonly entitled: boolean;
  readonly until: string | null;
  readonly features: Readonly<Record<string, unknown>>;
  readonly subscriptions: readonly {
    readonly subscriptionId: string;
    readonly planId: string;
    readonly addOnPlanIds: readonly string[];
    readonly status: string;
    readonly entitled: boolean;
    readonly reason: string;
    readonly until: string | null;
  }[];
}

const dayMs = 86_400_000;
const graceDays = 3;
const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

/** What the processor's clock says, whatever the sandbox does. Undefined while it runs. */
let nowMs: number | undefined;
const clock = { now: () => new Date(nowMs ?? Date.now()) };
const till = await startTill({
  in: 'process',
  for: { after },
  processorClock: new MovableClock(clock),
  entitlementGraceDays: graceDays,
  mustNotLogErrors: true,
});
const { call, get } = till;

function entitlementsOf({ id }: { readonly id: string }): Promise<EntitlementsBody> {
  return get(`/customers/${id}/entitlements`);
}

/** Adds items to a subscription at the processor, by price and quantity. */
async function addItems(
  { processorSubscriptionId }: SubscriptionBody,
  items: Readonly<Record<string, number>>,
): Promise<void> {
  await till.stripe.subscriptions.update(processorSubscriptionId, {
    items: Object.entries(items).map(([price, quantity]) => ({ price, quantity })),
  });
  await till.settle();
}

/** Later than anything that the sandbox has done; each call a second later still. */
let seconds = 30 * 86_400;
function later(): { readonly created: number } {
  seconds += 1;
  return { created: Math.floor(Date.now() / 1_000) + seconds };
}

describe('the entitlements of a customer', () => {
  test('200: without a subscription there are none', async () => {
    const customer = await createCustomer(till);
    assert.deepEqual(await entitlementsOf(customer), {
      ...{ customerId: customer.id, externalId: null, entitled: false, until: null },
      ...{ features: {}, usage: {}, subscriptions: [] },
    });
  });

  test('200: a paid subscription entitles until the end of its period, a trial until its own', async () => {
    const customer = await createCustomer(till);
    const paid = await createSubscription(till, { customerId: customer.id });
    await confirmSecret(till, paid.clientSecret);
    await till.settle();
    const trial = await createSubscription(till, { customerId: customer.id, trialPeriodDays: 7 });
    const unpaid = await createSubscription(till, { customerId: customer.id });
    const shown = await entitlementsOf(customer);
    const lineOf = (
      { subscription }: { subscription: SubscriptionBody },
      entitled: boolean,
      until: unknown,
    ) => ({
      ...{ subscriptionId: subscription.id, planId: subscription.planId, addOnPlanIds: [], entitled, until },
    });
    const { currentPeriodEnd } = paid.subscription;
    assert.deepEqual(shown, {
      ...{ customerId: customer.id, externalId: null, entitled: true, until: currentPeriodEnd, features: {} },
      usage: {},
      subscriptions: [
        { ...lineOf(unpaid, false, null), status: 'incomplete', reason: 'incomplete' },
        { ...lineOf(trial, true, trial.subscription.trialEnd), status: 'trialing', reason: 'trialing' },
        { ...lineOf(paid, true, currentPeriodEnd), status: 'active', reason: 'active' },
      ],
    });
    await call('DELETE', `/subscriptions/${paid.subscription.id}`);
    const rest = await entitlementsOf(customer);
    assert.deepEqual([rest.entitled, rest.until], [true, trial.subscription.trialEnd]);
    assert.deepEqual(rest.subscriptions.at(-1), {
      ...{ ...lineOf(paid, false, null), status: 'canceled', reason: 'canceled' },
    });
  });

  test('200: the features of all plans that entitle are merged, those of other plans are not', async () => {
    const customer = await createCustomer(till);
    for (const [features, trialPeriodDays] of [
      [{ export: true, projects: 10, support: 'email', theme: 'dark' }, 7],
      [{ export: false, projects: 3, support: 'phone', theme: true }, 7],
      [{ projects: 99, unpaid: true }, 0],
    ] as const) {
      const body = { name: 'Plan', amount: 900, currency: 'eur', interval: 'month', features };
      const { id: planId } = await readJson<{ id: string }>(await call('POST', '/plans', body), 201);
      await createSubscription(till, { customerId: customer.id, planId, trialPeriodDays });
    }
    assert.deepEqual((await entitlementsOf(customer)).features, {
      ...{ export: true, projects: 10, support: 'phone', theme: true },
    });
  });

  test('200: the features of add-ons join those of the main plan, and subscriptions are merged after that', async () => {
    const customer = await createCustomer(till);
    const main = await createPlan(till, {
      features: { sso: false, seats: 5, support: 'email', projects: 3, extra: 1 },
    });
    const seats = await createPlan(till, {
      addOn: true,
      features: { seats: 2, support: 'phone', audit: true },
    });
    const all = await createPlan(till, { addOn: true, features: { sso: true, projects: true, seats: 1 } });
    const { subscription } = await createSubscription(till, {
      ...{ customerId: customer.id, planId: main.id, trialPeriodDays: 7 },
    });
    const other = await createPlan(till, { features: { seats: 9, extra: 2 } });
    await createSubscription(till, { customerId: customer.id, planId: other.id, trialPeriodDays: 7 });
    const before = await call('GET', `/customers/${customer.id}/entitlements`);
    await addItems(subscription, { [seats.processorPriceId]: 3, [all.processorPriceId]: 1 });
    const shown = await entitlementsOf(customer);
    assert.deepEqual(shown.features, {
      ...{ sso: true, seats: 12, support: 'email', projects: true, extra: 2, audit: true },
    });
    assert.deepEqual(
      shown.subscriptions.map(({ planId, addOnPlanIds }) => [planId, addOnPlanIds]),
      [
        [other.id, []],
        [main.id, [seats.id, all.id].toSorted()],
      ],
    );
    const tag = before.headers.get('etag') ?? '';
    const after = await call('GET', `/customers/${customer.id}/entitlements`, undefined, {
      'if-none-match': tag,
    });
    assert.equal(after.status, 200);
  });

  test('200: all open subscriptions are shown, and the 20 newest that ended', async () => {
    const customer = await createCustomer(till);
    const { id: planId } = await createPlan(till);
    const created: string[] = [];
    for (let count = 0; count < 23; count += 1) {
      const { subscription } = await createSubscription(till, { customerId: customer.id, planId });
      created.push(subscription.id);
      if (count > 0) await call('DELETE', `/subscriptions/${subscription.id}`);
    }
    const shown = (await entitlementsOf(customer)).subscriptions.map(({ subscriptionId }) => subscriptionId);
    assert.deepEqual(shown, [...created.toReversed().slice(0, 20), created[0]]);
  });

  test('200: they are also found by the external id of the customer', async () => {
    const externalId = 'user/42+ä&?';
    const body = { email: 'ada@example.com', externalId };
    const { id } = await readJson<{ id: string }>(await call('POST', '/customers', body), 201);
    await createSubscription(till, { customerId: id, trialPeriodDays: 7 });
    const found = await get<EntitlementsBody>(`/entitlements?externalId=${encodeURIComponent(externalId)}`);
    assert.deepEqual([found.customerId, found.externalId, found.entitled], [id, externalId, true]);
    assert.deepEqual(found, await entitlementsOf({ id }));
  });

  test('304: while nothing has changed, for the tag of the last response in any form', async () => {
    const customer = await createCustomer(till);
    const path = `/customers/${customer.id}/entitlements`;
    const first = await call('GET', path);
    const etag = first.headers.get('etag') ?? '';
    assert.match(etag, /^"[\w-]{43}"$/);
    assert.equal(first.headers.get('cache-control'), 'no-cache');
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await call('GET', path, undefined, { 'if-none-match': tags });
      assert.deepEqual([again.status, await again.text(), again.headers.get('etag')], [304, '', etag]);
      assert.equal(again.headers.get('cache-control'), 'no-cache');
    }
    const unchanged = await call('GET', path, undefined, { 'if-none-match': '"other"' });
    assert.equal((await readJson<EntitlementsBody>(unchanged, 200)).entitled, false);
    await createSubscription(till, { customerId: customer.id, trialPeriodDays: 7 });
    const changed = await call('GET', path, undefined, { 'if-none-match': etag });
    assert.equal((await readJson<EntitlementsBody>(changed, 200)).entitled, true);
    assert.notEqual(changed.headers.get('etag'), etag);
  });

  test('404: a deleted customer, and an external id of no customer', async () => {
    const body = { email: 'ada@example.com', externalId: 'gone' };
    const { id } = await readJson<{ id: string }>(await call('POST', '/customers', body), 201);
    await call('DELETE', `/customers/${id}`);
    const response = await call('GET', `/customers/${id}/entitlements`);
    assert.equal(response.headers.get('etag'), null);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    await readProblem(response, 404, 'not_found');
    for (const externalId of ['gone', 'nobody'])
      await readProblem(await call('GET', `/entitlements?externalId=${externalId}`), 404, 'not_found');
  });
});

describe('grace', () => {
  /** A subscription of a day whose renewal fails: its own period goes on, what is paid does not. */
  async function failToRenew(): Promise<SubscriptionBody> {
    const { id: planId } = await createPlan(till, { interval: 'day' });
    const { subscription, clientSecret } = await createSubscription(till, { planId });
    await confirmSecret(till, clientSecret);
    const id = subscription.processorSubscriptionId;
    const { customer } = await till.stripe.subscriptions.retrieve(id);
    const card = await till.stripe.paymentMethods.attach('pm_card_chargeCustomerFail', {
      customer: String(customer),
    });
    await till.stripe.subscriptions.update(id, { default_payment_method: card.id });
    await till.control('clock', { advanceSeconds: 86_400 + 3_700 });
    return subscription;
  }

  test('lasts for its days after the period that was paid, though the period of the subscription goes on', async () => {
    const subscription = await failToRenew();
    await till.settle();
    const customer = { id: subscription.customerId };
    const paidEnd = Date.parse(subscription.currentPeriodEnd ?? '');
    const until = new Date(paidEnd + graceDays * dayMs).toISOString();
    const shown = await readSubscription(till, subscription);
    assert.equal(shown.status, 'past_due');
    assert.ok(Date.parse(shown.currentPeriodEnd ?? '') > paidEnd, 'the period has gone on');
    for (const [now, entitled, reason] of [
      [paidEnd + graceDays * dayMs - 1, true, 'grace'],
      [paidEnd + graceDays * dayMs, false, 'past_due'],
    ] as const) {
      nowMs = now;
      const { subscriptions, ...whole } = await entitlementsOf(customer);
      assert.deepEqual([whole.entitled, whole.until], [entitled, entitled ? until : null]);
      const [one] = subscriptions;
      assert.deepEqual([one?.entitled, one?.reason, one?.until], [entitled, reason, until]);
      assert.equal((await readSubscription(till, subscription)).entitled, entitled);
      const page = await get<{ data: SubscriptionBody[] }>(`/subscriptions?customerId=${customer.id}`);
      assert.equal(page.data[0]?.entitled, entitled);
    }
    nowMs = undefined;
  });

  test('is not longer because a change within the unpaid period is paid', async () => {
    const subscription = await failToRenew();
    const { processorSubscriptionId: id } = subscription;
    const path = `/subscriptions/${subscription.id}`;
    await readJson(await call('PATCH', path, { quantity: 5 }), 200);
    const { customer, status } = await till.stripe.subscriptions.retrieve(id);
    assert.equal(status, 'past_due');
    const { id: card } = await till.stripe.paymentMethods.attach('pm_card_visa', {
      customer: String(customer),
    });
    // The items that wait for the next invoice are billed, and the customer pays.
    const bill = await till.stripe.invoices.create({
      ...{ customer: String(customer), subscription: id, pending_invoice_items_behavior: 'include' },
    });
    await till.stripe.invoices.finalizeInvoice(String(bill.id), { auto_advance: false });
    await till.stripe.invoices.pay(String(bill.id), { payment_method: card });
    await till.settle();
    const shown = await readSubscription(till, subscription);
    assert.equal(shown.status, 'past_due');
    nowMs = Date.parse(subscription.currentPeriodEnd ?? '') + graceDays * dayMs;
    const { entitled, subscriptions } = await entitlementsOf({ id: subscription.customerId });
    assert.deepEqual([entitled, subscriptions[0]?.reason], [false, 'past_due']);
    assert.equal(subscriptions[0]?.until, new Date(nowMs).toISOString());
    nowMs = undefined;
  });

  test('ends with an ETag of its own, though no event arrives', async () => {
    const subscription = await failToRenew();
    await till.settle();
    const path = `/customers/${subscription.customerId}/entitlements`;
    nowMs = Date.parse(subscription.currentPeriodEnd ?? '') + graceDays * dayMs - 1;
    const etag = (await call('GET', path)).headers.get('etag') ?? '';
    assert.equal((await call('GET', path, undefined, { 'if-none-match': etag })).status, 304);
    nowMs += 1;
    const over = await call('GET', path, undefined, { 'if-none-match': etag });
    assert.equal((await readJson<EntitlementsBody>(over, 200)).entitled, false);
    nowMs = undefined;
  });
});

describe('the table in docs/gating.md', () => {
  const text = readFileSync(new URL('../../docs/gating.md', import.meta.url), 'utf8');
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.slice(2, -2).replaceAll('`', '').split(' | '));
  const cells = ['at Stripe', 'status', 'when', 'entitled', 'reason', 'until'];

  test('has a row for every status', () => {
    assert.ok(rows.every((row) => row.length === cells.length));
    assert.deepEqual([...new Set(rows.map(([, status]) => status))].toSorted(), [
      ...['active', 'canceled', 'incomplete', 'incomplete_expired', 'past_due', 'trialing', 'unpaid'],
    ]);
  });

  for (const [wire = '', status, when = '', entitled, reason, until] of rows) {
    test(`${wire}, ${when}: ${entitled}`, async () => {
      const plan = await createPlan(till);
      const { subscription } = await createSubscription(till, { planId: plan.id });
      const id = subscription.processorSubscriptionId;
      const start = later().created;
      const [periodEnd, trialEnd, paidEnd] = [start + 900_000, start + 800_000, start + 700_000];
      const period = { current_period_start: start, current_period_end: periodEnd };
      const item = { id: 'si_1', object: 'subscription_item', price: plan.processorPriceId, ...period };
      const object = {
        ...{ id, customer: 'cus_1', status: wire.split(',')[0], trial_end: trialEnd },
        ...(wire.includes('paused') && wire.includes(',')
          ? { pause_collection: { behavior: 'void', resumes_at: null } }
          : {}),
        ...(wire.includes('cancels') ? { cancel_at_period_end: true, cancel_at: periodEnd } : {}),
        items: { object: 'list', data: [item], has_more: false },
      };
      if (!when.includes('no paid')) await till.take(paidInvoice(id, paidEnd));
      await till.take(eventOf('customer.subscription.updated.newer', object, later()));
      const ends: Readonly<Record<string, number | null>> = {
        'end of the current period': periodEnd,
        'end of the trial': trialEnd,
        'paid end plus grace': paidEnd + (graceDays * dayMs) / 1_000,
        null: null,
      };
      const end = ends[until ?? ''];
      assert.ok(end !== undefined, `the test knows what "${until}" means`);
      nowMs = paidEnd * 1_000 + graceDays * dayMs + (when.startsWith('before') ? -1 : 0);
      const [shown] = (await entitlementsOf({ id: subscription.customerId })).subscriptions;
      nowMs = undefined;
      assert.deepEqual(
        { ...shown, subscriptionId: '', planId: '' },
        {
          ...{
            subscriptionId: '',
            planId: '',
            addOnPlanIds: [],
            status,
            entitled: entitled === 'yes',
            reason,
          },
          until: end === null ? null : new Date(end * 1_000).toISOString(),
        },
      );
    });
  }

  function paidInvoice(subscription: string, end: number): string {
    const line = {
      ...{ id: 'il_1', object: 'line_item', amount: 900, period: { start: end - 100, end } },
      parent: { type: 'subscription_item_details', subscription_item_details: { proration: false } },
    };
    const parent = { type: 'subscription_details', subscription_details: { metadata: {}, subscription } };
    const lines = { object: 'list', data: [line], has_more: false };
    return eventOf('invoice.paid.newer', { id: `in_${subscription}`, parent, lines }, later());
  }
});

describe('fresh entitlements', () => {
  const freshOf = ({ id }: { readonly id: string }) =>
    call('GET', `/customers/${id}/entitlements?fresh=true`);
  const lists = () => till.count('processor_request_duration_seconds', { operation: 'subscriptions.list' });

  test('200: they show what no webhook has reported yet: a payment, a cancellation, a subscription from elsewhere', async () => {
    const externalId = randomUUID();
    const customer = await createCustomer(till, { externalId });
    const { clientSecret } = await createSubscription(till, { customerId: customer.id });
    await confirmSecret(till, clientSecret);
    assert.equal((await entitlementsOf(customer)).entitled, false);
    const paid = await readJson<EntitlementsBody>(await freshOf(customer), 200);
    assert.deepEqual([paid.entitled, (await entitlementsOf(customer)).entitled], [true, true]);
    const other = await createCustomer(till, { externalId: `${externalId}-2` });
    const { subscription } = await createSubscription(till, { customerId: other.id, trialPeriodDays: 7 });
    const { processorPriceId } = await createPlan(till);
    await till.stripe.subscriptions.create({
      customer: other.processorCustomerId,
      items: [{ price: processorPriceId }],
      trial_period_days: 7,
    });
    await till.stripe.subscriptions.cancel(subscription.processorSubscriptionId);
    const shown = await get<EntitlementsBody>(`/entitlements?externalId=${externalId}-2&fresh=true`);
    assert.deepEqual(
      shown.subscriptions.map(({ status }) => status),
      ['trialing', 'canceled'],
    );
    await till.settle();
    assert.deepEqual((await entitlementsOf(other)).subscriptions, shown.subscriptions);
  });

  test('concurrent requests share one call, and requests without fresh make none', async () => {
    const customer = await createCustomer(till);
    const before = await lists();
    await entitlementsOf(customer);
    assert.equal(await lists(), before);
    const startedMs = performance.now();
    const responses = await Promise.all(Array.from({ length: 50 }, () => freshOf(customer)));
    assert.ok(responses.every(({ status }) => status === 200));
    // One, and another for each second that a busy machine needs.
    const seconds = Math.floor((performance.now() - startedMs) / 1_000);
    const made = (await lists()) - before;
    assert.ok(made >= 1 && made <= 1 + seconds, `${made} calls in ${seconds} s`);
  });

  test('503: without a response of the processor there is no old one, and no webhook is lost', async () => {
    const customer = await createCustomer(till);
    await till.setFault({ operation: 'subscriptions.list', kind: 'error', status: 500, times: triesPerCall });
    await readProblem(await freshOf(customer), 503, 'processor_unavailable');
    await till.clearFaults();
    assert.equal((await entitlementsOf(customer)).entitled, false);
  });

  test('504: a processor that does not respond in time', async () => {
    const customer = await createCustomer(till);
    // Shorter than the limits of Till, for which a test cannot wait.
    const limits = { deadlineMs: 600, attemptTimeoutMs: 400 };
    const impatient = await startTill({ in: 'process', on: till, limits });
    await till.setFault({ operation: 'subscriptions.list', kind: 'hang', times: triesPerCall });
    const response = await impatient.call('GET', `/customers/${customer.id}/entitlements?fresh=true`);
    await till.clearFaults();
    await readProblem(response, 504, 'processor_timeout');
    await impatient.stop();
  });

  test('200: a customer who is deleted at the processor is no longer entitled', async () => {
    const customer = await createCustomer(till);
    await createSubscription(till, { customerId: customer.id, trialPeriodDays: 7 });
    assert.equal((await entitlementsOf(customer)).entitled, true);
    await till.stripe.customers.del(customer.processorCustomerId);
    const deleted = await readJson<EntitlementsBody>(await freshOf(customer), 200);
    assert.equal(deleted.entitled, false);
    await till.settle();
    const later = await readJson<EntitlementsBody>(await freshOf(customer), 200);
    assert.deepEqual(later.subscriptions, deleted.subscriptions);
  });

  test('404 and 400: an unknown customer, and another value', async () => {
    await readProblem(await freshOf({ id: unknownId }), 404, 'not_found');
    await readProblem(
      await call('GET', `/entitlements?externalId=${unknownId}&fresh=true`),
      404,
      'not_found',
    );
    const customer = await createCustomer(till);
    const wrong = await call('GET', `/customers/${customer.id}/entitlements?fresh=yes`);
    await readProblem(wrong, 400, 'invalid_request');
  });
});
