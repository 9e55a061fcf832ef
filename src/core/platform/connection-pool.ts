import type { Socket } from 'node:net';
import pg from 'pg';
import type { DatabaseServer, ServerKind } from './database-address.ts';
import type { Logger } from './logger.ts';
import { isLost, readServerSessions } from './lost-sessions.ts';
import type { PoolMode } from './pool-mode.ts';
import { DatabaseServers, withPrimary } from './primary-connection.ts';
import { isUnavailable } from './unavailable.ts';

/** How long a request waits for a connection before it fails with `database_unavailable`. */
const connectTimeoutMs = 5_000;
/** No statement needs a second; ten leave room for a slow disk and stay below a request's 30 s. */
const statementTimeoutMs = 10_000;
/**
 * A server that hangs does not enforce its own timeouts, so a connection without any traffic ends a little later. The
 * pool closes idle connections earlier. The driver's own `query_timeout` costs a timer for each statement, and its
 * closures keep the rows in memory until the next full garbage collection.
 */
const silenceMsMax = 12_000;

/** The limits that PostgreSQL enforces. */
const limits = {
  statement_timeout: statementTimeoutMs,
  idle_in_transaction_session_timeout: statementTimeoutMs,
};

/**
 * JIT compilation takes longer than these statements run. An address can have its own `options`, which replace this.
 */
const jit = 'off';

function settingLimits(command: 'set' | 'set local'): string {
  return Object.entries({ ...limits, jit })
    .map(([name, value]) => `${command} ${name} = ${value}`)
    .join('; ');
}

/** Begins a transaction with the limits, in one message, for sessions that several clients share. */
export const beginWithLimits = `begin; ${settingLimits('set local')}`;

export interface PoolOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly logger: Logger;
  /** What is between the address and PostgreSQL. No pooler is the default. */
  readonly poolMode?: PoolMode;
  /** Which server the address must lead to. The primary is the default. */
  readonly kind?: ServerKind;
}

/**
 * The connections of a process. If a connection is a session of its own, the session has the limits. For shared
 * sessions, see `beginWithLimits`.
 */
export function openPool({ url, poolSize, logger, poolMode = 'none', kind }: PoolOptions): PrimaryPool {
  const pool = new PrimaryPool(new DatabaseServers(url, kind), {
    max: poolSize,
    application_name: 'till',
    connectionTimeoutMillis: connectTimeoutMs,
    ownsSessions: poolMode === 'none',
    ...(poolMode === 'none' ? { ...limits, options: `-c jit=${jit}` } : {}),
    // PostgreSQL accepts the limits as connection options. A pooler refuses or ignores them.
    ...(poolMode === 'session' ? { onConnect: setLimits } : {}),
    keepAlive: true,
    // Within a transaction, a statement need not wait for the result of the previous one.
    pipeline: true,
    types: { getTypeParser },
  });
  pool.on('connect', (client) => {
    const stream = socketOf(client);
    stream.setTimeout(silenceMsMax, () => stream.destroy());
  });
  // The pool replaces an idle connection that breaks.
  pool.on('error', (error) => {
    // While the pool is ending, its connections are expected to end.
    if (!pool.ending) logger.warn({ err: error }, 'idle database connection lost');
  });
  return pool;
}

/**
 * Sends the statements of this turn of the event loop with one write to the socket. Each write is a system call, and
 * wakes the server.
 */
export function joinWrites(client: pg.PoolClient): void {
  const stream = socketOf(client);
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** The driver connects by sockets; its types allow any stream. */
function socketOf(client: pg.PoolClient): Socket {
  return client.connection.stream as Socket;
}

/** The pool awaits this before it uses the connection, although its types do not show it. */
function setLimits(client: pg.ClientBase): Promise<unknown> {
  return client.query(settingLimits('set'));
}

const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (id: number, format?: 'text' | 'binary') => {
  // `bigint` arrives as text because it may not fit a number; Till's values (amounts below 10^12, counts) always do.
  if (id === pg.types.builtins.INT8) return Number;
  // `json` stays text: Till stores it to pass it on. What Till reads itself is `jsonb`.
  if (id === pg.types.builtins.JSON) return String;
  if (id === pg.types.builtins.TIMESTAMPTZ) return parseTimestamp;
  return pg.types.getTypeParser(id, format);
};

const parseAnyTimestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);

