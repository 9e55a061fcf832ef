import type pg from 'pg';
import { connectToPrimary, DatabaseServers, withPrimary } from './primary-connection.ts';
import { UnsuitableServerError } from './unavailable.ts';

const options = { application_name: 'till doctor', query_timeout: 5_000 };

/** What an operator must know about a replica. */
export interface ReplicaFacts {
  readonly isStandby: boolean;
  /** Whether it has what this primary wrote. Otherwise it follows another server, or is far behind. */
  readonly isOfPrimary: boolean;
  /** How much of the primary's log it has not replayed. */
  readonly missingBytes: number;
}

/** Connects once to each server, with limits, and changes nothing. */
export async function inspectReplica(url: string, primaryUrl: string): Promise<ReplicaFacts> {
  const [primary] = await withPrimary(primaryUrl, options, (client) =>
    read<{ history: number; lsn: string }>(
      client,
      'select till.appended_history() as history, pg_current_wal_flush_lsn() as lsn',
    ),
  );
  const replica = await connectToPrimary(new DatabaseServers(url, 'replica'), options).catch(
    (error: unknown) => {
      if (error instanceof UnsuitableServerError) return undefined;
      throw error;
    },
  );
  if (replica === undefined) return { isStandby: false, isOfPrimary: false, missingBytes: 0 };
  try {
    const [facts] = await read<Omit<ReplicaFacts, 'isStandby'>>(
      replica,
      `select till.appended_history() = $1 as "isOfPrimary",
         greatest($2::pg_lsn - pg_last_wal_replay_lsn(), 0)::float8 as "missingBytes"`,
      [primary?.history, primary?.lsn],
    );
    if (facts === undefined) throw new Error('the replica returned nothing');
    return { isStandby: true, ...facts };
  } finally {
    await replica.end();
  }
}

async function read<Row extends pg.QueryResultRow>(
  client: pg.Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  return (await client.query<Row>(text, [...values])).rows;
}
