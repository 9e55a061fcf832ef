import type { Sql } from '../backend.ts';

/** The failure that the API shows. */
const isFailed = `failure is not null and intent_status <> 'succeeded'`;
/** The amount that the API shows. */
const disputedAmount = `case when dispute ->> 'currency' = currency then (dispute ->> 'amount')::bigint end`;
const isWithdrawn = `dispute ->> 'status' in ('needs_response', 'under_review', 'lost')`;

const payments = `
  select day, currency, metric, count, amount
  from (
    select (created_at at time zone $1)::date::text as day, currency, count(*) as payments,
      sum(amount_received) as received,
      count(*) filter (where status = 'succeeded') as succeeded,
      sum(amount_received) filter (where status = 'succeeded') as succeeded_amount,
      count(*) filter (where ${isFailed}) as failed, sum(amount) filter (where ${isFailed}) as failed_amount,
      count(*) filter (where amount_refunded > 0) as refunded, sum(amount_refunded) as refunded_amount,
      count(*) filter (where dispute is not null) as disputed, sum(${disputedAmount}) as disputed_amount,
      count(*) filter (where ${isWithdrawn}) as withdrawn,
      sum(${disputedAmount}) filter (where ${isWithdrawn}) as withdrawn_amount
    from till.payments group by 1, 2
  ) as days
  cross join lateral (values
    ('payments', payments, received), ('payments.succeeded', succeeded, succeeded_amount),
    ('payments.failed', failed, failed_amount), ('payments.refunded', refunded, refunded_amount),
    ('payments.disputed', disputed, coalesce(disputed_amount, 0)),
    ('payments.withdrawn', withdrawn, coalesce(withdrawn_amount, 0))) as cells (metric, count, amount)
  where count > 0`;

/** Reservations are not refunds yet, and a release returns money that was never received. */
const refunds = `
  select (created_at at time zone $1)::date::text, currency, 'refunds.' || status, count(*), sum(amount)
  from till.refunds where processor_refund_id is not null and kind = 'refund' group by 1, 2, 3`;

/** Every plan of every subscription, with its quantity. */
const items = `
  select subscriptions.id, customer_id, subscriptions.status, quantity, amount, currency, interval, interval_count
  from till.subscriptions join till.plans on plans.id = subscriptions.plan_id
  union all
  select subscriptions.id, customer_id, subscriptions.status, (item ->> 'quantity')::bigint, amount, currency,
    interval, interval_count
  from till.subscriptions cross join jsonb_array_elements(add_ons) as item
    join till.plans on plans.id = (item ->> 'planId')::uuid`;

const subscriptions = `
  select 'infinity', currency, 'subscriptions.' || subscriptions.status, count(*), 0
  from till.subscriptions join till.plans on plans.id = plan_id
  where subscriptions.status in ('active', 'trialing', 'past_due', 'unpaid') group by currency, subscriptions.status
  union all
  select 'infinity', currency, 'recurring.' || status || '.' || interval || '.' || interval_count, count(*),
    sum(amount::numeric * quantity)
  from (${items}) as items
  where status in ('active', 'past_due') group by currency, status, interval, interval_count`;

const intervalsPerYear = `case interval when 'day' then 365 when 'week' then 52 when 'month' then 12 else 1 end`;

/**
 * The monthly amount of each subscription is rounded half up. With 60 digits, the error of a sum of fractions is so
 * small that it never changes how the sum is rounded.
 */
const subscribers = `
  select customer_id, currency, sum(amount) as amount
  from (
    select customer_id, currency, floor(
      sum(round(amount::numeric * quantity * ${intervalsPerYear}, 60) / (12 * interval_count)) + 0.5 + 1e-50) as amount
    from (${items}) as items where status in ('active', 'past_due')
    group by id, customer_id, currency
  ) as amounts
  group by customer_id, currency having sum(amount) <> 0`;

/** The numbers of the overview that rows determine, without any code of Till. */
export async function countCells(sql: Sql, timeZone = 'UTC'): Promise<readonly string[]> {
  const rows = await sql<{ cell: string }>(
    `select concat_ws(' ', day, currency, metric, count, amount) as cell
     from (${payments} union all ${refunds} union all ${subscriptions}
       union all select 'infinity', currency, 'mrr.total', count(*), sum(amount) from (${subscribers}) as subscribers
         group by currency) as cells`,
    [timeZone],
  );
  return rows.map(({ cell }) => cell).sort();
}

/** What each customer's subscriptions charge in a month, where it is not zero. */
export async function countSubscribers(sql: Sql): Promise<readonly string[]> {
  const rows = await sql<{ subscriber: string }>(
    `select concat_ws(' ', customer_id, currency, amount) as subscriber from (${subscribers}) as subscribers`,
  );
  return rows.map(({ subscriber }) => subscriber).sort();
}
