/** GET /api/v1/overview: each number, and the rows that it counts. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertOverviewExact } from '../support/checks/overview.ts';
import {
  confirmPayment,
  confirmSecret,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  type PageBody,
  type PaymentBody,
  type RefundBody,
  type SubscriptionBody,
} from '../support/objects.ts';
import { createPastDue } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { eventOf } from '../support/webhook-events.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { sql } = till;

interface Amount {
  readonly count: number;
  readonly amount: number;
}

interface Activity {
  readonly volume: number;
  readonly payments: number;
  readonly succeededPayments: number;
  readonly failedPayments: Amount;
  readonly refundedPayments: Amount;
  readonly disputedPayments: Amount;
  readonly refunds: Amount;
  readonly pendingRefunds: Amount;
  readonly failedRefunds: Amount;
}

interface Counts {
  readonly active: number;
  readonly trialing: number;
  readonly pastDue: number;
  readonly unpaid: number;
}

interface Subscriptions extends Counts {
  readonly monthlyRecurringRevenue: {
    readonly total: number;
    readonly active: number;
    readonly pastDue: number;
  };
}

interface OverviewBody {
  readonly from: string;
  readonly to: string;
  readonly currency: string | null;
  readonly asOf: string;
  readonly isCurrent: boolean;
  readonly subscriptionsSince: string;
  readonly subscriptions: Counts;
  readonly currencies: readonly {
    readonly currency: string;
    readonly totals: Activity;
    readonly subscriptions: Subscriptions;
    readonly days: readonly (Activity & {
      readonly date: string;
      readonly subscriptions: Subscriptions | null;
    })[];
  }[];
  readonly webhooks: {
    readonly pending: number;
    readonly failed: number;
    readonly lagSeconds: number | null;
    readonly oldestPendingSeconds: number | null;
  };
}

const none = { count: 0, amount: 0 };
const noActivity: Activity = {
  volume: 0,
  payments: 0,
  succeededPayments: 0,
  failedPayments: none,
  refundedPayments: none,
  disputedPayments: none,
  refunds: none,
  pendingRefunds: none,
  failedRefunds: none,
};
const noSubscriptions = {
  ...{ active: 0, trialing: 0, pastDue: 0, unpaid: 0 },
  monthlyRecurringRevenue: { total: 0, active: 0, pastDue: 0 },
};

const overview = (query = '') => till.get<OverviewBody>(`/overview${query}`);
const dayMs = 86_400_000;
const dayBefore = (days: number) => new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);

async function ofCurrency(currency: string) {
  // In either case.
  const { currencies, currency: asked } = await overview(`?currency=${currency.toUpperCase()}`);
  assert.equal(asked, currency);
  assert.deepEqual(
    currencies.map((one) => one.currency),
    [currency],
  );
  return currencies[0] ?? assert.fail();
}

test('a new database has no numbers', async () => {
  const body = await overview();
  const { asOf, ...rest } = body;
  assert.ok(Math.abs(Date.parse(asOf) - Date.now()) < 60_000);
  assert.deepEqual(rest, {
    from: dayBefore(29),
    to: dayBefore(0),
    timeZone: 'UTC',
    startsAt: `${dayBefore(29)}T00:00:00.000Z`,
    endsAt: `${dayBefore(-1)}T00:00:00.000Z`,
    interval: 'day',
    currency: null,
    isCurrent: true,
    subscriptionsSince: dayBefore(0),
    movesSince: dayBefore(0),
    subscriptions: { active: 0, trialing: 0, pastDue: 0, unpaid: 0 },
    currencies: [],
    webhooks: { pending: 0, failed: 0, lagSeconds: null, oldestPendingSeconds: null },
  });
  assert.deepEqual((await ofCurrency('eur')).totals, noActivity);
});

test('a caller sees its own writes at once, and events count when they are applied', async () => {
  const payment = await createPayment(till, { amount: 1_234, currency: 'chf' });
  assert.deepEqual((await ofCurrency('chf')).totals, { ...noActivity, payments: 1 });
  await confirmPayment(till, payment);
  await till.settle();
  const { totals, days } = await ofCurrency('chf');
  const expected = { ...noActivity, volume: 1_234, payments: 1, succeededPayments: 1 };
  assert.deepEqual(totals, expected);
  assert.deepEqual(days.at(-1), { date: dayBefore(0), ...expected, subscriptions: noSubscriptions });
  assert.deepEqual(days[0], { date: dayBefore(29), ...noActivity, subscriptions: null });
  await till.post(`/payments/${payment.id}/refund`, { amount: 234 });
  const refunded = { count: 1, amount: 234 };
  assert.deepEqual((await ofCurrency('chf')).totals, {
    ...expected,
    refundedPayments: refunded,
    refunds: refunded,
  });
});

test('amounts of different currencies are never added', async () => {
  await createPaidPayment(till, { amount: 5_000, currency: 'jpy' });
  await createPaidPayment(till, { amount: 300, currency: 'usd' });
  await till.settle();
  const { currencies } = await overview();
  const volumes = Object.fromEntries(currencies.map(({ currency, totals }) => [currency, totals.volume]));
  assert.deepEqual([volumes['jpy'], volumes['usd']], [5_000, 300]);
  assert.deepEqual(
    currencies.map(({ currency }) => currency),
    currencies.map(({ currency }) => currency).toSorted(),
  );
});

describe('every number is that of the rows that its lists show', () => {
  const range = `createdAfter=${dayBefore(29)}T00:00:00Z`;

  test('of payments and refunds', async () => {
    const failed = await createPayment(till, { amount: 4_100 });
    await assert.rejects(confirmPayment(till, failed, 'pm_card_chargeDeclined'));
    const again = await createPayment(till, { amount: 4_200 });
    await assert.rejects(confirmPayment(till, again, 'pm_card_chargeDeclined'));
    await confirmPayment(till, again);
    await createPaidPayment(till, { card: 'pm_card_createDispute', amount: 700 });
    const [full, partial] = [
      await createPaidPayment(till, { amount: 800 }),
      await createPaidPayment(till, { amount: 900 }),
    ];
    await till.control('clock', { advanceSeconds: 0 });
    await till.settle();
    await till.post(`/payments/${full.id}/refund`);
    await till.post(`/payments/${partial.id}/refund`, { amount: 100 });
    await till.settle();

    const eur = `${range}&currency=EUR`;
    const rows = (filter: string) => listAll<PaymentBody>(`/payments?source=all&${eur}${filter}`);
    const refunds = async (status: string) => {
      const some = await listAll<RefundBody>(`/refunds?${eur}&status=${status}`);
      return { count: some.length, amount: sum(some, ({ amount }) => amount) };
    };
    const amountOf = (some: readonly PaymentBody[], value: (payment: PaymentBody) => number) => ({
      count: some.length,
      amount: sum(some, value),
    });
    const all = await rows('');
    const { totals } = await ofCurrency('eur');
    assert.deepEqual(totals, {
      volume: sum(all, ({ amountReceived }) => amountReceived),
      payments: all.length,
      succeededPayments: (await rows('&status=succeeded')).length,
      failedPayments: amountOf(await rows('&failed=true'), ({ amount }) => amount),
      refundedPayments: amountOf(await rows('&refunded=true'), ({ amountRefunded }) => amountRefunded),
      disputedPayments: amountOf(await rows('&disputed=true'), ({ dispute }) => dispute?.amount ?? 0),
      refunds: await refunds('succeeded'),
      pendingRefunds: await refunds('pending'),
      failedRefunds: await refunds('failed'),
    });
    assert.deepEqual(totals.failedPayments, { count: 1, amount: 4_100 });
    assert.deepEqual(totals.disputedPayments, { count: 1, amount: 700 });
    assert.deepEqual(totals.refundedPayments, { count: 2, amount: 900 });
    assert.deepEqual(totals.refunds, { count: 2, amount: 900 });
  });

  test('of subscriptions, with the revenue of a month', async () => {
    const yearly = await createPlan(till, { amount: 12_100, interval: 'year', currency: 'nok' });
    const weekly = await createPlan(till, {
      amount: 1_000,
      interval: 'week',
      intervalCount: 2,
      currency: 'nok',
    });
    for (const [planId, quantity] of [
      [yearly.id, 3],
      [weekly.id, 1],
    ] as const) {
      const { clientSecret } = await createSubscription(till, { planId, quantity });
      await confirmSecret(till, clientSecret);
    }
    // It moves the clock.
    await createPastDue(till);
    await createSubscription(till, { planId: yearly.id, trialPeriodDays: 10 });
    await till.settle();

    const { subscriptions, days } = await ofCurrency('nok');
    const count = async (query: string) =>
      (await listAll<SubscriptionBody>(`/subscriptions?${query}`)).length;
    assert.deepEqual(
      [subscriptions.active, subscriptions.trialing],
      [await count('status=active&currency=nok'), await count('status=trialing&currency=nok')],
    );
    // 3 × 121.00 / 12, and 10.00 × 26 / 12.
    const active = Math.round(3_025 + (1_000 * 26) / 12);
    assert.deepEqual(subscriptions, {
      ...noSubscriptions,
      active: 2,
      trialing: 1,
      monthlyRecurringRevenue: { total: active, active, pastDue: 0 },
    });
    assert.deepEqual(days.at(-1)?.subscriptions, subscriptions);
    const all = await overview();
    const { pastDue, unpaid } = all.subscriptions;
    assert.deepEqual([pastDue, unpaid], [await count('status=past_due'), await count('status=unpaid')]);
    assert.equal(all.subscriptions.active, await count('status=active'));
    assert.equal(pastDue, 1);
    assert.equal((await ofCurrency('eur')).subscriptions.monthlyRecurringRevenue.pastDue, 900);
  });

  test('of subscriptions with add-ons, each by its own interval', async () => {
    const [main, seats, yearly] = [
      await createPlan(till, { currency: 'chf', amount: 1_000 }),
      await createPlan(till, { currency: 'chf', amount: 100, addOn: true }),
      await createPlan(till, { currency: 'chf', amount: 1_200, interval: 'year', addOn: true }),
    ];
    const { subscription, clientSecret } = await createSubscription(till, { planId: main.id });
    await confirmSecret(till, clientSecret);
    await till.settle();
    const revenue = async () => (await ofCurrency('chf')).subscriptions;
    assert.equal((await revenue()).monthlyRecurringRevenue.active, 1_000);
    await till.stripe.subscriptions.update(subscription.processorSubscriptionId, {
      ...{ items: [{ price: seats.processorPriceId, quantity: 3 }, { price: yearly.processorPriceId }] },
      proration_behavior: 'none',
    });
    await till.settle();
    const shown = await revenue();
    assert.deepEqual([shown.active, shown.monthlyRecurringRevenue.active], [1, 1_400]);
    await assertOverviewExact(till, sql);
  });

  test('of webhook events', async () => {
    const total = async (state: string) =>
      (await till.get<PageBody<object>>(`/webhook-events?state=${state}`)).total;
    await till.send(eventOf('payment_intent.succeeded', { id: 'pi_waits', object: 'payment_intent' }));
    const { pending, failed, lagSeconds, oldestPendingSeconds } = (await overview()).webhooks;
    assert.deepEqual([pending, failed], [await total('pending'), await total('failed')]);
    assert.equal(pending, 1);
    assert.ok(lagSeconds !== null && lagSeconds >= 0 && lagSeconds < 60);
    assert.ok(oldestPendingSeconds !== null && oldestPendingSeconds >= 0 && oldestPendingSeconds < 60);
    await sql(`update till.webhook_events set state = 'failed' where state = 'pending'`);
    assert.deepEqual((await overview()).webhooks, {
      ...{ pending: 0, failed: failed + 1, lagSeconds: null, oldestPendingSeconds: null },
    });
  });
});

describe('the range', () => {
  test('both days are included, and a day without a row is zero', async () => {
    const { from, to, currencies } = await overview(`?from=${dayBefore(2)}&to=${dayBefore(0)}`);
    assert.deepEqual([from, to], [dayBefore(2), dayBefore(0)]);
    assert.deepEqual(
      currencies[0]?.days.map(({ date }) => date),
      [dayBefore(2), dayBefore(1), dayBefore(0)],
    );
    const past = await overview(`?from=${dayBefore(2)}&to=${dayBefore(1)}&currency=eur`);
    assert.deepEqual(past.currencies[0]?.totals, noActivity);
    assert.ok((past.currencies[0]?.subscriptions.active ?? 0) >= 0);
  });

  test('days to come have no subscriptions yet', async () => {
    const { currencies } = await overview(`?to=${dayBefore(-1)}&currency=eur`);
    const [today, tomorrow] = (currencies[0]?.days ?? []).slice(-2);
    assert.notEqual(today?.subscriptions, null);
    assert.equal(tomorrow?.subscriptions, null);
  });

  test('a year is the most', async () => {
    assert.equal((await overview('?from=2024-01-01&to=2024-12-31')).from, '2024-01-01');
    const problem = await readProblem(
      await till.call('GET', '/overview?from=2023-12-31&to=2024-12-31'),
      400,
      'invalid_request',
    );
    assert.deepEqual(problem.errors, [
      { path: 'query.from', message: 'must be at most 366 days before 2024-12-31' },
    ]);
  });

  test('the last day is not before the first', async () => {
    const query = 'from=2024-01-02&to=2024-01-01';
    await readProblem(await till.call('GET', `/overview?${query}`), 400, 'invalid_request');
  });

  test('the first and the last day of the calendar are accepted', async () => {
    assert.equal((await overview('?to=0001-01-05')).from, '0001-01-01');
    assert.equal((await overview('?to=9999-12-31&currency=eur')).from, '9999-12-02');
  });
});

test('all of it is what a full computation gives', () => assertOverviewExact(till, sql));

function sum<Row>(rows: readonly Row[], value: (row: Row) => number): number {
  return rows.reduce((total, row) => total + value(row), 0);
}

async function listAll<Row>(path: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const page: PageBody<Row> = await till.get(
      `${path}&limit=2${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    rows.push(...page.data);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return rows;
}