/** Most rows have several times, and PostgreSQL usually writes them in UTC. The library parses any other time. */
function parseTimestamp(text: string): unknown {
  return parseUtcText(text) ?? parseAnyTimestamp(text);
}

const utcTextLengthMin = '2000-01-01 00:00:00+00'.length;
const secondsLength = '2000-01-01 00:00:00'.length;

/** Parses a time as PostgreSQL writes it in UTC, to the millisecond. Undefined if it is written in another way. */
export function parseUtcText(text: string): Date | undefined {
  if (text.length < utcTextLengthMin || text[10] !== ' ' || !text.endsWith('+00')) return undefined;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  // `Date.UTC` takes a year below 100 for one of the twentieth century.
  if (year < 100) return undefined;
  const seconds = Date.UTC(
    year,
    twoDigits(text, 5) - 1,
    twoDigits(text, 8),
    twoDigits(text, 11),
    twoDigits(text, 14),
    twoDigits(text, 17),
  );
  if (text.length === utcTextLengthMin) return new Date(seconds);
  const micros = Math.round(Number(text.slice(secondsLength, -'+00'.length)) * 1_000_000);
  return new Date(seconds + Math.floor(micros / 1_000));
}

function twoDigits(text: string, index: number): number {
  return (text.charCodeAt(index) - zero) * 10 + text.charCodeAt(index + 1) - zero;
}

const zero = '0'.charCodeAt(0);

/** Connections are replaced at most this often. While there is no primary, every failed write would replace all. */
const replaceDelayMs = 1_000;

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (error?: unknown) => void,
) => void;

/** The options that the pool passes on to its connections, and that it needs itself. */
type Options = Omit<pg.PoolConfig, 'connectionString'> & {
  readonly connectionTimeoutMillis: number;
  /** Whether a connection is one session of the server. Behind a pooler it is not. */
  readonly ownsSessions: boolean;
};

/**
 * A pool of connections to the suitable server of an address: the primary, or a standby for a replica. A connection
 * attempt that failed is repeated where another one can succeed: nothing has been sent yet.
 */
export class PrimaryPool extends pg.Pool {
  readonly #servers: DatabaseServers;
  readonly #waitMsMax: number;
  readonly #ownsSessions: boolean;
  /** Its connections, from before they are ready until they have ended. */
  readonly #clients: ReadonlySet<ServerClient>;
  #isBreakingLost = false;
  /** Connections that were opened before this time are not used again. */
  #replacedAtMs = Number.NEGATIVE_INFINITY;
  #brokenAtMs = Number.NEGATIVE_INFINITY;
  /** When a connection was last opened or known to work. */
  #connectedAtMs = Number.NEGATIVE_INFINITY;

  constructor(servers: DatabaseServers, { onConnect, ownsSessions, ...options }: Options) {
    const clients = new Set<ServerClient>();
    super({
      ...options,
      Client: clientOf(servers, options, clients),
      onConnect: (client) => prepare(client, servers, onConnect),
    });
    this.#servers = servers;
    this.#waitMsMax = options.connectionTimeoutMillis;
    this.#ownsSessions = ownsSessions;
    this.#clients = clients;
    this.on('connect', (client) => {
      this.noteWorking();
      asServerClient(client).readyAtMs = this.#connectedAtMs;
      client.on('error', () => {
        this.#brokenAtMs = performance.now();
      });
    });
  }

