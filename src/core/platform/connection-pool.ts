import type { Socket } from 'node:net';
import pg from 'pg';
import type { ServerKind } from './database-address.ts';
import { parseUtcText } from './instant.ts';
import type { Logger } from './logger.ts';
import type { PoolMode } from './pool-mode.ts';
import { DatabaseServers } from './primary-connection.ts';
import { PrimaryPool } from './primary-pool.ts';

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
