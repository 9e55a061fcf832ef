/** GET /api/v1/overview: how revenue and the number of subscribers move, by day, week and month. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Overview, OverviewMove, OverviewMoveList, OverviewSubscriberList } from '@till/client';
import { startBackend } from '../support/backend.ts';
import { assertHistoryExact, assertOverviewExact } from '../support/checks/overview.ts';
import {
  confirmSecret,
  createCustomer,
  createPaidPayment,
  createPlan,
  createSubscription,
  type SubscriptionBody,
} from '../support/objects.ts';
import { createPastDue } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const backend = await startBackend({ after });
const till = await startTill({ in: 'process', on: backend, mustNotLogErrors: true });
const { sql } = till;
const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
await sql('update till.overview_progress set since = $1', [dayBefore(40)]);

/** Makes changes, and dates their events back. */
async function daysAgo(days: number, change: () => Promise<unknown>): Promise<void> {
  await change();
  await till.settle();
  await sql(
    `update till.events set created_at = created_at - make_interval(days => $1)
     where position > (select position from till.overview_progress)`,
    [days],
  );
  await till.get('/overview');
}

async function read(currency: string, query = '') {
  const { currencies } = await till.get<Overview>(`/overview?currency=${currency}${query}`);
  return currencies[0] ?? assert.fail();
}

async function subscribe(values: { planId: string; customerId?: string; quantity?: number }) {
  const { subscription, clientSecret } = await createSubscription(till, values);
  await confirmSecret(till, clientSecret);
  return subscription;
}

test('revenue moves from the start to the end of a range, and the parts add up', async () => {
  const plan = await createPlan(till, { currency: 'dkk', amount: 1_000 });
  const yearly = await createPlan(till, { currency: 'dkk', amount: 1_000, interval: 'year' });
  const [one, two] = [await createCustomer(till), await createCustomer(till)];
  let subscription = { id: '' };
  await daysAgo(30, async () => {
    subscription = await subscribe({ planId: plan.id, customerId: one.id });
  });
  await daysAgo(9, () => till.call('PATCH', `/subscriptions/${subscription.id}`, { quantity: 5 }));
  // Two of 83.33, each rounded.
  await daysAgo(8, () => subscribe({ planId: yearly.id, customerId: two.id }));
  await daysAgo(8, () => subscribe({ planId: yearly.id, customerId: two.id }));
  await daysAgo(7, () =>
    till.call('PATCH', `/subscriptions/${subscription.id}`, { quantity: 2, proration: 'none' }),
  );
  await daysAgo(6, () => till.call('DELETE', `/subscriptions/${subscription.id}`));
  await daysAgo(5, () => subscribe({ planId: plan.id, customerId: one.id, quantity: 3 }));

  const { mrr, subscribers, subscriptions, previous } = await read(
    'dkk',
    `&from=${dayBefore(9)}&compare=previous`,
  );
  const { series, ...bridge } = mrr ?? assert.fail();
  assert.deepEqual(bridge, {
    ...{ start: 1_000, new: 83, expansion: 4_000 + 83, contraction: 3_000, churned: 2_000 },
    ...{ reactivated: 3_000, end: 3_166 },
  });
  assert.deepEqual(
    series.map(({ end }) => end),
    [5_000, 5_166, 2_166, 166, 3_166, 3_166, 3_166, 3_166, 3_166, 3_166],
  );
  assert.deepEqual(subscribers, { start: 1, gained: 2, lost: 1, end: 2, churnRate: 1 });
  assert.equal(subscriptions.monthlyRecurringRevenue.total, 3_167, 'rounded once');
  assert.deepEqual([previous?.from, previous?.to], [dayBefore(19), dayBefore(10)]);
  assert.deepEqual([previous?.mrr?.start, previous?.mrr?.end, previous?.subscribers?.end], [1_000, 1_000, 1]);
  // The end of a range is not now.
  assert.equal((await read('dkk', `&to=${dayBefore(6)}`)).mrr?.end, 166);
  const months = await read('dkk', `&from=${dayBefore(60)}&interval=month`);
  assert.equal(months.mrr?.series[0]?.from, dayBefore(40), 'the bridge begins with the first known day');
  assert.equal(months.mrr?.start, 0);
  const weeks = (await read('dkk', '&interval=week')).mrr?.series ?? [];
  for (const { from } of weeks.slice(1)) assert.equal(new Date(from).getUTCDay(), 1);
  const before = await read('dkk', `&from=${dayBefore(60)}&to=${dayBefore(41)}`);
  assert.deepEqual(
    [before.mrr, before.subscribers, before.trials, before.recovery],
    [null, null, null, null],
  );
});

