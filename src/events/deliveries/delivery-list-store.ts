import type { Queryable } from '../../platform/postgres.ts';
import { checksumOf } from '../feed/event-store.ts';
import type { Delivery } from './delivery.ts';

/** Greater than every id. */
const afterAllIds = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** All SQL for the deliveries that are kept: the list, the age of the oldest, and erasure. */
export class DeliveryListStore {
  /** Newest first, starting before `before`. */
  list(
    db: Queryable,
    endpointId: string,
    before: string | null,
    limit: number,
  ): Promise<readonly Delivery[]> {
    const columns = `id, position, event_created_at as "eventCreatedAt",
      ${checksumOf('position', 'event_created_at')} as checksum, attempt, response_status as "responseStatus",
      response_body as "responseBody", duration_ms as "durationMs", created_at as "createdAt"`;
    const page = 'where endpoint_id = $1 and id < $2 order by id desc limit $3';
    return db.query(
      `(select ${columns}, 'pending' as status, next_attempt_at as "nextAttemptAt" from till.event_retries ${page})
       union all
       (select ${columns}, case when succeeded then 'succeeded' else 'failed' end, null
        from till.event_deliveries ${page})
       order by id desc limit $3`,
      [endpointId, before ?? afterAllIds, limit],
    );
  }

  /** The age of the oldest event that an endpoint has not received yet. 0 if there is none. */
  async oldestUndeliveredSeconds(db: Queryable): Promise<number> {
    const [row] = await db.query<{ seconds: number }>(
      `select coalesce(extract(epoch from now() - min(oldest)), 0)::float8 as seconds from (
         select min(event_created_at) as oldest from till.event_retries
           join till.event_endpoints on event_endpoints.id = endpoint_id where enabled
         union all
         select following.created_at from till.event_endpoints
           cross join lateral (select created_at from till.events where position > event_endpoints.position
             order by position limit 1) as following
         where enabled) as undelivered`,
    );
    return Math.max(0, row?.seconds ?? 0);
  }

  /** Removes the response bodies of deliveries about a customer, up to a number of rows. Returns that number. */
  async eraseResponses(db: Queryable, customerId: string, limit: number): Promise<number> {
    const isTheirs = 'customer_id = $1 and response_body is not null';
    const rows = await db.query(
      `with waiting as (
         update till.event_retries set response_body = null where ${isTheirs} returning 1),
       finished as (
         update till.event_deliveries set response_body = null where (endpoint_id, id, created_at) in (
           select endpoint_id, id, created_at from till.event_deliveries where ${isTheirs} limit $2) returning 1)
       select from waiting union all select from finished`,
      [customerId, limit],
    );
    return rows.length;
  }
}