  /** Whether a connection broke or could not be opened, and nothing has worked since. */
  get isBroken(): boolean {
    return Math.max(this.#brokenAtMs, this.#servers.rejectedAtMs) > this.#connectedAtMs;
  }

  /** A statement succeeded: connections that broke before say nothing about the server. */
  noteWorking(): void {
    this.#connectedAtMs = performance.now();
  }

  /** Stops using the current connections: one of them leads to a server that no longer accepts writes. */
  replaceAll(): void {
    const nowMs = performance.now();
    if (nowMs - this.#replacedAtMs >= replaceDelayMs) this.#replacedAtMs = nowMs;
  }

  /**
   * Closes the connections that do not lead to the server at the address, because that server replaced one that hangs.
   * Otherwise they would fill the pool until they time out. If no new connection works within the time, nothing is
   * closed: the server itself hangs, and may continue.
   */
  async breakLost(timeoutMs: number): Promise<void> {
    if (!this.#ownsSessions || this.#isBreakingLost) return;
    this.#isBreakingLost = true;
    const clients = [...this.#clients];
    const processIds = clients.map(({ processID }) => processID).filter((id) => id !== null);
    const options = {
      application_name: 'till',
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
    };
    try {
      const sessions = await withPrimary(this.#servers, options, (client) =>
        readServerSessions(client, processIds),
      );
      const nowMs = performance.now();
      this.noteWorking();
      for (const { processID: processId, beganAtMs, readyAtMs, connection } of clients) {
        const isLate = nowMs - beganAtMs > timeoutMs;
        const leadsElsewhere =
          readyAtMs === undefined ? isLate : isLost({ processId, beganAtMs, readyAtMs }, sessions, nowMs);
        if (leadsElsewhere) connection.stream.destroy();
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    } finally {
      this.#isBreakingLost = false;
    }
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    if (callback !== undefined) {
      this.#attempt(callback, performance.now(), 1);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.connect((error, client) => (client === undefined ? reject(error) : resolve(client)));
    });
  }

  #attempt(callback: Connected, beganAtMs: number, attempts: number): void {
    const atMs = performance.now();
    super.connect((error, client, release) => {
      const goesOn = performance.now() - beganAtMs < this.#waitMsMax;
      if (client !== undefined && this.#isReplaced(client)) {
        release(true);
        return this.#attempt(callback, beganAtMs, attempts);
      }
      if (error !== undefined && isUnavailable(error)) {
        // A connection has worked since then, so the primary can be reached again.
        const isOver = this.#connectedAtMs > atMs;
        if (goesOn && (isOver || attempts < this.#servers.count))
          return this.#attempt(callback, beganAtMs, attempts + 1);
      }
      callback(error, client, release);
    });
  }

  #isReplaced(client: pg.PoolClient): boolean {
    return (asServerClient(client).readyAtMs ?? 0) < this.#replacedAtMs;
  }
}

type ClientConnected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** A connection that knows its server, and its age. */
interface ServerClient extends pg.Client {
  readonly server: DatabaseServer;
  readonly beganAtMs: number;
  /** When the pool could first use it. */
  readyAtMs: number | undefined;
  /** The process id of its session, once there is one. The driver's types do not have it. */
  readonly processID: number | null;
}

/** Every connection of the pool is one. */
function asServerClient(client: pg.ClientBase): ServerClient {
  return client as ServerClient;
}

/**
 * A connection leads to the server that was first in the list when the connection was created. `clients` contains it
 * until it ends.
 */
function clientOf(
  servers: DatabaseServers,
  options: pg.ClientConfig,
  clients: Set<ServerClient>,
): new () => ServerClient {
  return class extends pg.Client {
    readonly server: DatabaseServer;
    readonly beganAtMs = performance.now();
    readyAtMs: number | undefined;
    declare readonly processID: number | null;

    constructor() {
      const server = servers.first;
      super({ ...options, connectionString: server.url, connectionTimeoutMillis: servers.timeoutMs });
      this.server = server;
      clients.add(this);
      this.once('end', () => clients.delete(this));
      // The pool handles errors only of idle connections, and an unhandled error event would end the process. The next
      // statement on a connection reports that it broke while in use or just after connecting.
      this.on('error', () => {});
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: ClientConnected): void;
    override connect(callback?: ClientConnected): Promise<pg.Client> | undefined {
      const connected = super.connect().catch((error: unknown) => {
        servers.reject(this.server);
        throw error;
      });
      if (callback === undefined) return connected;
      // The types have two functions, one for each outcome.
      const settle = callback as (error: Error | null, client?: pg.Client) => void;
      void connected.then((client) => settle(null, client), settle);
      return undefined;
    }
  };
}

async function prepare(
  client: pg.ClientBase,
  servers: DatabaseServers,
  onConnect: pg.PoolConfig['onConnect'],
): Promise<void> {
  const { server } = asServerClient(client);
  try {
    await servers.verify(client, server);
  } catch (error) {
    servers.reject(server);
    throw error;
  }
  await onConnect?.(client);
}
