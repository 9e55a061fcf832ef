import type pg from 'pg';
import { Failure } from '../errors.ts';
import {
  beginWithLimits,
  joinWrites,
  openPool,
  type PoolOptions,
  type PrimaryPool,
} from './connection-pool.ts';
import { withDeadline } from './deadline.ts';
import { inSpan, traceStatement } from './tracing.ts';
import { codeOf, diskFullCode, isUnavailable, readOnlyCode, sessionEndedCodes } from './unavailable.ts';
import { type LateRow, WrittenRows } from './written-rows.ts';

/**
 * How many callers may wait per connection. A statement takes about a millisecond, so this is a tenth of a second of
 * waiting. When statements take far longer, a longer queue would only time out, and fill the memory meanwhile.
 */
const waitingPerConnectionMax = 100;
const healthTimeoutMs = 1_000;
/**
 * The same limit after connections broke. A server that is up accepts a new connection within a few milliseconds. If a
 * proxy holds the connection instead, requests have already failed.
 */
const brokenHealthTimeoutMs = 250;
const retryAfterSeconds = 1;
/**
 * How long the database counts as not ready after a write found the disk full, or the server read-only. Reads still
 * work then, so only writes detect it. Longer than the time between two writes of a busy service, and short enough that
 * /health shows recovery within two seconds.
 */
const refusedMs = 1_000;

export interface Queryable {
  /**
   * A named statement is planned once per connection, which pays off where planning costs more than execution. It must
   * list its columns: if a newer release adds a column and the result changes shape, it fails from then on.
   */
  query<Row extends pg.QueryResultRow>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<readonly Row[]>;
}

export interface Transaction extends Queryable {
  /** For a statement whose result is not needed. It runs in order, and if it fails, so does the transaction. */
  send(text: string, values?: readonly unknown[], name?: string): void;
  /** Runs `work` once the transaction is committed, and never if it is rolled back. `work` must not throw. */
  afterCommit(work: () => void): void;
  /** Reports rows that a statement wrote. The database passes them on before the commit. */
  readonly written: WrittenRows;
  /** Reports rows that were created from responses. The database passes them on after the commit. */
  readonly late: LateRow[];
}

/** Runs at the end of a transaction that wrote rows. It can still fail the transaction. */
type BeforeCommit = { write(tx: Transaction): Promise<void> };

/** Runs after the commit of a transaction that created rows from responses. If it fails, `transaction` fails. */
type AfterLateRows = (rows: readonly LateRow[]) => Promise<void>;

export interface TransactionOptions {
  /**
   * The first statement only reads or locks, and is awaited. It is sent together with the begin: if the begin failed,
   * it would still run, outside of any transaction.
   */
  readonly startsWithRead?: boolean;
  /** How long a statement waits for a lock before the transaction fails. Without it, up to the statement's timeout. */
  readonly lockTimeoutMs?: number;
}

export interface ReadOptions {
  /** All statements of `work` use one connection. */
  readonly onOneConnection?: boolean;
  /** The reads must also see what this process has committed for the same request. */
  readonly seesOwnCommits?: boolean;
}

/** Decides which server serves reads that a replica may serve. */
export interface ReadRouter {
  /** `fromPrimary` does the same work on the primary. */
  read<T>(
    work: (db: Queryable) => Promise<T>,
    fromPrimary: () => Promise<T>,
    options: ReadOptions,
  ): Promise<T>;
}

/**
 * All access to PostgreSQL. An unreachable database is a Failure `database_unavailable`; any other error is a defect.
 */
export class Database implements Queryable {
  readonly #pool: PrimaryPool;
  readonly #waitingMax: number;
  /** Whether sessions are shared, so that one belongs to Till only during a transaction. */
  readonly #isShared: boolean;
  /** When a write was last refused although the server responds, and why. */
  #refused = { atMs: Number.NEGATIVE_INFINITY, why: '' };
  /**
   * The named statements. They inherit their text and name: at each use, the driver copies what a statement has of its
   * own, one property at a time, which takes 4 of the 5 µs in which it creates a query.
   */
  readonly #named = new Map<string, pg.QueryConfig>();
  #didCheckFail = false;
  /** How many statements it has sent, for the metrics. */
  #statements = 0;
  #beforeCommit: BeforeCommit | undefined;
  #afterLateRows: AfterLateRows = async () => {};
  /** Undefined if there is no replica. */
  #router: ReadRouter | undefined;

