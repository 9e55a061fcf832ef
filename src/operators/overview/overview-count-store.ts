import type { Queryable } from '#core/platform/postgres.ts';
import { type Cell, now } from './cells.ts';
import { countedStatuses, recurringStatuses, withdrawnStatuses } from './contributions.ts';

/** The contribution of some rows to the overview. */
interface CountedRows {
  readonly cells: readonly Cell[];
  /** The last row. Undefined if there was none. */
  readonly lastId: string | undefined;
}

/** A table whose rows the overview counts. */
export interface CountedTable {
  count(db: Queryable, rows: RowRange): Promise<CountedRows>;
}

interface RowRange {
  readonly afterId: string | undefined;
  readonly limit: number;
  readonly timeZone: string;
}

const dayOfRow = '(created_at at time zone $3)::date';
const texts = (values: readonly string[]) => values.map((value) => `'${value}'`).join(', ');

/** The failure that the API shows. */
const isFailed = `failure is not null and intent_status <> 'succeeded'`;
/** The amount that the API shows. */
const disputedAmount = `case when dispute ->> 'currency' = currency then (dispute ->> 'amount')::bigint end`;
const isWithdrawn = `dispute ->> 'status' in (${texts(withdrawnStatuses)})`;

const payments = countedTable(
  'select id, created_at, amount, amount_received, amount_refunded, currency, intent_status, status, failure, dispute',
  'from till.payments where true',
  `select day::text as day, currency, metric, count, amount::text as amount
   from (
     select ${dayOfRow} as day, currency, count(*) as payments, sum(amount_received) as received,
       count(*) filter (where status = 'succeeded') as succeeded,
       sum(amount_received) filter (where status = 'succeeded') as succeeded_amount,
       count(*) filter (where ${isFailed}) as failed, sum(amount) filter (where ${isFailed}) as failed_amount,
       count(*) filter (where amount_refunded > 0) as refunded, sum(amount_refunded) as refunded_amount,
       count(*) filter (where dispute is not null) as disputed, sum(${disputedAmount}) as disputed_amount,
       count(*) filter (where ${isWithdrawn}) as withdrawn, sum(${disputedAmount}) filter (where ${isWithdrawn}) as withdrawn_amount
     from batch group by 1, 2
   ) as days
   cross join lateral (values
     ('payments', payments, received), ('payments.succeeded', succeeded, succeeded_amount),
     ('payments.failed', failed, failed_amount), ('payments.refunded', refunded, refunded_amount),
     ('payments.disputed', disputed, coalesce(disputed_amount, 0)),
     ('payments.withdrawn', withdrawn, coalesce(withdrawn_amount, 0))) as cells (metric, count, amount)
   where count > 0`,
);

const intervalsPerYear = `case interval when 'day' then 365 when 'week' then 52 when 'month' then 12 else 1 end`;

/** Reservations are not refunds yet, and a release returns money that was never received. */
const refunds = countedTable(
  'select id, created_at, amount, currency, status',
  `from till.refunds where processor_refund_id is not null and kind = 'refund'`,
  `select ${dayOfRow}::text as day, currency, 'refunds.' || status as metric, count(*) as count,
     sum(amount)::text as amount
   from batch group by 1, 2, 3`,
);

const subscriptions = countedTable(
  `select subscriptions.id, subscriptions.status, quantity, add_ons, plans.amount, plans.currency, plans.interval,
     plans.interval_count`,
  'from till.subscriptions join till.plans on plans.id = subscriptions.plan_id where true',
  `select '${now}' as day, currency, 'subscriptions.' || status as metric, count(*) as count, '0' as amount
   from batch where status in (${texts(countedStatuses)}) group by currency, status
   union all
   select '${now}', currency, 'recurring.' || status || '.' || interval || '.' || interval_count, count(*),
     sum(amount::numeric * quantity)::text
   from (
     select status, quantity, amount, currency, interval, interval_count from batch
     union all
     select status, (item ->> 'quantity')::bigint, plans.amount, plans.currency, plans.interval, plans.interval_count
     from batch cross join jsonb_array_elements(add_ons) as item
       join till.plans on plans.id = (item ->> 'planId')::uuid
     where add_ons <> '[]'
   ) as items
   where status in (${texts(recurringStatuses)}) group by currency, status, interval, interval_count`,
  'subscriptions.id',
);

/**
 * Counts the rows themselves, for numbers that no event has counted. It is `contributionsOf` in SQL, for many rows.
 * Tests compare the two.
 */
export const countedTables: readonly CountedTable[] = [payments, refunds, subscriptions];

/** A table is counted in the order of ids, some rows with each statement, so that no statement takes long. */
function countedTable(select: string, from: string, count: string, id = 'id'): CountedTable {
  const text = `
    with batch as materialized (
      ${select} ${from} and ($1::uuid is null or ${id} > $1) order by ${id} limit $2
    )
    select day, currency, metric, count, amount, (select id from batch order by id desc limit 1) as "lastId"
    from (${count}) as counted
    union all
    select null, null, null, 0, '0', (select id from batch order by id desc limit 1) where $3::text is not null`;
  return {
    count: async (db, { afterId, limit, timeZone }) => {
      const rows = await db.query<CountRow>(text, [afterId ?? null, limit, timeZone]);
      const cells = rows.flatMap(({ day, currency, metric, count, amount }) =>
        day === null ? [] : [{ day, currency, metric, count, amount: BigInt(amount) }],
      );
      return { cells, lastId: rows[0]?.lastId ?? undefined };
    },
  };
}

type CountRow = { readonly count: number; readonly amount: string; readonly lastId: string | null } & (
  | { readonly day: string; readonly currency: string; readonly metric: string }
  | { readonly day: null; readonly currency: null; readonly metric: null }
);

/** A customer's monthly amount by the rows. */
interface CountedSubscriber {
  readonly customerId: string;
  readonly currency: string;
  readonly amount: bigint;
  /** In a first count: whether the customer has paid an invoice of a subscription that is no longer revenue. */
  readonly hasPaid: boolean;
}

/**
 * Counts the monthly amounts of some customers, in the order of their ids, with every currency in which they have a
 * subscription or `stored` amounts. It is `monthlyAmountsOf` in SQL: an amount is rounded half up. With 60 digits, the
 * error of a sum of fractions is so small that it never changes how the sum is rounded.
 */
export async function countSubscribers(
  db: Queryable,
  { afterId, limit, isFirst }: Pick<RowRange, 'afterId' | 'limit'> & { readonly isFirst: boolean },
): Promise<readonly CountedSubscriber[]> {
  const rows = await db.query<Omit<CountedSubscriber, 'amount'> & { readonly amount: string }>(
    `with batch as materialized (
       select distinct customer_id from till.subscriptions where $1::uuid is null or customer_id > $1
       order by customer_id limit $2
     ),
     items as (
       select subscriptions.id, customer_id, subscriptions.status, quantity, plan_id, processor_subscription_id
       from till.subscriptions join batch using (customer_id)
       union all
       select subscriptions.id, customer_id, subscriptions.status, (item ->> 'quantity')::bigint,
         (item ->> 'planId')::uuid, processor_subscription_id
       from till.subscriptions join batch using (customer_id) cross join jsonb_array_elements(add_ons) as item
       where add_ons <> '[]'
     ),
     amounts as (
       select customer_id, currency,
         floor(sum(case when status in (${texts(recurringStatuses)}) then
           round(amount::numeric * quantity * ${intervalsPerYear}, 60) / (12 * interval_count) else 0 end)
           + 0.5 + 1e-50) as amount,
         bool_or($3 and status in ('unpaid', 'canceled') and exists (select from till.invoices
           where invoices.processor_subscription_id = items.processor_subscription_id and invoices.status = 'paid'
             and amount_paid > 0)) as has_paid
       from items join till.plans on plans.id = items.plan_id
       group by items.id, customer_id, currency
       union all
       select customer_id, currency, 0, false from till.overview_subscribers join batch using (customer_id)
     )
     select customer_id as "customerId", currency, sum(amount)::text as amount, bool_or(has_paid) as "hasPaid"
     from amounts group by 1, 2 order by 1, 2`,
    [afterId ?? null, limit, isFirst],
  );
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
}
