import { randomInt } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from './logger.ts';
import type { Queryable } from './postgres.ts';
import { connectToPrimary, DatabaseServers } from './primary-connection.ts';

/** The first half of every owner lock ("tlpr" in ASCII). */
const lockClass = 0x746c7072;
const reconnectDelayMs = 1_000;

/**
 * Shows other processes that this one is alive: an advisory lock with its own number, on its own connection, which
 * PostgreSQL releases as soon as the process ends. Others can then take over a dead process's unfinished work at once
 * instead of after a timeout. It is a hint, not a guarantee: a takeover uses the same idempotency key, so a wrong guess
 * does no harm.
 */
export class OwnerLock {
  readonly owner = randomInt(1, 2 ** 31 - 1);
  readonly #servers: DatabaseServers;
  readonly #logger: Logger;
  readonly #onAcquired: OnAcquired;
  #notices: { readonly channel: string; readonly onNotice: () => void } | undefined;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor({
    url,
    logger,
    onAcquired = async () => {},
  }: {
    readonly url: string;
    readonly logger: Logger;
    /** Called with the session that holds the lock, also after each reconnection. */
    readonly onAcquired?: OnAcquired;
  }) {
    this.#servers = new DatabaseServers(url);
    this.#logger = logger;
    this.#onAcquired = onAcquired;
  }

  async acquire(): Promise<void> {
    const client = await connectToPrimary(this.#servers, {
      application_name: 'till owner lock',
      keepAlive: true,
    });
    if (this.#closed) return client.end();
    this.#client = client;
    // A connection that the server ends emits two errors.
    client.on('error', () => this.#reconnect(client));
    client.on('end', () => this.#reconnect(client));
    await client.query('select pg_advisory_lock($1, $2)', [lockClass, this.owner]);
    await this.#onAcquired(queryable(client));
    client.on('notification', () => this.#notices?.onNotice());
    await this.#listenIn(client);
  }

  async #listenIn(client: pg.Client | undefined): Promise<void> {
    if (this.#notices === undefined || client === undefined) return;
    await client.query(`listen ${client.escapeIdentifier(this.#notices.channel)}`);
    this.#notices.onNotice();
  }

  /** Calls `onNotice` after each notice on this channel of the database, and whenever some may have been missed. */
  async listen(channel: string, onNotice: () => void): Promise<void> {
    this.#notices = { channel, onNotice };
    await this.#listenIn(this.#client);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#client?.end();
  }

  #reconnect(client: pg.Client | undefined): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#retry(), reconnectDelayMs);
  }

  /**
   * Retries until it succeeds. A connection without the lock is useless: it is closed, and the next attempt opens
   * another.
   */
  async #retry(): Promise<void> {
    try {
      await this.acquire();
      this.#logger.info('owner lock reacquired');
    } catch (error) {
      if (this.#closed) return;
      this.#logger.warn({ err: error, retryInMs: reconnectDelayMs }, 'owner lock not acquired');
      const client = this.#client;
      this.#reconnect(client);
      client?.end().catch(() => {});
    }
  }
}

type OnAcquired = (session: Queryable) => Promise<void>;

function queryable(client: pg.Client): Queryable {
  return {
    query: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await client.query<Row>(text, [...values])).rows,
  };
}

/** Whether the process that held the lock `owner` has ended. Holds a lock only during the transaction or statement. */
export async function isGone(db: Queryable, owner: number): Promise<boolean> {
  const [row] = await db.query<{ gone: boolean }>('select pg_try_advisory_xact_lock($1, $2) as gone', [
    lockClass,
    owner,
  ]);
  return row?.gone === true;
}

/** The numbers of the processes that are alive. */
export async function listAlive(db: Queryable): Promise<readonly number[]> {
  const rows = await db.query<{ owner: number }>(
    `select objid::bigint::integer as owner from pg_locks
     where locktype = 'advisory' and classid = $1 and objsubid = 2 and granted
       and database = (select oid from pg_database where datname = current_database())`,
    [lockClass],
  );
  return rows.map(({ owner }) => owner);
}
