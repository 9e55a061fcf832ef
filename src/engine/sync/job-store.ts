import type { Queryable, Transaction } from '#core/platform/postgres.ts';

export type JobName = 'recovery' | 'resync' | 'import' | 'backfill';

interface JobHolder {
  /** Identifies the run. Null if no run holds the job. */
  readonly run: number | null;
  /** The number of the owner lock of its process. */
  readonly ownerLock: number;
  /** False if its lease has expired, or after a failover or a restore: what it has recorded may be lost. */
  readonly hasLease: boolean;
}

/** All SQL for till.jobs. */
export class JobStore {
  readonly #name: JobName;

  constructor(name: JobName) {
    this.#name = name;
  }

  /** Locks the job until the end of the transaction. */
  async lock(tx: Transaction): Promise<JobHolder | undefined> {
    const rows = await tx.query<JobHolder>(
      `select run, owner_lock as "ownerLock", leased_until > now() and history = till.history() as "hasLease"
       from till.jobs where name = $1 for update`,
      [this.#name],
    );
    return rows[0];
  }

  async take(tx: Transaction, run: number, ownerLock: number, leaseMs: number): Promise<void> {
    await tx.query(
      `update till.jobs set run = $2, owner_lock = $3, leased_until = now() + make_interval(secs => $4),
         history = till.history() where name = $1`,
      [this.#name, run, ownerLock, leaseMs / 1_000],
    );
  }

  /** False if the run has lost the job. In a transaction, no other run can take the job before the end. */
  async renew(db: Queryable, run: number, leaseMs: number): Promise<boolean> {
    const rows = await db.query(
      `update till.jobs set leased_until = now() + make_interval(secs => $3)
       where name = $1 and run = $2 and history = till.history() returning name`,
      [this.#name, run, leaseMs / 1_000],
    );
    return rows.length > 0;
  }

  /** Frees the job, if this run holds it. */
  async release(db: Queryable, run: number): Promise<void> {
    await db.query(
      `update till.jobs set run = null, owner_lock = null, leased_until = null, history = null
       where name = $1 and run = $2`,
      [this.#name, run],
    );
  }
}
