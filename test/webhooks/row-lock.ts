import assert from 'node:assert/strict';
import pg from 'pg';
import type { Backend } from '../support/backend.ts';

/** Far more checks than any statement needs to reach its lock. Each check is a round trip to the server. */
const looksMax = 10_000;

export interface RowLock {
  /** Resolves once this many others wait for a lock. */
  awaited(waiters: number): Promise<void>;
  release(): Promise<void>;
}

/** A transaction that locks rows, so that a test can stop others exactly there. */
export async function holdRows(
  { databaseUrl }: Pick<Backend, 'databaseUrl'>,
  lockingSql: string,
): Promise<RowLock> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('begin');
  await client.query(lockingSql);
  const countWaiters = async (): Promise<number> => {
    const { rows } = await client.query<{ count: string }>(
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return Number(rows[0]?.count);
  };
  return {
    awaited: async (waiters) => {
      for (let look = 0; look < looksMax; look += 1) {
        // The view is frozen within a transaction until it is told to look again.
        await client.query('select pg_stat_clear_snapshot()');
        if ((await countWaiters()) >= waiters) return;
      }
      assert.fail('no session waits for the lock');
    },
    release: async () => {
      await client.query('commit');
      await client.end();
    },
  };
}