  constructor(options: PoolOptions) {
    this.#waitingMax = options.poolSize * waitingPerConnectionMax;
    this.#isShared = options.poolMode === 'transaction';
    this.#pool = openPool(options);
  }

  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    name?: string,
  ): Promise<readonly Row[]> {
    this.#refuseIfFull();
    this.#statements += 1;
    try {
      const result = this.#isShared
        ? this.#queryShared<Row>(text, values)
        : this.#pool.query<Row>(this.#statement(text, name), [...values]);
      traceStatement(text, result);
      return (await result).rows;
    } catch (error) {
      throw this.#translate(error);
    }
  }

  /**
   * Runs reads that a replica may serve. Reads of one object, of entitlements and of the events for applications use
   * `query`: they must show the newest state.
   */
  read<T>(work: (db: Queryable) => Promise<T>, options: ReadOptions = {}): Promise<T> {
    const fromPrimary = () =>
      options.onOneConnection === true ? this.transaction(work, { startsWithRead: true }) : work(this);
    return this.#router === undefined ? fromPrimary() : this.#router.read(work, fromPrimary, options);
  }

  /**
   * Runs `work` in one transaction. `work` must not wait for the network, because it holds a connection. Its statements
   * run in the order of the calls, awaited or not. The caller of a query handles its rejection, as with any promise.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const late: LateRow[] = [];
    const result = await inSpan('transaction', () => this.#transact(work, late, options));
    // The connection is free again.
    if (late.length > 0) await this.#afterLateRows(late);
    return result;
  }

  async #transact<T>(
    work: (tx: Transaction) => Promise<T>,
    late: LateRow[],
    { startsWithRead = false, lockTimeoutMs }: TransactionOptions,
  ): Promise<T> {
    const client = await this.#connect();
    let firstFailure: unknown;
    const run = <Row extends pg.QueryResultRow>(
      text: string,
      values: readonly unknown[] = [],
      name?: string,
    ) => {
      joinWrites(client);
      this.#statements += 1;
      const result = client.query<Row>(this.#statement(text, name), [...values]);
      traceStatement(text, result);
      // Statements after a failed one fail only because of it.
      result.catch((error: unknown) => {
        firstFailure ??= error;
      });
      return result;
    };
    const begin = this.#isShared ? beginWithLimits : 'begin';
    // In one message, so that the limit costs no round trip.
    const begun = run(
      lockTimeoutMs === undefined ? begin : `${begin}; set local lock_timeout = ${lockTimeoutMs}`,
    );
    const committed: (() => void)[] = [];
    const tx: Transaction = {
      query: async <Row extends pg.QueryResultRow>(
        text: string,
        values: readonly unknown[] = [],
        name?: string,
      ) => {
        const result = run<Row>(text, values, name);
        await begun;
        return (await result).rows;
      },
      send: (text, values, name) => void run(text, values, name),
      afterCommit: (hook) => void committed.push(hook),
      written: new WrittenRows(),
      late,
    };
    let failure: unknown;
    try {
      if (!startsWithRead) await begun;
      const result = await work(tx);
      // Runs last, after all row locks, so that its own locks cannot deadlock with them.
      if (tx.written.size > 0) await this.#beforeCommit?.write(tx);
      const { command } = await run('commit');
      // PostgreSQL reports the commit of a failed transaction as a rollback, not as an error.
      if (command !== 'COMMIT' || firstFailure !== undefined)
        throw new Error(`the transaction ended in ${command}`);
      for (const hook of committed) hook();
      return result;
    } catch (error) {
      failure = firstFailure ?? error;
      throw this.#translate(failure);
    } finally {
      client.release(failure !== undefined && (await isBroken(client, failure)));
    }
  }

  /** Sets what writes before the commit of every transaction that wrote rows. */
  setBeforeCommit(writer: BeforeCommit): void {
    this.#beforeCommit = writer;
  }

  /** Sets what runs after the commit of every transaction that created rows from responses. */
  setAfterLateRows(hook: AfterLateRows): void {
    this.#afterLateRows = hook;
  }

  /** Sets what decides where `read` reads. */
  setReadRouter(router: ReadRouter): void {
    this.#router = router;
  }

  /** Rejects unless the database responds and, as far as is known, accepts writes. */
  async ping(): Promise<void> {
    const isWritable = await this.#check();
    if (!isWritable) throw new Error('the database can only be read');
    if (performance.now() - this.#refused.atMs < refusedMs) throw new Error(this.#refused.why);
  }

  /** Rejects unless the database responds. */
  async reach(): Promise<void> {
    await this.#check();
  }

  /** What the pool does now, for the metrics. */
  get usage() {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return {
      ...{ busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount },
      statements: this.#statements,
    };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /** Counts as an outage: callers that work in batches must not retry each item alone. */
  #refuseIfFull(): void {
    if (this.#pool.waitingCount < this.#waitingMax) return;
    const detail = 'Too many requests are waiting for the database. Retry later.';
    throw new Failure('database_unavailable', detail, { retryAfterSeconds });
  }

  async #connect(): Promise<pg.PoolClient> {
    this.#refuseIfFull();
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw this.#translate(error);
    }
  }

  /**
   * One statement in a transaction of its own, because only a transaction can have limits in a shared session.
   * Everything is sent at once, so it takes one round trip.
   */
  async #queryShared<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[],
  ): Promise<pg.QueryResult<Row>> {
    const client = await this.#pool.connect();
    const [begun, result, ended] = await Promise.allSettled([
      client.query(beginWithLimits),
      client.query<Row>(text, [...values]),
      client.query('commit'),
    ]);
    // Once the end is confirmed, nothing is left of the transaction, even if the statement failed.
    client.release(ended.status === 'rejected');
    if (begun.status === 'rejected') throw begun.reason;
    if (result.status === 'rejected') throw result.reason;
    if (ended.status === 'rejected') throw ended.reason;
    return result.value;
  }

  /**
   * Statements have no names in a shared session: the next transaction may run in a session that does not know them.
   */
  #statement(text: string, name: string | undefined): string | pg.QueryConfig {
    if (name === undefined || this.#isShared) return text;
    const known = this.#named.get(name);
    if (known?.text === text) return known;
    const statement: pg.QueryConfig = Object.create({ text, name });
    this.#named.set(name, statement);
    return statement;
  }

  /**
   * After a failed check, the next one also connects outside the pool, whose connections may lead to a former server.
   */
  async #check(): Promise<boolean> {
    const timeoutMs = this.#pool.isBroken ? brokenHealthTimeoutMs : healthTimeoutMs;
    const looksBeside = this.#didCheckFail ? this.#pool.breakLost(timeoutMs) : undefined;
    const check = Promise.all([this.#isWritable(), looksBeside]);
    try {
      const [isWritable] = await withDeadline(check, timeoutMs, 'the database check');
      this.#didCheckFail = false;
      return isWritable;
    } catch (error) {
      this.#didCheckFail = true;
      throw error;
    }
  }

  /** Drops an unusable connection, so that the next one connects to wherever the address points by then. */
  async #isWritable(): Promise<boolean> {
    const client = await this.#pool.connect();
    let isWritable = false;
    try {
      // Drops a hanging connection after the health timeout, not the query timeout: a new one may reach another server.
      const query = {
        text: `select current_setting('transaction_read_only') as read_only`,
        query_timeout: healthTimeoutMs,
      };
      const { rows } = await client.query<{ read_only: string }>(query);
      isWritable = rows[0]?.read_only === 'off';
      if (isWritable) this.#pool.noteWorking();
      else this.#pool.replaceAll();
    } finally {
      client.release(!isWritable);
    }
    return isWritable;
  }

  #translate(error: unknown): unknown {
    const code = codeOf(error);
    if (code === diskFullCode || code === readOnlyCode)
      this.#refused = { atMs: performance.now(), why: refusals[code] };
    if (code === readOnlyCode) this.#pool.replaceAll();
    if (!isUnavailable(error)) return error;
    return new Failure('database_unavailable', 'The database is unavailable. Retry later.', {
      retryAfterSeconds,
      cause: error,
    });
  }
}

