/** The numbers of the overview are counted from the events, each once, whatever happens meanwhile. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { assertOverviewExact, readCells } from '../support/checks/overview.ts';
import { countCells } from '../support/checks/overview-rows.ts';
import {
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { holdRows } from '../webhooks/row-lock.ts';

const backend = await startBackend({ after });
const [till, other] = [
  await startTill({ in: 'process', on: backend, mustNotLogErrors: true }),
  await startTill({ in: 'process', on: backend, mustNotLogErrors: true }),
];
const { sql, services } = till;
const follower = services.overviewFollower;

/** As after a migration that adds a number. */
async function forget(): Promise<void> {
  await sql('delete from till.overview_cells');
  await sql('update till.overview_progress set position = null');
}

/** Payments with some history, of both Tills, at the same time. */
async function write(count: number): Promise<void> {
  const customer = await createCustomer(till);
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const at = index % 2 === 0 ? till : other;
      const values = { customerId: customer.id, amount: 100 + index };
      if (index % 3 === 0) return void (await createPayment(at, values));
      const payment = await createPaidPayment(till, values);
      // Reads the payment from the processor, and refunds it.
      await at.post(`/payments/${payment.id}/refund`, index % 3 === 1 ? { amount: 50 } : {});
    }),
  );
}

before(async () => {
  const plan = await createPlan(till);
  await createSubscription(till, { planId: plan.id, trialPeriodDays: 10 });
  await write(6);
  await till.settle();
});

test('two processes at once count each event once', async () => {
  await forget();
  await follower.run();
  await write(20);
  await Promise.all([till, other, till, other].map(({ services: each }) => each.overviewFollower.catchUp()));
  await till.settle();
  await Promise.all([till.get('/overview'), other.get('/overview'), follower.run()]);
  await assertOverviewExact(till, sql);
});

test('the first count is exact while others write', async () => {
  await forget();
  const problem = await readProblem(await till.call('GET', '/overview'), 503, 'database_unavailable');
  assert.equal(problem.detail, 'The overview is being computed. Retry later.');
  // The count stops after its snapshot, before it writes. Until then, others write what it does not see, and what it
  // sees without its event being counted.
  const lock = await holdRows(till, 'lock table till.overview_cells in access exclusive mode');
  const counted = follower.run();
  const others = write(12);
  await lock.awaited(1);
  await others;
  await lock.release();
  assert.equal(await counted, true);
  await Promise.all([write(6), follower.run(), other.get('/overview')]);
  await till.settle();
  await assertOverviewExact(other, sql);
});

test('the first count reads all pages of rows, and customers whose subscriptions are on several pages', async () => {
  const plan = await createPlan(till, { amount: 1_000, interval: 'week' });
  const customer = await createCustomer(till);
  const addOns = JSON.stringify([{ planId: plan.id, quantity: 2 }]);
  await sql(
    `insert into till.payments (id, processor_payment_intent_id, customer_id, amount, currency, intent_status,
       processor_as_of, processor_as_of_latest, created_at, updated_at)
     select gen_random_uuid(), 'pi_page' || number, $1, number, 'eur', 'processing', now(), now(),
       now(), now() from generate_series(1, 2500) as number`,
    [customer.id],
  );
  await sql(
    `with customers as (
       insert into till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest,
         created_at, updated_at)
       select gen_random_uuid(), 'cus_page' || number, 'ada@example.com', now(), now(), now(), now()
       from generate_series(1, 300) as number returning id)
     insert into till.subscriptions (id, processor_subscription_id, customer_id, plan_id, quantity, add_ons, status,
       processor_main_item_id, processor_as_of, processor_as_of_latest, created_at, updated_at)
     select gen_random_uuid(), 'sub_page' || id || number, id, $1, number,
       case when number % 2 = 0 then $2::jsonb else '[]' end,
       (array['active', 'past_due', 'canceled', 'trialing'])[1 + number % 4], 'si_1', now(), now(), now(), now()
     from customers cross join generate_series(1, 7) as number`,
    [plan.id, addOns],
  );
  await forget();
  assert.equal(await follower.run(), true);
  await assertOverviewExact(till, sql);
});

