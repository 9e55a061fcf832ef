import pg from 'pg';
import { Failure } from '../errors.ts';
import { withDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';

/** How long a request waits for a connection before it is told that the database is unavailable. */
const connectTimeoutMs = 5_000;
/**
 * Who may wait for each connection. A statement takes about a millisecond, so this is a tenth of a second of waiting;
 * where it takes far longer, more who wait would only wait in vain, and fill the memory meanwhile.
 */
const waitingPerConnectionMax = 100;
/** No statement of ours needs a second; ten leave room for a slow disk and stay below a request's 30 s. */
const statementTimeoutMs = 10_000;
/**
 * A server that hangs enforces no limit of its own, so ours comes a little after it. It counts from the sending: statements that
 * are sent together share it.
 */
const queryTimeoutMs = 12_000;
const healthTimeoutMs = 1_000;
const retryAfterSeconds = 1;
/**
 * For so long after a write found the disk full, the database counts as not ready: it still answers what is read, so
 * only those who write know. Longer than the pause between two writes of a service in use, and /health still tells of
 * the end within two seconds.
 */
const fullMs = 1_000;

export interface Queryable {
  /**
   * A statement with a name is planned once per connection, which pays where planning costs more than running it. It must
   * name its columns: one whose result changes shape, because a newer release added a column, fails from then on.
   */
  query<Row extends pg.QueryResultRow>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<readonly Row[]>;
}

export interface Transaction extends Queryable {
  /** For a statement whose result nobody waits for: it is carried out in its turn, and if it fails, so does the transaction. */
  send(text: string, values?: readonly unknown[], name?: string): void;
  /** Runs `work` once the transaction is committed, and never if it is rolled back. `work` must not throw. */
  afterCommit(work: () => void): void;
}

interface TransactionOptions {
  /**
   * The first statement only looks, or locks, and is awaited: it goes out together with the begin. If the begin failed, it
   * would be carried out all the same, outside of any transaction.
   */
  readonly startsWithLook?: boolean;
}

/** The one way to PostgreSQL. What it cannot reach is a Failure `database_unavailable`; anything else is a defect. */
export class Database implements Queryable {
  readonly #pool: pg.Pool;
  readonly #waitingMax: number;
  #fullAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: { readonly url: string; readonly poolSize: number; readonly logger: Logger }) {
    this.#waitingMax = options.poolSize * waitingPerConnectionMax;
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.poolSize,
      application_name: 'till',
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      query_timeout: queryTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      keepAlive: true,
      // Within a transaction, so that a statement need not wait for the answer to the one before it.
      pipeline: true,
      types: { getTypeParser },
    });
    // The pool listens only to connections that are idle, and an error that nobody listens for would end the process.
    // One that breaks while it is in use, or the moment it is ready, is told of by its next statement.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
    // An idle connection that breaks is replaced by the pool.
    this.#pool.on('error', (error) => {
      // While the pool is ending, connections that end are what was asked for.
      if (!this.#pool.ending) options.logger.warn({ err: error }, 'idle database connection lost');
    });
  }

  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    name?: string,
  ): Promise<readonly Row[]> {
    this.#refuseIfFull();
    try {
      return (await this.#pool.query<Row>(toQuery(text, values, name))).rows;
    } catch (error) {
      throw this.#translate(error);
    }
  }

  /**
   * Runs `work` in one transaction. It must not wait for the network: a connection is held all the while. Its statements are
   * carried out in the order in which they are made, whether they are awaited or not; but whoever makes a query must see to
   * its failure, as with any promise.
   */
  async transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    { startsWithLook = false }: TransactionOptions = {},
  ): Promise<T> {
    const client = await this.#connect();
    let firstFailure: unknown;
    const run = <Row extends pg.QueryResultRow>(query: pg.QueryConfig) => {
      const answered = client.query<Row>(query);
      // What comes behind a statement that failed is refused only because of it.
      answered.catch((error: unknown) => {
        firstFailure ??= error;
      });
      return answered;
    };
    const begun = run({ text: 'begin' });
    const committed: (() => void)[] = [];
    const tx: Transaction = {
      query: async <Row extends pg.QueryResultRow>(
        text: string,
        values: readonly unknown[] = [],
        name?: string,
      ) => {
        const answered = run<Row>(toQuery(text, values, name));
        await begun;
        return (await answered).rows;
      },
      send: (text, values = [], name) => void run(toQuery(text, values, name)),
      afterCommit: (hook) => void committed.push(hook),
    };
    let failure: unknown;
    try {
      if (!startsWithLook) await begun;
      const result = await work(tx);
      const { command } = await run({ text: 'commit' });
      // To commit what has failed is to roll it back, and no error.
      if (command !== 'COMMIT' || firstFailure !== undefined)
        throw new Error(`the transaction ended in ${command}`);
      for (const hook of committed) hook();
      return result;
    } catch (error) {
      failure = firstFailure ?? error;
      throw this.#translate(failure);
    } finally {
      // A rollback on a connection that hangs would only hang as well.
      const isAway = isUnavailable(failure) && !codeOf(failure)?.startsWith(rollbackClass);
      const isBroken = failure !== undefined && (isAway || (await rollbackFails(client)));
      client.release(isBroken);
    }
  }

  /** Rejects unless the database answers, and can be written to as far as is known. */
  async ping(): Promise<void> {
    await withDeadline(this.#look(), healthTimeoutMs, 'the database check');
    if (performance.now() - this.#fullAtMs < fullMs) throw new Error('the disk of the database is full');
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /** Counted as an outage: whoever works in batches must not try each of them alone. */
  #refuseIfFull(): void {
    if (this.#pool.waitingCount < this.#waitingMax) return;
    throw new Failure(
      'database_unavailable',
      'Too many requests are waiting for the database. Retry later.',
      {
        retryAfterSeconds,
      },
    );
  }

  async #connect(): Promise<pg.PoolClient> {
    this.#refuseIfFull();
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw this.#translate(error);
    }
  }

  /** A connection that is of no use is dropped: the next one leads to where the address leads by then. */
  async #look(): Promise<void> {
    const client = await this.#pool.connect();
    let isWritable = false;
    try {
      // A connection that hangs is dropped now, not when a query's usual time is up: others may lead somewhere.
      const query = {
        text: `select current_setting('transaction_read_only') as read_only`,
        query_timeout: healthTimeoutMs,
      };
      const { rows } = await client.query<{ read_only: string }>(query);
      isWritable = rows[0]?.read_only === 'off';
    } finally {
      client.release(!isWritable);
    }
    if (!isWritable) throw new Error('the database can only be read');
  }

  #translate(error: unknown): unknown {
    if (codeOf(error) === diskFullCode) this.#fullAtMs = performance.now();
    if (!isUnavailable(error)) return error;
    return new Failure('database_unavailable', 'The database is unavailable. Retry later.', {
      retryAfterSeconds,
      cause: error,
    });
  }
}

