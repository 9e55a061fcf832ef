import { Failure } from '../errors.ts';
import { DeadlineError, withDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { currentReading, includes, laterOf, type Position } from './position.ts';
import { type Database, isOutage, type Queryable, type ReadOptions, type ReadRouter } from './postgres.ts';
import { ReplicaLag } from './replica-lag.ts';
import { SharedStatement } from './shared-statement.ts';
import { UnsuitableServerError } from './unavailable.ts';

/** The time that the API documents for waiting for the replica, including the wait for a connection. */
const waitMsMax = 1_000;
/** How often the replica is asked while requests wait. It usually takes a few milliseconds to follow. */
const pollDelayMs = 10;
/** Lists that a process serves within a second. Further requests read the primary at once. */
const waitingMax = 500;
/** No statement needs a second. Together with the same work on the primary, it stays below the 30 s of a request. */
const readMsMax = 5_000;
/** A server responds within milliseconds. */
const checkMsMax = 1_000;
/** For an attempt that starts at the end of the wait, because the replica has just reached the position. */
const attemptMsMin = 100;

/** Why a request that sent a position read the primary. */
type FallbackReason =
  /** The replica cannot be reached, or is no standby. */
  | 'unavailable'
  /** The replica lags more than the limit, or its lag is not known. */
  | 'lag'
  /** The replica did not reach the position of the request in time. */
  | 'position'
  /** The position, or the replica, belongs to another history than the primary: before a failover or a restart. */
  | 'history'
  /** The statement failed on the replica, for example because it conflicted with what was replayed. */
  | 'failed';

interface ReplicaParts {
  readonly primary: Database;
  /** Connections to the replica. */
  readonly replica: Database;
  readonly lagSecondsMax: number;
  readonly metrics: Pick<Metrics, 'replicaLag' | 'replicaFallbacks' | 'databaseReads'>;
  readonly logger: Logger;
}

type Attempt<T> = { readonly result: T; readonly at: Position } | { readonly reason: FallbackReason };

/**
 * Serves reads from a replica, if it has what the caller has seen and lags no more than the limit; otherwise from the
 * primary. The check and the read share a session, because an address may lead to several replicas. See decision 0029.
 */
export class Replica implements ReadRouter {
  readonly #parts: ReplicaParts;
  readonly #lagMsMax: number;
  readonly #lag: ReplicaLag;
  /** Why the replica is not used at the moment. It saves every request an attempt. */
  #obstacle: FallbackReason | undefined = 'lag';
  /** The lag when it was last known. */
  #known = { lagMs: 0, atMs: performance.now() };
  readonly #positions: SharedStatement<undefined, Position>;
  readonly #looks: SharedStatement<undefined, Position>;

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
    this.#lagMsMax = parts.lagSecondsMax * 1_000;
    this.#lag = new ReplicaLag(this.#lagMsMax);
    this.#positions = shared(() => readPrimary(parts.primary), { runningMax: 2 });
    this.#looks = shared(() => this.#look(), { gatherMs: pollDelayMs, waitingMax });
  }

  /** A position that includes everything that is committed by now. Concurrent callers share a statement. */
  position(): Promise<Position> {
    return this.#positions.add(undefined);
  }

  async read<T>(
    work: (db: Queryable) => Promise<T>,
    fromPrimary: () => Promise<T>,
    options: ReadOptions,
  ): Promise<T> {
    const { databaseReads, replicaFallbacks } = this.#parts.metrics;
    const reading = currentReading();
    if (reading === undefined) return fromPrimary();
    if (reading.position !== undefined) {
      const attempt = await this.#serve(reading.position, work, options);
      if ('result' in attempt) {
        databaseReads.inc({ target: 'replica' });
        reading.replicaAt = attempt.at;
        return attempt.result;
      }
      replicaFallbacks.inc({ reason: attempt.reason });
    }
    reading.hasReadPrimary = true;
    databaseReads.inc({ target: 'primary' });
    return fromPrimary();
  }

  /** Takes a sample of the primary, and finds out whether the replica can be used. */
  async watch(): Promise<void> {
    const atMs = performance.now();
    const [primary, replica] = await Promise.allSettled([
      withDeadline(this.position(), checkMsMax, 'reading the position of the primary'),
      withDeadline(this.#look(), checkMsMax, 'checking the replica'),
    ]);
    // From before the sample was taken, so that the lag is never understated.
    if (primary.status === 'fulfilled') this.#lag.add(primary.value, atMs);
    const nowMs = performance.now();
    const isReached = replica.status === 'fulfilled';
    const lagMs = isReached ? this.#lag.lagMs(replica.value, nowMs) : undefined;
    if (lagMs !== undefined) this.#known = { lagMs, atMs: nowMs };
    // While the lag is not known, it may be growing.
    const shownMs = lagMs ?? this.#known.lagMs + nowMs - this.#known.atMs;
    this.#parts.metrics.replicaLag.set(shownMs / 1_000);
    this.#note(isReached ? this.#obstacleAt(replica.value) : 'unavailable', {
      ...(isReached ? {} : { err: replica.reason }),
      lagSeconds: Math.round(shownMs / 1_000),
    });
  }

  async #serve<T>(
    position: Position,
    work: (db: Queryable) => Promise<T>,
    { seesOwnCommits = false }: ReadOptions,
  ): Promise<Attempt<T>> {
    if (this.#obstacle !== undefined) return { reason: this.#obstacle };
    const required = seesOwnCommits ? laterOf(position, await this.position()) : position;
    const startMs = performance.now();
    if (required === undefined || required.history !== this.#lag.history(startMs))
      return { reason: 'history' };
    const endMs = startMs + waitMsMax;
    for (;;) {
      const attempt = await this.#attempt(work, required, endMs);
      if ('result' in attempt || attempt.reason !== 'position') return attempt;
      if (!(await this.#reaches(required, endMs))) return attempt;
    }
  }

  /** Checks a session of the replica, and reads in it. */
  async #attempt<T>(
    work: (db: Queryable) => Promise<T>,
    required: Position,
    endMs: number,
  ): Promise<Attempt<T>> {
    const checked = Promise.withResolvers<void>();
    let isTooLate = false;
    const reading = this.#parts.replica.transaction(
      async (tx): Promise<Attempt<T>> => {
        const at = await readReplica(tx);
        checked.resolve();
        if (isTooLate) return { reason: 'unavailable' };
        const reason = this.#obstacleAt(at) ?? (includes(at, required) ? undefined : 'position');
        return reason === undefined ? { result: await work(tx), at } : { reason };
      },
      { startsWithRead: true },
    );
    try {
      const leftMs = Math.max(endMs - performance.now(), attemptMsMin);
      await withDeadline(Promise.race([checked.promise, reading]), leftMs, 'checking the replica');
      return await withDeadline(reading, readMsMax, 'reading from the replica');
    } catch (error) {
      isTooLate = true;
      // After a deadline, the outcome is ignored.
      reading.catch(() => {});
      return { reason: this.#explain(error) };
    }
  }

  /** Rethrows a failure that the primary would return too, such as that of an invalid cursor. */
  #explain(error: unknown): FallbackReason {
    if (error instanceof Failure && error.code !== 'database_unavailable') throw error;
    if (isOutage(error) || error instanceof DeadlineError) {
      this.#note('unavailable', { err: error });
      return 'unavailable';
    }
    // Conflicts with replayed changes are expected. A replica may also lack the newest migration.
    if (!(error instanceof Failure)) this.#parts.logger.warn({ err: error }, 'read from the replica failed');
    return 'failed';
  }

  /** Waits until the replica reaches a position. Waiting requests share one query. */
  async #reaches(required: Position, endMs: number): Promise<boolean> {
    for (;;) {
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) return false;
      const look = withDeadline(this.#looks.add(undefined), leftMs, 'waiting for the replica');
      // The replica is gone, or too many requests wait.
      const at = await look.catch(() => undefined);
      if (at === undefined || at.history !== required.history) return false;
      if (includes(at, required)) return true;
    }
  }

  /** The session is dropped if its server is no longer a standby: another host of the address may be one. */
  #look(): Promise<Position> {
    return this.#parts.replica.transaction((tx) => readReplica(tx), { startsWithRead: true });
  }

  /** Why a replica at this position cannot be used by any request. */
  #obstacleAt(at: Position): FallbackReason | undefined {
    const nowMs = performance.now();
    const history = this.#lag.history(nowMs);
    if (history !== undefined && at.history !== history) return 'history';
    const lagMs = this.#lag.lagMs(at, nowMs);
    return lagMs === undefined || lagMs > this.#lagMsMax ? 'lag' : undefined;
  }

  #note(obstacle: FallbackReason | undefined, fields: object): void {
    if (obstacle === this.#obstacle) return;
    this.#obstacle = obstacle;
    const { logger } = this.#parts;
    if (obstacle === undefined) logger.info(fields, 'replica in use');
    else logger.warn({ ...fields, reason: obstacle }, 'replica not in use; reading from the primary');
  }
}