test('a change in the snapshot but above the horizon counts once', async () => {
  await forget();
  // A transaction that has drawn a position holds the horizon back.
  const slow = await holdRows(
    till,
    `select pg_advisory_xact_lock_shared(till.event_lock(last_value)) from till.event_positions`,
  );
  await write(6);
  const running = follower.run();
  await running;
  assert.notDeepEqual(await readCells(sql), await countCells(sql), 'these events are not counted yet');
  const { isCurrent } = await till.get<{ isCurrent: boolean }>('/overview');
  assert.equal(isCurrent, false);
  await slow.release();
  await assertOverviewExact(till, sql);
});

test('a process that dies between counting and its commit loses nothing and counts nothing twice', async () => {
  await assertOverviewExact(till, sql);
  await write(6);
  await till.settle();
  // It stops where it writes the numbers.
  const lock = await holdRows(till, 'lock table till.overview_cells in exclusive mode');
  const dying = follower.run();
  const failed = assert.rejects(dying);
  await lock.awaited(1);
  await sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  await failed;
  await lock.release();
  assert.notDeepEqual(await readCells(sql), await countCells(sql));
  await assertOverviewExact(other, sql);
});

test('a request that finds very many events returns what is counted, and says so', async () => {
  await assertOverviewExact(till, sql);
  await sql(
    `insert into till.events select nextval('till.event_positions'), now(), 'plan.updated', 'plan', gen_random_uuid(), null,
       '{}', '{}', '{}' from generate_series(1, 10500)`,
  );
  const payment = await createPayment(till);
  const early = await till.get<{ isCurrent: boolean; asOf: string }>('/overview');
  assert.equal(early.isCurrent, false);
  assert.ok(early.asOf < payment.createdAt);
  await assertOverviewExact(till, sql);
  await sql(`delete from till.events where data::text = '{}'`);
});

test('numbers that are wrong are corrected, and nothing else', async () => {
  await assertOverviewExact(till, sql);
  await write(6);
  assert.equal(await follower.correct(), 0, 'events that are not counted yet are not a mistake');
  await sql(`update till.overview_cells set count = count + 1 where metric = 'payments'`);
  await sql(`insert into till.overview_cells values ('2020-01-01', 'xxx', 'payments', 1, 5)`);
  assert.equal(await other.services.overviewFollower.correct(), 2);
  assert.equal(await follower.correct(), 0);
  await assertOverviewExact(till, sql);
});

test('the erasure of a deleted customer changes no number', async () => {
  const customer = await createCustomer(till);
  const payment = await createPaidPayment(till, { customerId: customer.id });
  await till.call('PATCH', `/payments/${payment.id}`, { metadata: { order: '1' } });
  await till.settle();
  const uncounted = await sql<{ count: number }>(
    'select count(*)::int as count from till.events where position > (select position from till.overview_progress)',
  );
  assert.notEqual(uncounted[0]?.count, 0);
  await till.call('DELETE', `/customers/${customer.id}`);
  await services.erasure.run();
  await assertOverviewExact(till, sql);
});

describe('the subscriptions of past days', () => {
  interface Days {
    readonly subscriptionsSince: string;
    readonly currencies: readonly {
      readonly days: readonly {
        readonly date: string;
        readonly subscriptions: { readonly trialing: number } | null;
      }[];
    }[];
  }
  const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

  test('are those at the end of each day, from the first day that was counted', async () => {
    await assertOverviewExact(till, sql);
    const trialing = async (query = '') => {
      const { currencies } = await till.get<Days>(`/overview?currency=sek${query}`);
      return currencies[0]?.days.map(({ subscriptions }) => subscriptions?.trialing ?? null) ?? [];
    };
    const plan = await createPlan(till, { currency: 'sek' });
    await createSubscription(till, { planId: plan.id, trialPeriodDays: 10 });
    await till.settle();
    // Its events are of three days ago, and those of the next subscription of yesterday.
    const move = (days: number) =>
      sql(
        `update till.events set created_at = created_at - make_interval(days => $1)
         where position > (select position from till.overview_progress)`,
        [days],
      );
    await move(3);
    await till.get('/overview');
    await createSubscription(till, { planId: plan.id, trialPeriodDays: 10 });
    await createSubscription(till, { planId: plan.id, trialPeriodDays: 10 });
    await till.settle();
    await move(1);
    await sql(`update till.overview_progress set since = $1`, [dayBefore(4)]);
    assert.deepEqual((await trialing()).slice(-6), [null, 0, 1, 1, 3, 3]);
    assert.deepEqual(await trialing(`&from=${dayBefore(4)}&to=${dayBefore(2)}`), [0, 1, 1]);
    await assertOverviewExact(till, sql);
  });
});
