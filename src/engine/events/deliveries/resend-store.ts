import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { type DeliveryRecord, recordSet, recordsText } from './delivery-store.ts';

/** An endpoint that receives an event again, and the id of the new delivery. */
interface ResendTarget {
  readonly endpointId: string;
  readonly deliveryId: string;
  /** In its order, an event whose type the endpoint no longer wants is dropped. */
  readonly isWanted: boolean;
}

/** All SQL for events that are sent to an endpoint again. The caller holds the lock of the endpoint's row. */
export class ResendStore {
  /**
   * Queues an event for some endpoints. If the event still waits at an endpoint, in its order or as a resend, its next
   * attempt is due now instead: two requests at once cause one delivery.
   */
  queue(tx: Transaction, event: DeliveryRecord['event'], targets: readonly ResendTarget[]): void {
    const endpointIds = targets.map(({ endpointId }) => endpointId);
    const deliveryIds = targets.map(({ deliveryId }) => deliveryId);
    const wanted = targets.map(({ isWanted }) => isWanted);
    const { position, objectId, customerId } = event;
    const createdAt = new Date(event.createdAtMs);
    tx.send(
      `update till.event_retries set next_attempt_at = least(next_attempt_at, now())
       where endpoint_id = any($1) and object_id = $2 and position = $3`,
      [endpointIds, objectId, position],
    );
    tx.send(
      `insert into till.event_resends as waiting (endpoint_id, id, position, event_created_at, object_id, customer_id,
         attempt, next_attempt_at, created_at)
       select v.endpoint_id, v.id, $3::bigint, $4::timestamptz, $5::uuid, $6::uuid, 0, now(), now()
       from unnest($1::uuid[], $2::uuid[], $7::boolean[]) as v (endpoint_id, id, is_wanted)
       where not exists (select from till.event_retries
         where endpoint_id = v.endpoint_id and object_id = $5 and position = $3 and v.is_wanted)
       on conflict (endpoint_id, position) do update
         set next_attempt_at = least(waiting.next_attempt_at, excluded.next_attempt_at)`,
      [endpointIds, deliveryIds, position, createdAt, objectId, customerId, wanted],
    );
    tx.send(
      `update till.event_deliveries set resent = true
       where endpoint_id = any($1) and position = $2 and not succeeded and not resent`,
      [endpointIds, position],
    );
  }

  /**
   * Queues the oldest failed deliveries of an endpoint, one for each of `ids`, and marks them. Those whose events are
   * no longer kept, or still wait there, are only marked.
   */
  async queueFailed(
    tx: Transaction,
    endpointId: string,
    ids: readonly string[],
  ): Promise<{ readonly marked: number; readonly queued: number }> {
    const [row] = await tx.query<{ marked: number; queued: number }>(
      `with failed as materialized (
         select id, created_at, position, event_created_at from till.event_deliveries
         where endpoint_id = $1 and not succeeded and not resent order by position limit cardinality($2::uuid[])
       ), marked as (
         update till.event_deliveries set resent = true from failed
         where event_deliveries.endpoint_id = $1 and event_deliveries.id = failed.id
           and event_deliveries.created_at = failed.created_at
         returning 1
       ), numbered as (
         select position, event_created_at, row_number() over () as place
         from (select distinct position, event_created_at from failed) as one
       ), queued as (
         insert into till.event_resends (endpoint_id, id, position, event_created_at, object_id, customer_id, attempt,
           next_attempt_at, created_at)
         select $1, ($2::uuid[])[numbered.place], events.position, events.created_at, events.object_id,
           events.customer_id, 0, now(), now()
         from numbered
           join till.events on events.position = numbered.position and events.created_at = numbered.event_created_at
         where not exists (select from till.event_retries as waiting where waiting.endpoint_id = $1
           and waiting.object_id = events.object_id and waiting.position = events.position)
         on conflict do nothing returning 1
       )
       select (select count(*) from marked)::integer as marked, (select count(*) from queued)::integer as queued`,
      [endpointId, ids],
      'queue_failed_deliveries',
    );
    return row ?? { marked: 0, queued: 0 };
  }

  /** Resends wait again after a failed attempt. Retries end three days after the first failure. */
  saveWaiting(
    tx: Transaction,
    endpointId: string,
    records: readonly (DeliveryRecord & { readonly delayMs: number })[],
  ): void {
    if (records.length === 0) return;
    tx.send(
      `update till.event_resends as waiting set attempt = v.attempt,
         next_attempt_at = least(now() + make_interval(secs => v."delayMs" / 1000.0), ${giveUpAt}),
         give_up_at = ${giveUpAt}, response_status = v."responseStatus", response_body = v."responseBody",
         duration_ms = v."durationMs"
       from ${recordSet} where endpoint_id = $1 and waiting.position = v.position and waiting.id = v.id`,
      [endpointId, recordsText(records)],
      'save_waiting_resends',
    );
  }

  /**
   * Removes waiting resends of an endpoint, up to a number. Returns that number. Skips those that a lane is recording,
   * because the two lock rows in different orders.
   */
  async deleteSome(db: Queryable, endpointId: string, limit: number): Promise<number> {
    const rows = await db.query(
      `delete from till.event_resends where endpoint_id = $1 and position in (
         select position from till.event_resends where endpoint_id = $1 limit $2 for update skip locked)
       returning 1`,
      [endpointId, limit],
    );
    return rows.length;
  }
}

const giveUpAt = `coalesce(waiting.give_up_at, now() + interval '3 days')`;
