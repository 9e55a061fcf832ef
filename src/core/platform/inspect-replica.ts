import { DatabaseServers, withPrimary } from './primary-connection.ts';
import { UnsuitableServerError } from './unavailable.ts';

const options = { application_name: 'till doctor', query_timeout: 5_000 };

/** What operators need to know about a replica. */
export interface ReplicaFacts {
  readonly isStandby: boolean;
  /** Whether the replica has what this primary wrote. If not, it follows another server, or is far behind. */
  readonly isOfPrimary: boolean;
  /** How much of the primary's log it has not replayed. */
  readonly missingBytes: number;
}

/** Connects once to each server, with limits, and changes nothing. */
export async function inspectReplica(url: string, primaryUrl: string): Promise<ReplicaFacts> {
  const { rows: primary } = await withPrimary(primaryUrl, options, (client) =>
    client.query<{ history: number; lsn: string }>(
      'select till.appended_history() as history, pg_current_wal_flush_lsn() as lsn',
    ),
  );
  const reading = withPrimary(new DatabaseServers(url, 'replica'), options, (client) =>
    client.query<Omit<ReplicaFacts, 'isStandby'>>(
      `select till.appended_history() = $1 as "isOfPrimary",
         greatest($2::pg_lsn - pg_last_wal_replay_lsn(), 0)::float8 as "missingBytes"`,
      [primary[0]?.history, primary[0]?.lsn],
    ),
  );
  try {
    const [facts] = (await reading).rows;
    if (facts === undefined) throw new Error('the replica returned nothing');
    return { isStandby: true, ...facts };
  } catch (error) {
    if (!(error instanceof UnsuitableServerError)) throw error;
    return { isStandby: false, isOfPrimary: false, missingBytes: 0 };
  }
}
