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
/** A server that hangs enforces no limit of its own, so ours comes a little after it. */
const queryTimeoutMs = 12_000;
const healthTimeoutMs = 1_000;
const retryAfterSeconds = 1;

export interface Queryable {
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

/** The one way to PostgreSQL. What it cannot reach is a Failure `database_unavailable`; anything else is a defect. */
export class Database implements Queryable {
  readonly #pool: pg.Pool;
  readonly #waitingMax: number;

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
      types: { getTypeParser },
    });
    // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
    this.#pool.on('error', (error) => {
      // While the pool is ending, connections that end are what was asked for.
      if (!this.#pool.ending) options.logger.warn({ err: error }, 'an idle database connection broke');
    });
  }

  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly Row[]> {
    this.#refuseIfFull();
    try {
      return (await this.#pool.query<Row>(text, [...values])).rows;
    } catch (error) {
      throw translate(error);
    }
  }

  /** Runs `work` in one transaction. It must not wait for the network: a connection is held all the while. */
  async transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    // The pool listens only to connections that are idle. One that breaks between two statements is told by the next
    // statement; without a listener it would end the process.
    client.on('error', ignoreBreak);
    const tx: Queryable = {
      query: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
        (await client.query<Row>(text, [...values])).rows,
    };
    let failure: unknown;
    try {
      await client.query('begin');
      const result = await work(tx);
      await client.query('commit');
      return result;
    } catch (error) {
      failure = error;
      throw translate(error);
    } finally {
      // A rollback on a connection that hangs would only hang as well.
      const isBroken = failure !== undefined && (isUnavailable(failure) || (await rollbackFails(client)));
      client.off('error', ignoreBreak);
      client.release(isBroken);
    }
  }

  async ping(): Promise<void> {
    await withDeadline(this.#pool.query('select 1'), healthTimeoutMs, 'the database check');
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /** Counted as an outage: whoever works in batches must not try each of them alone. */
  #refuseIfFull(): void {
    if (this.#pool.waitingCount < this.#waitingMax) return;
    throw new Failure('database_unavailable', 'Too many requests wait for the database; please try again.', {
      retryAfterSeconds,
    });
  }

  async #connect(): Promise<pg.PoolClient> {
    this.#refuseIfFull();
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw translate(error);
    }
  }
}

function ignoreBreak(): void {}

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

function translate(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return new Failure(
    'database_unavailable',
    'The database cannot be reached at the moment; please try again.',
    {
      retryAfterSeconds,
      cause: error,
    },
  );
}

/** Classes of errors after which trying again later can succeed: connection, resources, operator, I/O. */
const unavailableClasses = ['08', '53', '57', '58'];
const unavailableMessages = [
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Query read timeout',
  'Client has encountered a connection error',
];

export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof pg.DatabaseError) return unavailableClasses.includes(error.code?.slice(0, 2) ?? '');
  if ('syscall' in error) return true;
  return unavailableMessages.some((message) => error.message.startsWith(message));
}

/** What PostgreSQL says of a statement that took too long: this one did, others need not. */
const statementTimeoutCode = '57014';

/** Whether what `Database` threw means that it cannot be reached, so that nothing else would go better. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Failure) || error.code !== 'database_unavailable') return false;
  return !(error.cause instanceof pg.DatabaseError && error.cause.code === statementTimeoutCode);
}
