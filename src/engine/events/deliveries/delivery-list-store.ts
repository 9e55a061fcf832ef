import { Parameters, type Statement } from '#core/platform/parameters.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { EventPlace } from '../feed/event-id.ts';
import { checksumOf } from '../feed/event-store.ts';
import type { StoredEvent } from '../feed/stored-event.ts';
import type { Delivery, DeliveryStatus } from './delivery.ts';

/** Greater than every id. */
const afterAllIds = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Deliveries of one endpoint, or of one event to all endpoints. */
type DeliverySelection = (
  | { readonly endpointId: string }
  | { readonly event: EventPlace & Pick<StoredEvent, 'objectId'> }
) & { readonly status?: DeliveryStatus | undefined };

/** All SQL for the deliveries that are kept: the list, the age of the oldest, and erasure. */
export class DeliveryListStore {
  /** Newest first, starting before `before`. */
  list(
    db: Queryable,
    selection: DeliverySelection,
    before: string | null,
    limit: number,
  ): Promise<readonly Delivery[]> {
    const { text, values } = deliveryStatement(selection, before, limit);
    return db.query(text, values);
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
       resent as (
         update till.event_resends set response_body = null where (endpoint_id, position) in (
           select endpoint_id, position from till.event_resends where ${isTheirs} limit $2) returning 1),
       finished as (
         update till.event_deliveries set response_body = null where (endpoint_id, id, created_at) in (
           select endpoint_id, id, created_at from till.event_deliveries where ${isTheirs} limit $2) returning 1)
       select from waiting union all select from resent union all select from finished`,
      [customerId, limit],
    );
    return rows.length;
  }
}

/**
 * The statement that reads a page of deliveries, and their events by primary key. The waiting deliveries of an event
 * are found endpoint by endpoint, because there are few endpoints. The time of an event excludes the weeks of finished
 * deliveries before it; the day of margin is for clocks that differ.
 */
export function deliveryStatement(
  selection: DeliverySelection,
  before: string | null,
  limit: number,
): Statement {
  const parameters = new Parameters([before ?? afterAllIds, limit]);
  const { add } = parameters;
  const { status } = selection;
  const { waiting, resent, finished } =
    'endpointId' in selection ? ofEndpoint(add(selection.endpointId)) : ofEvent(selection.event, add);
  const page = (conditions: string) => `where ${conditions} and id < $1 order by id desc limit $2`;
  const pending = `'pending' as status, next_attempt_at as "nextAttemptAt"`;
  const parts: string[] = [];
  if (status === undefined || status === 'pending')
    parts.push(
      `select ${columns}, ${pending} from till.event_retries ${page(waiting())}`,
      `select ${columns}, ${pending} from till.event_resends ${page(resent())}`,
    );
  if (status !== 'pending') {
    const result = status === undefined ? '' : ` and ${status === 'failed' ? 'not ' : ''}succeeded`;
    parts.push(
      `select ${columns}, case when succeeded then 'succeeded' else 'failed' end as status,
         null::timestamptz as "nextAttemptAt" from till.event_deliveries ${page(finished() + result)}`,
    );
  }
  return parameters.statement(`select page.*, ${checksumOf('page.position', 'page."eventCreatedAt"')} as checksum,
      events.type as "eventType", events.object_type as "objectType", events.object_id as "objectId"
    from (select * from (${parts.map((part) => `(${part})`).join(' union all ')}) as found
        order by id desc limit $2) as page
      left join till.events on events.position = page.position and events.created_at = page."eventCreatedAt"
    order by page.id desc`);
}

const columns = `id, endpoint_id as "endpointId", position, event_created_at as "eventCreatedAt",
  customer_id as "customerId", attempt, response_status as "responseStatus", response_body as "responseBody",
  duration_ms as "durationMs", created_at as "createdAt"`;

/** The conditions on retries, resends and finished deliveries. Each adds its own values. */
interface Conditions {
  readonly waiting: () => string;
  readonly resent: () => string;
  readonly finished: () => string;
}

function ofEndpoint(endpointId: string): Conditions {
  const condition = () => `endpoint_id = ${endpointId}`;
  return { waiting: condition, resent: condition, finished: condition };
}

function ofEvent(
  { position, createdAtMs, objectId }: EventPlace & Pick<StoredEvent, 'objectId'>,
  add: Parameters['add'],
): Conditions {
  const isOfEvent = `position = ${add(position)}`;
  const isAtEndpoint = 'endpoint_id in (select event_endpoints.id from till.event_endpoints)';
  return {
    waiting: () => `${isAtEndpoint} and object_id = ${add(objectId)} and ${isOfEvent}`,
    resent: () => `${isAtEndpoint} and ${isOfEvent}`,
    finished: () =>
      `${isOfEvent} and created_at >= ${add(new Date(createdAtMs))}::timestamptz - interval '1 day'`,
  };
}
