import { randomInt } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { isGone } from '#core/platform/owner-lock.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { type JobName, JobStore } from './job-store.ts';

/** How long a run that does not renew its lease blocks other runs, unless they detect that its process is gone. */
const leaseMs = 60_000;
/** The interval between renewals of the lease. Several renewals can fail before the lease expires. */
const heartbeatMs = 5_000;
/** The delay between two calls to the processor: at most ten a second, so that they do not delay API requests. */
const callDelayMs = 100;

type Work = (tx: Transaction) => Promise<void>;

/** A run that holds its job, and renews its lease until the release. */
export interface JobRun<Begun> {
  readonly begun: Begun;
  /** Aborted when the run is stopped or has lost the job. */
  readonly signal: AbortSignal;
  /** Throws if the run has lost the job. Every write of a run requires it in the same transaction. */
  requireJob(tx: Queryable): Promise<void>;
  /** Runs `work` in a transaction that requires the job. */
  write(work: Work): Promise<void>;
  /** The last write. It releases the job in the same transaction. */
  end(work: Work): Promise<void>;
  release(): Promise<void>;
}

/** Work that one run at a time does, among all processes. */
export class Job {
  readonly #name: JobName;
  readonly #store: JobStore;
  readonly #context: Pick<Platform, 'database' | 'ownerLock' | 'logger'>;
  /** The runs of this process that have not ended. */
  readonly #ownRuns = new Set<number>();

  constructor(name: JobName, context: Pick<Platform, 'database' | 'ownerLock' | 'logger'>) {
    this.#name = name;
    this.#store = new JobStore(name);
    this.#context = context;
  }

  /** Undefined if another run holds the job. `begin` is part of the transaction that takes it. */
  async take<Begun extends object>(
    begin: (tx: Transaction) => Promise<Begun>,
    stop?: AbortSignal,
  ): Promise<JobRun<Begun> | undefined> {
    const { database, ownerLock } = this.#context;
    const run = randomInt(1, 2 ** 31 - 1);
    try {
      const begun = await database.transaction(async (tx) => {
        if (!(await this.endAbandoned(tx))) return;
        this.#ownRuns.add(run);
        await this.#store.take(tx, run, ownerLock.owner, leaseMs);
        return begin(tx);
      });
      return begun && this.#start(run, begun, stop);
    } catch (error) {
      this.#ownRuns.delete(run);
      throw error;
    }
  }

  /**
   * Whether the job is free until the end of the transaction. A run loses it when its lease has expired, or at once
   * when its process is gone, or when it has ended in this process and could not release it.
   */
  async endAbandoned(tx: Transaction): Promise<boolean> {
    const { ownerLock, logger } = this.#context;
    const holder = await this.#store.lock(tx);
    if (holder === undefined || holder.run === null) return true;
    if (holder.hasLease) {
      const isOwn = holder.ownerLock === ownerLock.owner;
      if (isOwn ? this.#ownRuns.has(holder.run) : !(await isGone(tx, holder.ownerLock))) return false;
      logger.warn(`stale ${this.#name} lease taken over`);
    }
    await this.#store.release(tx, holder.run);
    return true;
  }

  #start<Begun>(run: number, begun: Begun, stop: AbortSignal | undefined): JobRun<Begun> {
    const { database, logger } = this.#context;
    const lost = new AbortController();
    const requireJob = async (db: Queryable) => {
      if (!(await this.#store.renew(db, run, leaseMs)))
        lost.abort(new Error(`another run took over the ${this.#name}`));
      lost.signal.throwIfAborted();
    };
    const warn = (error: unknown) => {
      if (!lost.signal.aborted) logger.warn({ err: error }, `${this.#name} lease not renewed or released`);
    };
    const heartbeat = setInterval(() => void requireJob(database).catch(warn), heartbeatMs);
    const write = (work: Work) =>
      database.transaction(async (tx) => {
        await requireJob(tx);
        await work(tx);
      });
    return {
      begun,
      signal: AbortSignal.any([lost.signal, ...(stop === undefined ? [] : [stop])]),
      requireJob,
      write,
      end: (work) =>
        write(async (tx) => {
          await work(tx);
          await this.#store.release(tx, run);
        }),
      release: async () => {
        clearInterval(heartbeat);
        this.#ownRuns.delete(run);
        await this.#store.release(database, run).catch(warn);
      },
    };
  }
}

/** Waits between two calls to the processor, and ends a run that was stopped or lost its job. */
export async function pause({ signal }: Pick<JobRun<unknown>, 'signal'>): Promise<void> {
  await setTimeout(callDelayMs, undefined, { signal }).catch(() => {});
  signal.throwIfAborted();
}