test('each part of the bridge has a list of its changes, and the end one of its subscribers', async () => {
  const from = dayBefore(9);
  const { mrr, subscribers } = await read('dkk', `&from=${from}`);
  const walk = async (move: string) => {
    const query = { move, currency: 'DKK', from, limit: '1', include: 'customer' };
    const rows: OverviewMove[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const at = new URLSearchParams({ ...query, ...(cursor === '' ? {} : { cursor }) });
      const page: OverviewMoveList = await till.get(`/overview/moves?${at}`);
      rows.push(...page.data);
      cursor = page.nextCursor;
    }
    return rows;
  };
  for (const move of ['new', 'expansion', 'contraction', 'churned', 'reactivated'] as const) {
    const rows = await walk(move);
    const sum = rows.reduce((total, { amount }) => total + (amount ?? 0), 0);
    assert.equal(sum, mrr?.[move], move);
    assert.deepEqual(
      rows.map(({ createdAt }) => createdAt),
      rows.map(({ createdAt }) => createdAt).sort((one, two) => (one < two ? 1 : -1)),
    );
    for (const row of rows) {
      assert.deepEqual([row.customer?.id, row.currency], [row.customerId, 'dkk']);
      assert.equal(row.date, row.createdAt.slice(0, 10));
    }
  }
  assert.equal((await walk('churned')).length, subscribers?.lost);
  assert.equal((await walk('new')).length + (await walk('reactivated')).length, subscribers?.gained);
  const now: OverviewSubscriberList = await till.get('/overview/subscribers?currency=Dkk&include=customer');
  assert.equal(now.data.length, subscribers?.end);
  assert.equal(
    now.data.reduce((sum, { monthlyAmount }) => sum + monthlyAmount, 0),
    mrr?.end,
  );
  const before: OverviewMoveList = await till.get(
    `/overview/moves?move=new&currency=dkk&from=${dayBefore(60)}&to=${dayBefore(41)}`,
  );
  assert.deepEqual(before, { data: [], nextCursor: null });
  const unknown = await till.call('GET', '/overview/moves?move=new&currency=dkk&cursor=x');
  await readProblem(unknown, 400, 'invalid_request');
});

test('trials and failed renewals count where they end', async () => {
  const plan = await createPlan(till, { currency: 'pln', amount: 1_000 });
  const trial = () => createSubscription(till, { planId: plan.id, trialPeriodDays: 10 });
  let trials: readonly { subscription: { id: string } }[] = [];
  await daysAgo(5, async () => {
    trials = [await trial(), await trial(), await trial()];
  });
  await daysAgo(4, () => till.call('DELETE', `/subscriptions/${trials[0]?.subscription.id}`));
  assert.deepEqual((await read('pln')).trials, {
    ...{ started: 3, converted: 0, expired: 1, conversionRate: 0 },
  });
  const converted = await till.get<SubscriptionBody>(`/subscriptions/${trials[1]?.subscription.id}`);
  const { customer } = await till.stripe.subscriptions.retrieve(converted.processorSubscriptionId);
  const card = await till.stripe.paymentMethods.attach('pm_card_visa', { customer: String(customer) });
  await till.stripe.subscriptions.update(converted.processorSubscriptionId, {
    ...{ trial_end: 'now', default_payment_method: card.id },
  });
  await till.settle();
  const { trials: ended, mrr } = await read('pln');
  assert.deepEqual([ended?.converted, ended?.conversionRate], [1, 0.5]);
  assert.equal(mrr?.new, 1_000);

  const { subscription } = await createPastDue(till);
  await till.settle();
  const { recovery } = await read('eur');
  assert.deepEqual(recovery, { failed: 1, recovered: 0, lost: 0, recoveryRate: null });
  await till.call('DELETE', `/subscriptions/${subscription.id}`);
  await till.settle();
  assert.deepEqual((await read('eur')).recovery, { failed: 1, recovered: 0, lost: 1, recoveryRate: 0 });
});

