import type { Queryable } from '../platform/postgres.ts';

/** A listing of the processor's events in progress. It covers all events from `since` to `until`. */
export interface Listing {
  readonly since: Date;
  /** When the listing began. It may miss later events, so the next listing starts here. */
  readonly until: Date;
  /** Where to continue. Null at the beginning. */
  readonly cursor: string | null;
}

export interface RecoveryLease {
  readonly readUntil: Date | null;
  /** The listing that an earlier run did not finish. */
  readonly listing: Listing | null;
  readonly databaseNow: Date;
}

interface LeaseHolder {
  /** Identifies the run. */
  readonly owner: number;
  /** The number of the owner lock of its process. */
  readonly ownerLock: number;
}

/** All SQL for the recovery: its lease and its progress. */
export class RecoveryStore {
  /**
   * Takes the lease if it is free or `from` holds it. Undefined if another run holds it. After a failover or a restore
   * the lease is free, because the progress of its run may be lost.
   */
  async lease(
    db: Queryable,
    { owner, ownerLock }: LeaseHolder,
    leaseMs: number,
    from?: LeaseHolder,
  ): Promise<RecoveryLease | undefined> {
    const rows = await db.query<LeaseRow>(
      `update till.recovery set owner = $1, owner_lock = $2, leased_until = now() + make_interval(secs => $3),
         history = till.history()
       where name = 'events' and (leased_until <= now() or owner = $4 or history is distinct from till.history())
       returning read_until as "readUntil", listing_since as since, listing_until as until, listing_cursor as cursor,
         now() as "databaseNow"`,
      [owner, ownerLock, leaseMs / 1_000, from?.owner ?? null],
    );
    return rows[0] && toLease(rows[0]);
  }

  /** The run that currently holds the lease. */
  async findHolder(db: Queryable): Promise<LeaseHolder | undefined> {
    const rows = await db.query<LeaseHolder>(
      `select owner, owner_lock as "ownerLock" from till.recovery
       where name = 'events' and leased_until > now() and owner is not null`,
    );
    return rows[0];
  }

  /** False if the lease expired and another run has it. */
  renew(db: Queryable, owner: number, leaseMs: number): Promise<boolean> {
    return this.#update(db, owner, 'leased_until = now() + make_interval(secs => $2)', leaseMs / 1_000);
  }

  /** Stores the progress of a listing. False if another run has the lease. */
  saveListing(db: Queryable, owner: number, { since, until, cursor }: Listing): Promise<boolean> {
    const columns = 'listing_since = $2, listing_until = $3, listing_cursor = $4';
    return this.#update(db, owner, columns, since, until, cursor);
  }

  /** Moves the position after a complete listing. False if another run has the lease. */
  finishListing(db: Queryable, owner: number, readUntil: Date): Promise<boolean> {
    const columns = 'read_until = $2, listing_since = null, listing_until = null, listing_cursor = null';
    return this.#update(db, owner, columns, readUntil);
  }

  async release(db: Queryable, owner: number): Promise<void> {
    await this.#update(db, owner, 'owner = null, owner_lock = null, leased_until = now()');
  }

  async #update(
    db: Queryable,
    owner: number,
    columns: string,
    ...values: readonly unknown[]
  ): Promise<boolean> {
    const rows = await db.query(
      `update till.recovery set ${columns} where name = 'events' and owner = $1 and history = till.history()
       returning 1 as updated`,
      [owner, ...values],
    );
    return rows.length > 0;
  }
}

interface LeaseRow extends Nullable<Listing> {
  readonly readUntil: Date | null;
  readonly databaseNow: Date;
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

function toLease({ readUntil, databaseNow, since, until, cursor }: LeaseRow): RecoveryLease {
  const listing = since === null || until === null ? null : { since, until, cursor };
  return { readUntil, listing, databaseNow };
}
