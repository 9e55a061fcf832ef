import type { Queryable, Transaction } from '#core/platform/postgres.ts';

/** A window whose counter differs from the sum of its events. */
export interface WrongCounter {
  readonly customerId: string;
  readonly meterId: string;
  readonly startsAt: Date;
  /** `startsAt` to the microsecond, which identifies the counter. */
  readonly exactStart: string;
  /** The sums are texts, because they may be above 2^53. */
  readonly used: string;
  readonly sum: string;
}

interface Slice {
  /** Customers after this id. Null for the first ones. */
  readonly after: string | null;
  readonly limit: number;
}

/**
 * The first day since which no day was dropped, whatever USAGE_RETENTION_DAYS was then. Days after `today - 36` are
 * never dropped, and a dropped one is never created again. So it is the end of the last gap before them.
 */
const keptSince = `(
    select coalesce(min(day), today - 35)::timestamp at time zone 'utc' from (
      select day, row_number() over (order by day desc)::integer as place from (
        select to_date(right(relname, 8), 'YYYYMMDD') as day
        from pg_catalog.pg_class join pg_catalog.pg_inherits on inhrelid = pg_class.oid
        where inhparent = 'till.usage_events'::regclass and relname ~ '^usage_events_[0-9]{8}$') as days
      where day < today - 35) as earlier
    where day + place = today - 35)`;

/** The SQL that computes counters again. */
export class UsageCheckStore {
  /** The next customers that have counters, in the order of their ids. */
  async listCustomers(db: Queryable, { after, limit }: Slice): Promise<readonly string[]> {
    const rows = await db.query<{ id: string }>(
      `select distinct customer_id as id from till.usage_counters
       where $1::uuid is null or customer_id > $1 order by customer_id limit $2`,
      [after, limit],
    );
    return rows.map(({ id }) => id);
  }

  /** Locks the counters, so that the next statement sees everything that they have counted. */
  async lock(tx: Transaction, customerIds: readonly string[]): Promise<void> {
    await tx.query(
      `select from till.usage_counters where customer_id = any($1)
       order by customer_id, meter_id, starts_at for update`,
      [customerIds],
    );
  }

  /**
   * Only windows whose events are all kept: they begin on or after the day `since`, and no day was dropped from then
   * on. A day cannot be dropped while the statement runs.
   */
  findWrong(db: Queryable, customerIds: readonly string[], since: Date): Promise<readonly WrongCounter[]> {
    return db.query(
      `with kept as materialized (
         select greatest($2, ${keptSince}) as since from (select (now() at time zone 'utc')::date as today) as clock)
       select held.customer_id as "customerId", held.meter_id as "meterId", date_trunc('second', held.starts_at) as "startsAt",
         held.starts_at::text as "exactStart", held.used::text,
         coalesce(counted.sum, 0)::text as sum
       from till.usage_counters as held
       left join (
         select customer_id, meter_id, window_start, sum(quantity) as sum from till.usage_events
         where customer_id = any($1) and window_start >= $2 group by 1, 2, 3
       ) as counted on counted.customer_id = held.customer_id and counted.meter_id = held.meter_id
         and counted.window_start = held.starts_at
       where held.customer_id = any($1) and held.starts_at >= (select since from kept) and held.used <> coalesce(counted.sum, 0)
       order by held.customer_id, held.meter_id, held.starts_at`,
      [customerIds, since],
    );
  }

  async correct(tx: Transaction, { customerId, meterId, exactStart, sum }: WrongCounter): Promise<void> {
    await tx.query(
      `update till.usage_counters set used = $4 where customer_id = $1 and meter_id = $2 and starts_at = $3`,
      [customerId, meterId, exactStart, sum],
    );
  }
}