test('net volume is what refunds and disputes leave of the payments', async () => {
  const paid = await createPaidPayment(till, { amount: 900, currency: 'sek' });
  await createPaidPayment(till, { card: 'pm_card_createDispute', amount: 700, currency: 'sek' });
  await till.control('clock', { advanceSeconds: 0 });
  await till.settle();
  await till.post(`/payments/${paid.id}/refund`, { amount: 100 });
  const { netVolume, totals } = await read('sek');
  assert.deepEqual(netVolume, { gross: 1_600, refunded: 100, disputed: 700, net: 800 });
  assert.deepEqual([netVolume.gross, netVolume.refunded], [totals.volume, totals.refundedPayments.amount]);
});

test('an unknown comparison is refused with the known one', async () => {
  const { detail } = await readProblem(
    await till.call('GET', '/overview?compare=next'),
    400,
    'invalid_request',
  );
  assert.equal(detail, 'query.compare must be equal to previous');
});

test('all of it is what a full computation gives', async () => {
  await assertOverviewExact(till, sql);
  await assertHistoryExact(till, sql);
});

test('another time zone counts all rows again, and moves no history', async () => {
  const moves = () =>
    sql(
      `select * from till.overview_cells where day < 'infinity' and metric ~ '^(mrr|trials)' order by 1, 2, 3`,
    );
  const before = await moves();
  const zone = 'Pacific/Kiritimati';
  const other = await startTill({ in: 'process', on: backend, overviewTimeZone: zone });
  await assertOverviewExact(other, sql);
  assert.deepEqual(await moves(), before);
  const { timeZone, from, startsAt, endsAt } = await other.get<Overview>('/overview?to=2026-10-31');
  assert.deepEqual(
    [timeZone, from, startsAt, endsAt],
    [...[zone, '2026-10-02', '2026-10-01T10:00:00.000Z', '2026-10-31T10:00:00.000Z']],
  );
  const days = await sql<{ day: string }>(
    `select distinct day::text from till.overview_cells where metric = 'payments' and count > 0 order by 1`,
  );
  const rows = await sql<{ day: string }>(
    `select distinct (created_at at time zone '${zone}')::date::text as day from till.payments order by 1`,
  );
  assert.deepEqual(days, rows);
});

test('changes on a day that has not begun in another time zone count on its current day', async () => {
  const startIn = (zone: string) => startTill({ in: 'process', on: backend, overviewTimeZone: zone });
  const east = await startIn('Pacific/Kiritimati');
  await assertOverviewExact(east, sql);
  const plan = await createPlan(east, { currency: 'nok', amount: 1_000 });
  const { id } = await subscribe({ planId: plan.id });
  await subscribe({ planId: plan.id });
  await till.settle();
  await east.get('/overview');
  // It is always an earlier day here.
  const west = await startIn('Pacific/Pago_Pago');
  await assertOverviewExact(west, sql);
  const readWest = async () => {
    const { currencies } = await west.get<Overview>('/overview?currency=nok');
    const { series: _, ...mrr } = currencies[0]?.mrr ?? assert.fail();
    return [mrr, currencies[0]?.subscribers?.end];
  };
  const none = { start: 0, expansion: 0, contraction: 0, reactivated: 0 };
  assert.deepEqual(await readWest(), [{ ...none, new: 2_000, churned: 0, end: 2_000 }, 2]);
  await till.call('DELETE', `/subscriptions/${id}`);
  await till.settle();
  assert.deepEqual(await readWest(), [{ ...none, new: 2_000, churned: 1_000, end: 1_000 }, 1]);
  const { data } = await west.get<OverviewMoveList>('/overview/moves?move=new&currency=nok');
  assert.equal(data.length, 2);
});

test('before the first count, a customer was a subscriber who paid for one that has ended', async () => {
  const plan = await createPlan(till, { currency: 'czk', amount: 1_000 });
  const customer = await createCustomer(till);
  const { id } = await subscribe({ planId: plan.id, customerId: customer.id });
  await till.call('DELETE', `/subscriptions/${id}`);
  await till.settle();
  await sql('delete from till.overview_cells');
  await sql('delete from till.overview_subscribers');
  await sql('update till.overview_progress set position = null');
  await till.services.overviewFollower.run();
  await subscribe({ planId: plan.id, customerId: customer.id });
  await subscribe({ planId: plan.id });
  await till.settle();
  const { mrr, subscribers } = await read('czk');
  assert.deepEqual([mrr?.reactivated, mrr?.new, subscribers?.start, subscribers?.end], [1_000, 1_000, 0, 2]);
  await assertOverviewExact(till, sql);
});
