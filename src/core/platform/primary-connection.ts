import pg from 'pg';
import {
  type DatabaseAddress,
  type DatabaseServer,
  parseDatabaseAddress,
  type ServerKind,
} from './database-address.ts';
import { isUnavailable, UnsuitableServerError } from './unavailable.ts';

const connectTimeoutMs = 5_000;
/**
 * For each of several hosts. A running server responds within milliseconds, and a machine that is gone does not
 * respond.
 */
const serverTimeoutMs = 2_000;

const stateStatement = `
  select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`;

/** The servers of an address, and the one that is tried first: the last one that was usable, as far as is known. */
export class DatabaseServers {
  readonly #address: DatabaseAddress;
  #first = 0;
  #rejectedAtMs = Number.NEGATIVE_INFINITY;

  constructor(url: string, kind?: ServerKind) {
    this.#address = parseDatabaseAddress(url, kind);
  }

  get count(): number {
    return this.#address.servers.length;
  }

  get first(): DatabaseServer {
    const { servers } = this.#address;
    // The index is always below the length.
    return servers[this.#first] as DatabaseServer;
  }

  /** When a server was last found unusable. */
  get rejectedAtMs(): number {
    return this.#rejectedAtMs;
  }

  /** How long a connection to one of them may take. */
  get timeoutMs(): number {
    return this.count === 1 ? connectTimeoutMs : serverTimeoutMs;
  }

  /** The requirement on the server, in the words of messages. */
  get purpose(): string {
    return this.#address.requires === 'standby' ? 'is a standby' : 'accepts writes';
  }

  /** Throws unless the server of a new connection is what the address requires. A standby may be out of date. */
  async verify(client: pg.ClientBase, { name }: DatabaseServer): Promise<void> {
    const { requires } = this.#address;
    if (requires === 'any') return;
    // The types do not have this timeout.
    const query = { text: stateStatement, query_timeout: this.timeoutMs };
    const { rows } = await client.query<{ isStandby: boolean; isReadOnly: boolean }>(query);
    const [state] = rows;
    if (requires === 'standby') {
      if (state?.isStandby !== true) throw new UnsuitableServerError(`${name} is not a standby`);
      return;
    }
    if (state?.isStandby !== false) throw new UnsuitableServerError(`${name} is a standby`);
    if (state.isReadOnly && requires === 'read-write')
      throw new UnsuitableServerError(`${name} can only be read`);
  }

  /** From now on, connections begin with the next server, unless another connection has already moved on. */
  reject(server: DatabaseServer): void {
    this.#rejectedAtMs = performance.now();
    if (server === this.first) this.#first = (this.#first + 1) % this.count;
  }
}

type SessionOptions = Pick<
  pg.ClientConfig,
  'application_name' | 'connectionTimeoutMillis' | 'keepAlive' | 'query_timeout'
>;

/**
 * Connects a session of its own to the first suitable server of an address. The next statement reports if it breaks.
 */
export async function connectToPrimary(
  address: string | DatabaseServers,
  options: SessionOptions,
): Promise<pg.Client> {
  const servers = typeof address === 'string' ? new DatabaseServers(address) : address;
  const failures: Error[] = [];
  while (failures.length < servers.count) {
    const server = servers.first;
    const client = new pg.Client({
      connectionTimeoutMillis: servers.timeoutMs,
      ...options,
      connectionString: server.url,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await servers.verify(client, server);
      return client;
    } catch (error) {
      client.end().catch(() => {});
      if (!(error instanceof Error) || !isUnavailable(error) || servers.count === 1) throw error;
      failures.push(error);
      servers.reject(server);
    }
  }
  throw new AggregateError(failures, `no server ${servers.purpose}: ${failures.map(reasonOf).join('; ')}`);
}

/** Runs `work` in a session of its own. */
export async function withPrimary<T>(
  address: string | DatabaseServers,
  options: SessionOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connectToPrimary(address, options);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A failed connection to a name with several addresses is an AggregateError without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