function shared(
  read: () => Promise<Position>,
  options: { readonly runningMax?: number; readonly gatherMs?: number; readonly waitingMax?: number },
): SharedStatement<undefined, Position> {
  return new SharedStatement({
    run: async (callers) => {
      const position = await read();
      return callers.map(() => position);
    },
    ...options,
  });
}

interface PositionRow {
  readonly history: number;
  /** Null on a standby that has replayed nothing since its start. */
  readonly lsn: string | null;
}

/**
 * The flushed position, because the primary sends only what is flushed. Every commit is flushed before others see it,
 * unless the server commits asynchronously.
 */
async function readPrimary(db: Queryable): Promise<Position> {
  const [row] = await db.query<PositionRow>(
    `select till.history() as history, (case current_setting('synchronous_commit')
       when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end - '0/0'::pg_lsn)::text as lsn`,
    [],
    'position',
  );
  return toPosition(row);
}

/** Fails if the server is not a standby: after a promotion it no longer follows the primary. */
async function readReplica(db: Queryable): Promise<Position> {
  const [row] = await db.query<PositionRow & { readonly isStandby: boolean }>(
    `select pg_is_in_recovery() as "isStandby", till.appended_history() as history,
       (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::text as lsn`,
  );
  if (row?.isStandby !== true) throw new UnsuitableServerError('the replica is not a standby');
  return toPosition(row);
}

function toPosition(row: PositionRow | undefined): Position {
  if (row === undefined) throw new Error('the database returned no position');
  return { history: row.history, lsn: BigInt(row.lsn ?? 0) };
}
