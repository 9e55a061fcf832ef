import type { Queryable } from '#core/platform/postgres.ts';

/** A listing of the processor's events in progress. It covers all events from `since` to `until`. */
export interface EventListing {
  readonly since: Date;
  /** When the listing began. It may miss later events, so the next listing starts here. */
  readonly until: Date;
  /** Where to continue. Null at the beginning. */
  readonly cursor: string | null;
}

export interface RecoveryPosition {
  readonly readUntil: Date | null;
  /** The listing that an earlier run did not finish. */
  readonly listing: EventListing | null;
  /** Since when commits may be lost, after a failover or a restore. Null if recovery has passed since. */
  readonly lostSince: Date | null;
  readonly databaseNow: Date;
}

/** All SQL for till.recovery. */
export class RecoveryStore {
  /** Reads the position at the beginning of a run. In a new history, also remembers since when commits may be lost. */
  async begin(tx: Queryable): Promise<RecoveryPosition> {
    const [row] = await tx.query<Omit<RecoveryPosition, 'listing'> & Nullable<EventListing>>(
      `with noted as (
         update till.recovery set history = coalesce(history, till.history()), lost_since =
           case when history is not null then coalesce(least(lost_since, listing_since, read_until), now()) end
         where history is distinct from till.history() returning lost_since)
       select read_until as "readUntil", listing_since as since, listing_until as until, listing_cursor as cursor,
         (select lost_since from noted) as "lostSince", now() as "databaseNow"
       from till.recovery`,
    );
    if (row === undefined) throw new Error('till.recovery has no row');
    const { readUntil, lostSince, databaseNow, since, until, cursor } = row;
    const listing = since === null || until === null ? null : { since, until, cursor };
    return { readUntil, listing, lostSince, databaseNow };
  }

  /** Records that nothing is missing in the current history any more. */
  async finishHistory(tx: Queryable): Promise<void> {
    await tx.query('update till.recovery set history = till.history(), lost_since = null');
  }

  /** Stores the progress of a listing. */
  async saveListing(db: Queryable, { since, until, cursor }: EventListing): Promise<void> {
    await db.query('update till.recovery set listing_since = $1, listing_until = $2, listing_cursor = $3', [
      since,
      until,
      cursor,
    ]);
  }

  /** Moves the position after a complete listing. */
  async finishListing(db: Queryable, readUntil: Date): Promise<void> {
    await db.query(
      `update till.recovery set read_until = $1, listing_since = null, listing_until = null, listing_cursor = null`,
      [readUntil],
    );
  }
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };
