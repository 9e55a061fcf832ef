import type { Queryable } from '#core/platform/postgres.ts';
import { type Cell, now, subscriptionMetrics } from './cells.ts';
import type { CurrentSubscriber } from './move.ts';
import type { Subscriber } from './subscription-moves.ts';

/** How far the events are counted. */
export interface OverviewProgress {
  /** Null if the older rows are not counted yet. */
  readonly position: number | null;
  readonly asOf: Date;
  /** The first day whose changes are known. */
  readonly since: string;
  /** The time zone of the days that are counted. */
  readonly timeZone: string;
}

export interface CellRange {
  readonly from: string;
  readonly to: string;
  readonly currency: string | undefined;
}

/** The value of `day` in cells with the sum of all changes after the range. */
export const later = 'later';

const progressColumns = `position, as_of as "asOf", since::text as since,
  time_zone as "timeZone"`;

/** All SQL for the numbers of the overview. */
export class OverviewStore {
  async progress(db: Queryable): Promise<OverviewProgress> {
    const [row] = await db.query<OverviewProgress>(`select ${progressColumns} from till.overview_progress`);
    if (row === undefined) throw new Error('the progress of the overview is missing');
    return row;
  }

  /** One process at a time changes the cells. Undefined if another process changes them, because this does not wait. */
  async lock(tx: Queryable, { waits }: { readonly waits: boolean }): Promise<OverviewProgress | undefined> {
    const [row] = await tx.query<OverviewProgress>(
      `select ${progressColumns} from till.overview_progress for update ${waits ? '' : 'skip locked'}`,
    );
    return row;
  }

  async move(tx: Queryable, position: number, asOf: Date): Promise<void> {
    await tx.query('update till.overview_progress set position = $1, as_of = greatest(as_of, $2)', [
      position,
      asOf,
    ]);
  }

  /**
   * The state after all rows were counted, as this transaction sees them. If there are no cells of this release yet,
   * changes are known from now on.
   */
  async moveToSnapshot(tx: Queryable, position: number, timeZone: string): Promise<void> {
    await tx.query(
      `update till.overview_progress set position = $1, as_of = case when position is null then now() else as_of end,
         since = case when exists (select from till.overview_cells) then since
           else (now() at time zone $2)::date end,
         time_zone = $2`,
      [position, timeZone],
    );
  }

  /**
   * Moves the changes of days that have not begun in this time zone to its current day: they have already happened, and
   * no range contains future days.
   */
  async moveBackToToday(tx: Queryable, timeZone: string): Promise<void> {
    const today = '(now() at time zone $1)::date';
    await tx.query(
      `with ahead as (
         delete from till.overview_cells
         where day > ${today} and day < '${now}' and metric ~ '${subscriptionMetrics.source}'
         returning currency, metric, count, amount)
       insert into till.overview_cells as cells (day, currency, metric, count, amount)
       select ${today}, currency, metric, sum(count), sum(amount) from ahead group by currency, metric
       on conflict (day, currency, metric) do update
       set count = cells.count + excluded.count, amount = cells.amount + excluded.amount`,
      [timeZone],
    );
    await tx.query(`update till.overview_progress set since = least(since, ${today})`, [timeZone]);
  }

  /** Records that all changes since an earlier day are counted. */
  async moveSince(db: Queryable, day: string): Promise<void> {
    await db.query('update till.overview_progress set since = least(since, $1::date)', [day]);
  }

  /** Adds to the cells. */
  async add(tx: Queryable, cells: readonly Cell[]): Promise<void> {
    if (cells.length === 0) return;
    await tx.query(
      `insert into till.overview_cells as cells (day, currency, metric, count, amount)
       select * from unnest($1::date[], $2::text[], $3::text[], $4::bigint[], $5::numeric[])
       on conflict (day, currency, metric) do update
       set count = cells.count + excluded.count, amount = cells.amount + excluded.amount`,
      [
        cells.map(({ day }) => day),
        cells.map(({ currency }) => currency),
        cells.map(({ metric }) => metric),
        cells.map(({ count }) => count),
        cells.map(({ amount }) => amount.toString()),
      ],
    );
  }

  async findSubscribers(tx: Queryable, customerIds: readonly string[]): Promise<readonly Subscriber[]> {
    const rows = await tx.query<Omit<Subscriber, 'amount'> & { readonly amount: string }>(
      `select customer_id as "customerId", currency, monthly_amount::text as amount, was_subscriber as "wasSubscriber"
       from till.overview_subscribers where customer_id = any($1)`,
      [customerIds],
    );
    return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
  }

  /** Stores the subscribers that differ. `wasSubscriber` never becomes false again. */
  async putSubscribers(tx: Queryable, subscribers: readonly Subscriber[]): Promise<void> {
    if (subscribers.length === 0) return;
    await tx.query(
      `insert into till.overview_subscribers as stored (customer_id, currency, monthly_amount, was_subscriber)
       select * from unnest($1::uuid[], $2::text[], $3::numeric[], $4::boolean[])
       on conflict (customer_id, currency) do update set monthly_amount = excluded.monthly_amount,
         was_subscriber = stored.was_subscriber or excluded.was_subscriber
       where stored.monthly_amount <> excluded.monthly_amount or (excluded.was_subscriber and not stored.was_subscriber)`,
      [
        subscribers.map(({ customerId }) => customerId),
        subscribers.map(({ currency }) => currency),
        subscribers.map(({ amount }) => amount.toString()),
        subscribers.map(({ wasSubscriber }) => wasSubscriber),
      ],
    );
  }

  /** The subscribers of a currency, by their ids, the newest customers first. */
  listSubscribers(
    db: Queryable,
    currency: string,
    before: string | null,
    limit: number,
  ): Promise<readonly CurrentSubscriber[]> {
    return db.query(
      `select customer_id as id, monthly_amount::bigint as "monthlyAmount" from till.overview_subscribers
       where currency = $1 and monthly_amount > 0 and ($2::uuid is null or customer_id < $2)
       order by customer_id desc limit $3`,
      [currency, before, limit],
    );
  }

  /** The cells that rows alone determine: all except the daily changes. */
  async readComputable(db: Queryable): Promise<readonly Cell[]> {
    return toCells(
      await db.query(
        `select day::text as day, currency, metric, count, amount::text as amount from till.overview_cells
         where day = '${now}' or metric !~ '${subscriptionMetrics.source}'`,
      ),
    );
  }

  /** The cells of a range, the numbers about now, and for these the sums of their changes after the range. */
  async read(db: Queryable, { from, to, currency }: CellRange): Promise<readonly Cell[]> {
    return toCells(
      await db.query(
        `select day::text as day, currency, metric, count, amount::text as amount from till.overview_cells
         where day between $1 and $2 and ($3::text is null or currency = $3)
         union all
         select '${now}', currency, metric, count, amount::text from till.overview_cells
         where day = '${now}' and ($3::text is null or currency = $3)
         union all
         select '${later}', currency, metric, sum(count)::bigint, sum(amount)::text from till.overview_cells
         where day > $2 and day < '${now}' and metric ~ '${subscriptionMetrics.source}' and ($3::text is null or currency = $3)
         group by currency, metric`,
        [from, to, currency ?? null],
      ),
    );
  }
}

function toCells(rows: readonly (Omit<Cell, 'amount'> & { readonly amount: string })[]): readonly Cell[] {
  return rows.map(({ amount, ...cell }) => ({ ...cell, amount: BigInt(amount) }));
}