const refusals = {
  [diskFullCode]: 'the disk of the database is full',
  [readOnlyCode]: 'the database can only be read',
};

/** True when the connection cannot be reused after a failed transaction, so that the pool drops it. */
async function isBroken(client: pg.PoolClient, failure: unknown): Promise<boolean> {
  // On a connection that hangs, the rollback would hang as well.
  if (isUnavailable(failure) && !codeOf(failure)?.startsWith(rollbackClass)) return true;
  try {
    await client.query('rollback');
    return false;
  } catch {
    return true;
  }
}

/** A statement or transaction that took too long or collided with another. Only this one failed; others may succeed. */
const singleFailureCodes = ['57014', ...sessionEndedCodes];
const rollbackClass = '40';

/** Whether an error of `Database` means that the database is unreachable, so that other statements would fail too. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Failure) || error.code !== 'database_unavailable') return false;
  const code = codeOf(error.cause);
  return code === undefined || !(singleFailureCodes.includes(code) || code.startsWith(rollbackClass));
}

/** Whether a statement gave up because other sessions held a lock for longer than its lock timeout. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/** Whether a repeatable read of `Database` met a row that another transaction changed after the snapshot. */
export function isSerializationFailure(error: unknown): boolean {
  return error instanceof Failure && codeOf(error.cause) === '40001';
}
