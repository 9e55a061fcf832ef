import { newId } from '#core/platform/id.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { CountedMove, StoredMove } from './move.ts';
import type { DayRange } from './overview-range.ts';

interface MoveSelection extends DayRange {
  readonly metric: string;
  readonly currency: string;
}

/** The moves of a page are older than this one. */
type MovePlace = Pick<StoredMove, 'day' | 'id'>;

/** All SQL for the moves that the numbers of the overview add up. */
export class MoveStore {
  async add(tx: Queryable, moves: readonly CountedMove[]): Promise<void> {
    if (moves.length === 0) return;
    await tx.query(
      `insert into till.overview_moves (metric, currency, day, id, customer_id, subscription_id, amount)
       select * from unnest($1::text[], $2::text[], $3::date[], $4::uuid[], $5::uuid[], $6::uuid[], $7::numeric[])`,
      [
        moves.map(({ metric }) => metric),
        moves.map(({ currency }) => currency),
        moves.map(({ day }) => day),
        moves.map(({ createdAtMs }) => newId(new Date(createdAtMs))),
        moves.map(({ customerId }) => customerId),
        moves.map(({ subscriptionId }) => subscriptionId),
        moves.map(({ amount }) => amount.toString()),
      ],
    );
  }

  /** The same rule as in the cells: moves of days that have not begun in this time zone belong to its current day. */
  async moveBackToToday(tx: Queryable, timeZone: string): Promise<void> {
    const today = '(now() at time zone $1)::date';
    await tx.query(`update till.overview_moves set day = ${today} where day > ${today}`, [timeZone]);
  }

  /** Newest first. */
  list(
    db: Queryable,
    { metric, currency, from, to }: MoveSelection,
    before: MovePlace | undefined,
    limit: number,
  ): Promise<readonly StoredMove[]> {
    return db.query(
      `select id, day::text as day, customer_id as "customerId", subscription_id as "subscriptionId",
         amount::bigint as amount
       from till.overview_moves
       where metric = $1 and currency = $2 and day between $3 and $4
         and ($5::date is null or (day, id) < ($5::date, $6::uuid))
       order by day desc, id desc limit $7`,
      [metric, currency, from, to, before?.day ?? null, before?.id ?? null, limit],
    );
  }
}
