import { randomInt } from 'node:crypto';
import pg from 'pg';
import { withPrimary } from './primary-connection.ts';

/** A pooler that is busy or paused must not hang the start. A statement here takes a millisecond. */
const queryTimeoutMs = 5_000;
/** The first half of every lock that compares two addresses ("tlpm" in ASCII). */
const lockClass = 0x746c706d;
/** In transaction mode, nearly every round detects it. A round is three short statements. */
const roundsMax = 10;

/**
 * What is between an address and PostgreSQL, by how long a client keeps its session: no pooler, or a pooler that
 * assigns a session until the client disconnects, for one transaction, or for one statement.
 */
export type PoolMode = 'none' | 'session' | 'transaction' | 'statement';

/** This needs no privilege on the pooler, and leaves nothing behind in a shared session. */
export async function detectPoolMode(url: string): Promise<PoolMode> {
  return withClient(url, async (client) => {
    // A pooler gives its clients process numbers of its own, because their sessions change.
    if ((await readPid(client)) === processIdOf(client)) return 'none';
    if (!(await isShared(url, client))) return 'session';
    return (await allowsTransactions(client)) ? 'transaction' : 'statement';
  });
}

/**
 * Whether two connections share a session, or one connection uses two sessions. One client asks twice, then another one
 * asks: the first two results detect poolers that assign sessions in turn, and the last two detect poolers that prefer
 * the most recent session.
 */
async function isShared(url: string, client: pg.Client): Promise<boolean> {
  return withClient(url, async (other) => {
    const own = new Set<number>();
    for (let round = 0; round < roundsMax; round += 1) {
      own.add(await readPid(client));
      own.add(await readPid(client));
      if (own.size > 1 || own.has(await readPid(other))) return true;
    }
    return false;
  });
}

/** Otherwise the connection is lost: a pooler in statement mode closes it. */
async function allowsTransactions(client: pg.Client): Promise<boolean> {
  try {
    await client.query('begin');
    await client.query('commit');
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.message.includes('statement pooling')) return false;
    throw error;
  }
}

/** Whether both lead to the same database of the same server: a lock taken through one blocks the other. */
async function isSameDatabase(url: string, otherUrl: string): Promise<boolean> {
  const lock = [lockClass, randomInt(2 ** 31 - 1)];
  return withClient(url, (client) =>
    withClient(otherUrl, async (other) => {
      // A transaction-level lock cannot stay behind in a shared session.
      await other.query('begin');
      await other.query('select pg_advisory_xact_lock($1, $2)', lock);
      const { rows } = await client.query<{ free: boolean }>(
        'select pg_try_advisory_xact_lock($1, $2) as free',
        lock,
      );
      await other.query('rollback');
      return rows[0]?.free === false;
    }),
  );
}

export interface PoolerFindings {
  readonly mode: PoolMode;
  /** Why Till cannot work with these addresses, and what to change. */
  readonly mistake?: string;
}

const sharing = 'a pooler that shares sessions between transactions (PgBouncer: pool_mode = transaction)';

/** Checks DATABASE_URL, and DATABASE_DIRECT_URL if it is set, against what Till needs of them. */
export async function inspectPooler(url: string, directUrl: string | undefined): Promise<PoolerFindings> {
  const mode = await detectPoolMode(url);
  if (mode === 'statement')
    return {
      mode,
      mistake:
        'DATABASE_URL leads to a pooler that allows no transactions (PgBouncer: pool_mode = statement); ' +
        'set its mode to transaction or session.',
    };
  if (directUrl === undefined) {
    if (mode !== 'transaction') return { mode };
    return {
      mode,
      mistake:
        `DATABASE_URL leads to ${sharing}; set DATABASE_DIRECT_URL to the address of PostgreSQL itself, ` +
        'for locks and migrations.',
    };
  }
  const directMode = await detectPoolMode(directUrl);
  if (directMode === 'transaction' || directMode === 'statement')
    return {
      mode,
      mistake: `DATABASE_DIRECT_URL leads to ${sharing}; set it to the address of PostgreSQL itself.`,
    };
  if (!(await isSameDatabase(url, directUrl)))
    return {
      mode,
      mistake:
        'DATABASE_DIRECT_URL and DATABASE_URL lead to different databases or servers; ' +
        'set both to the same database of the same primary server.',
    };
  return { mode };
}

function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withPrimary(url, { application_name: 'till pooler check', query_timeout: queryTimeoutMs }, work);
}

async function readPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

/** The session's process id, as reported when it connected. The types do not have this property. */
function processIdOf(client: pg.Client): unknown {
  return 'processID' in client ? client.processID : undefined;
}