function toQuery(text: string, values: readonly unknown[], name: string | undefined): pg.QueryConfig {
  return { text, values: [...values], ...(name === undefined ? {} : { name }) };
}

/** `bigint` arrives as text because it may not fit a number; ours (amounts below 10^12, counts) always do. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (id: number, format?: 'text' | 'binary') =>
  id === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(id, format);

/** True when the connection cannot be used again, so that the pool drops it. */
async function rollbackFails(client: pg.PoolClient): Promise<boolean> {
  try {
    await client.query('rollback');
    return false;
  } catch {
    return true;
  }
}

/** Classes of errors after which trying again later can succeed: connection, rollback, resources, operator, I/O. */
const unavailableClasses = ['08', '40', '53', '57', '58'];
/** What a standby says to those who write: after a failover the address leads elsewhere soon, or the standby is one no more. */
const readOnlyCode = '25006';
const diskFullCode = '53100';
/**
 * PostgreSQL ended the session because its transaction was idle, or open, for too long: this process was frozen meanwhile. The
 * transaction was rolled back.
 */
const sessionEndedCodes = ['25P03', '25P04'];
const unavailableCodes = [readOnlyCode, ...sessionEndedCodes];
const unavailableMessages = [
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Query read timeout',
  'Client has encountered a connection error',
];

export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code !== undefined)
    return unavailableCodes.includes(code) || unavailableClasses.includes(code.slice(0, 2));
  // A name with several addresses, none of which can be reached, brings them all in one error.
  if ('syscall' in error || error instanceof AggregateError) return true;
  return unavailableMessages.some((message) => error.message.startsWith(message));
}

function codeOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** A statement or a transaction that took too long, or stood in another's way: this one failed, others need not. */
const singleFailureCodes = ['57014', ...sessionEndedCodes];
const rollbackClass = '40';

/** Whether what `Database` threw means that it cannot be reached, so that nothing else would go better. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Failure) || error.code !== 'database_unavailable') return false;
  const code = codeOf(error.cause);
  return code === undefined || !(singleFailureCodes.includes(code) || code.startsWith(rollbackClass));
}

const lockTimeoutCode = '55P03';

/** Whether a statement gave up because others held a lock for longer than it may wait. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === lockTimeoutCode;
}
