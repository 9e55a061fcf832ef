import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import type { WeeklyTable } from '#core/platform/weeks-store.ts';
import type { EventEndpoint } from '../endpoints/endpoint.ts';
import { checksumOf, type EventRange, eventColumns, millisOf } from '../feed/event-store.ts';
import type { StoredEvent } from '../feed/stored-event.ts';
import type { DeliveryOutcome } from './delivery.ts';
import type { QueuedDelivery } from './delivery-queue.ts';

/** Positions that one statement looks at, so that an endpoint with a rare type does not search all events at once. */
const rangeMax = 10_000;

type WithTypes = Pick<EventEndpoint, 'id' | 'types'>;

/** The waiting deliveries of an endpoint: those between two attempts, and events to send again. */
export type WaitingKind = 'retries' | 'resends';

const tableOf = (kind: WaitingKind) => `event_${kind}`;

/** A delivery that waits for an attempt. */
export interface WaitingDelivery
  extends Pick<QueuedDelivery, 'id' | 'createdAt' | 'event' | 'attempt' | 'isLast'> {
  readonly dueInMs: number;
  /** False if the event is no longer kept. Then only its position and time are known. */
  readonly isKept: boolean;
}

/** The state of a delivery after an attempt, or when it begins to wait. */
export interface DeliveryRecord extends Pick<QueuedDelivery, 'id' | 'createdAt' | 'attempt'> {
  readonly event: Pick<StoredEvent, 'position' | 'createdAtMs' | 'objectId' | 'customerId'>;
  /** Null if it begins to wait without an attempt. */
  readonly outcome: DeliveryOutcome | null;
}

/** An object whose waiting event is finished, so that its next event can wait. */
interface FreedObject {
  readonly objectId: string;
  readonly position: number;
  /** The id of the next delivery. */
  readonly nextId: string;
}

export const deliveryWeeks: WeeklyTable = {
  name: 'event_deliveries',
  primaryKey: 'endpoint_id, id, created_at',
  weeksBack: '1 week',
  removeWeek: 'till.drop_delivery_week($1)',
  isWeekDone: () => 'true',
  isRowDone: 'true',
};

/** All SQL for the delivery of events: which to send, which wait and which are finished. */
export class DeliveryStore {
  /**
   * The next events of an endpoint, in order, without those of objects that wait there. Also the position up to which
   * it has looked.
   */
  async readEvents(
    db: Queryable,
    { id, types }: WithTypes,
    { after, upTo, limit }: EventRange,
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly position: number }> {
    const until = Math.min(upTo, after + rangeMax);
    const events = await db.query<StoredEvent>(
      `select ${eventColumns} from till.events
       where position > $1 and position <= $2 and ($3::text[] is null or type = any($3))
         and not exists (select from till.event_retries where endpoint_id = $4 and object_id = events.object_id)
       order by position limit $5`,
      [after, until, types, id, limit],
      'read_events_to_deliver',
    );
    const last = events.at(-1);
    if (events.length === limit && last !== undefined) return { events, position: last.position };
    if (until === upTo) return { events, position: upTo };
    // After a failover, positions skip billions of numbers.
    const [next] = await db.query<{ position: number }>(
      'select position from till.events where position > $1 and position <= $2 order by position limit 1',
      [until, upTo],
    );
    return { events, position: next === undefined ? upTo : next.position - 1 };
  }

  /**
   * The next due deliveries of an endpoint, with their events. Leaves out the retries of `busy` objects and the `busy`
   * resends, which are in memory. The caller checks `dueInMs`.
   */
  async findWaiting(
    db: Queryable,
    kind: WaitingKind,
    endpointId: string,
    busy: readonly string[],
    limit: number,
  ): Promise<readonly WaitingDelivery[]> {
    const rows = await db.query<WaitingRow>(
      `select waiting.id as "deliveryId", waiting.created_at as "deliveryCreatedAt", attempt,
         coalesce(give_up_at <= now(), false) as "isLast", events.position is not null as "isKept",
         extract(epoch from next_attempt_at - now())::float8 * 1000 as "dueInMs",
         waiting.position, ${millisOf('event_created_at')} as "createdAtMs",
         ${checksumOf('waiting.position', 'event_created_at')} as checksum, waiting.object_id as "objectId",
         waiting.customer_id as "customerId", type, object_type as "objectType", data, previous, cause,
         traceparent
       from (select * from till.${tableOf(kind)}
           where endpoint_id = $1 and ${kind === 'retries' ? 'object_id' : 'id'} <> all($2)
           order by next_attempt_at limit $3) as waiting
         left join till.events on events.position = waiting.position and events.created_at = event_created_at
       order by next_attempt_at`,
      [endpointId, busy, limit],
      `find_waiting_${tableOf(kind)}`,
    );
    return rows.map(({ deliveryId: id, deliveryCreatedAt, attempt, isLast, isKept, dueInMs, ...event }) => ({
      ...{ id, createdAt: deliveryCreatedAt, attempt, isLast, isKept, dueInMs, event },
    }));
  }

  /** Can be repeated safely: the connection may break just after a commit. */
  insertFinished(tx: Transaction, endpointId: string, records: readonly DeliveryRecord[]): void {
    if (records.length === 0) return;
    tx.send(
      `insert into till.event_deliveries (endpoint_id, id, position, event_created_at, customer_id, attempt, succeeded,
         response_status, response_body, duration_ms, created_at)
       select $1, v.id, v.position, v."eventCreatedAt", v."customerId", v.attempt, v.succeeded, v."responseStatus",
         v."responseBody", v."durationMs", v."createdAt"
       from ${recordSet} on conflict do nothing`,
      [endpointId, recordsText(records)],
      'insert_finished_deliveries',
    );
  }

