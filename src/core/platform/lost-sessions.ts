import type pg from 'pg';

/** An open connection, with what this process knows about its session. */
interface OpenSession {
  readonly processId: number | null;
  /** When the connection was begun, and when it was ready, by `performance.now()`. The session began in between. */
  readonly beganAtMs: number;
  readonly readyAtMs: number;
}

/** A session that the server has now. Its age is null if it belongs to another role. */
interface ServerSession {
  readonly processId: number;
  readonly ageMs: number | null;
}

/**
 * Covers the time of the statement itself, and clocks that differ. The relative part is twenty times the drift of a bad
 * clock.
 */
const ageDifferenceMsMax = 1_000;
const ageDriftMax = 0.001;

/** Read through a new connection, so that the server is the one to which the address leads now. */
export async function readServerSessions(
  client: pg.ClientBase,
  processIds: readonly number[],
): Promise<readonly ServerSession[]> {
  const { rows } = await client.query<ServerSession>(
    `select pid as "processId", extract(epoch from clock_timestamp() - backend_start)::float8 * 1000 as "ageMs"
    from pg_stat_activity where pid = any($1)`,
    [processIds],
  );
  return rows;
}

/**
 * Whether a server does not have the session of a connection. A server that replaced another one may have given the
 * same process id to another session, but not at the same time.
 */
export function isLost(session: OpenSession, sessions: readonly ServerSession[], nowMs: number): boolean {
  const found = sessions.find(({ processId }) => processId === session.processId);
  if (found === undefined || found.ageMs === null) return true;
  const toleranceMs = ageDifferenceMsMax + found.ageMs * ageDriftMax;
  const isYounger = found.ageMs < nowMs - session.readyAtMs - toleranceMs;
  const isOlder = found.ageMs > nowMs - session.beganAtMs + toleranceMs;
  return isYounger || isOlder;
}