  /**
   * Stores events that begin to wait, or that wait again after another attempt. Retries end three days after the first
   * failure.
   */
  saveWaiting(
    tx: Transaction,
    endpointId: string,
    records: readonly (DeliveryRecord & { readonly delayMs: number })[],
  ): void {
    if (records.length === 0) return;
    tx.send(
      `insert into till.event_retries as waiting (endpoint_id, object_id, id, position, event_created_at, customer_id,
         attempt, next_attempt_at, give_up_at, response_status, response_body, duration_ms, created_at)
       select $1, v."objectId", v.id, v.position, v."eventCreatedAt", v."customerId", v.attempt,
         now() + make_interval(secs => v."delayMs" / 1000.0),
         case when v.attempt > 0 then now() + interval '3 days' end, v."responseStatus", v."responseBody",
         v."durationMs", v."createdAt"
       from ${recordSet}
       on conflict (endpoint_id, object_id) do update set attempt = excluded.attempt,
         next_attempt_at = least(excluded.next_attempt_at, coalesce(waiting.give_up_at, excluded.give_up_at)),
         give_up_at = coalesce(waiting.give_up_at, excluded.give_up_at), response_status = excluded.response_status,
         response_body = excluded.response_body, duration_ms = excluded.duration_ms
       where waiting.id = excluded.id`,
      [endpointId, recordsText(records)],
      'save_waiting_deliveries',
    );
  }

  deleteWaiting(tx: Transaction, kind: WaitingKind, endpointId: string, ids: readonly string[]): void {
    if (ids.length === 0) return;
    tx.send(`delete from till.${tableOf(kind)} where endpoint_id = $1 and id = any($2)`, [endpointId, ids]);
  }

  /** Stores the next event of each object as waiting, if there is one up to the position `until`. */
  promote(tx: Transaction, { id, types }: WithTypes, objects: readonly FreedObject[], until: number): void {
    if (objects.length === 0) return;
    tx.send(
      `insert into till.event_retries (endpoint_id, object_id, id, position, event_created_at, customer_id, attempt,
         next_attempt_at, created_at)
       select $1, v."objectId", v."nextId", following.position, following.created_at, following.customer_id, 0, now(), now()
       from jsonb_to_recordset($2::jsonb) as v ("objectId" uuid, position bigint, "nextId" uuid)
         cross join lateral (select position, created_at, customer_id from till.events
           where object_id = v."objectId" and position > v.position and position <= $3
             and ($4::text[] is null or type = any($4))
           order by position limit 1) as following
       on conflict do nothing`,
      [id, JSON.stringify(objects), until, types],
      'promote_waiting_deliveries',
    );
  }

  /**
   * Makes all waiting deliveries and resends of an endpoint due. With `startsAfresh`, their three days also start
   * again.
   */
  makeDue(tx: Transaction, endpointId: string, { startsAfresh }: { readonly startsAfresh: boolean }): void {
    for (const table of ['event_retries', 'event_resends'])
      tx.send(
        `update till.${table} set next_attempt_at = least(next_attempt_at, now()),
           give_up_at = case when not $2 then give_up_at end
         where endpoint_id = $1`,
        [endpointId, startsAfresh],
      );
  }

  /** Makes the waiting events of all other types due, so that they are dropped. Otherwise they could wait for hours. */
  makeUnwantedDue(tx: Transaction, endpointId: string, types: readonly string[]): void {
    tx.send(
      `update till.event_retries as waiting set next_attempt_at = least(next_attempt_at, now())
       where endpoint_id = $1 and (select type from till.events
         where position = waiting.position and created_at = waiting.event_created_at) <> all($2)`,
      [endpointId, types],
    );
  }

  /** Removes the waiting events after this position, because the endpoint goes back to it. */
  deleteWaitingAfter(tx: Transaction, endpointId: string, position: number): void {
    tx.send('delete from till.event_retries where endpoint_id = $1 and position > $2', [
      endpointId,
      position,
    ]);
  }

  /** The number of objects that wait at an endpoint, up to a limit. */
  async countWaiting(db: Queryable, endpointId: string, limit: number): Promise<number> {
    const [row] = await db.query<{ count: number }>(
      `select count(*) as count
       from (select from till.event_retries where endpoint_id = $1 limit $2) as waiting`,
      [endpointId, limit],
    );
    return row?.count ?? 0;
  }
}

/** A waiting delivery and its event, whose fields have their own names. */
type WaitingRow = Omit<WaitingDelivery, 'id' | 'createdAt' | 'event'> &
  StoredEvent & { readonly deliveryId: string; readonly deliveryCreatedAt: Date };

/** The record set of `recordsText`, as $2. */
export const recordSet = `jsonb_to_recordset($2::jsonb) as v (id uuid, position bigint, "eventCreatedAt" timestamptz,
  "objectId" uuid, "customerId" uuid, attempt integer, succeeded boolean, "responseStatus" integer, "responseBody" text,
  "durationMs" integer, "createdAt" timestamptz, "delayMs" float8)`;

export function recordsText(records: readonly (DeliveryRecord & { readonly delayMs?: number })[]): string {
  return JSON.stringify(
    records.map(({ id, event, attempt, createdAt, outcome, delayMs }) => ({
      ...{ id, attempt, createdAt, delayMs, ...outcome },
      ...{ position: event.position, eventCreatedAt: new Date(event.createdAtMs) },
      ...{ objectId: event.objectId, customerId: event.customerId },
    })),
  );
}
