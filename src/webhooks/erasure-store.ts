import type { Queryable } from '../platform/postgres.ts';
import type { WebhookEventState } from './webhook-event.ts';

/** Where a walk through the inbox has come to. */
export interface Place {
  readonly id: string;
  readonly createdAt: Date;
}

export interface KeptPayload extends Place {
  readonly objectId: string | null;
  readonly payload: string;
  readonly state: WebhookEventState;
}

export interface MinimalEvent extends KeptPayload {
  readonly erasedPayload: string | null;
}

/** All SQL that takes personal data out of the inbox. */
export class ErasureStore {
  /**
   * Locks events of which nobody knows yet what they hold, from a place in time on; those that are being worked on are
   * passed over.
   */
  lockUnchecked(tx: Queryable, after: Place | undefined, limit: number): Promise<readonly KeptPayload[]> {
    return this.#lock(tx, `personal_data = 'unchecked'`, 'for update skip locked', after, limit);
  }

  /** Locks events that still tell of this customer. In one order, so that two searches never wait in a circle. */
  lockOfCustomer(
    tx: Queryable,
    processorCustomerId: string,
    after: Place | undefined,
    limit: number,
  ): Promise<readonly KeptPayload[]> {
    const condition = `personal_data = 'customer' and object_id = $4`;
    return this.#lock(tx, condition, 'for update', after, limit, processorCustomerId);
  }

  #lock(
    tx: Queryable,
    condition: string,
    lock: string,
    after: Place | undefined,
    limit: number,
    ...values: readonly string[]
  ): Promise<readonly KeptPayload[]> {
    return tx.query(
      `select id, created_at as "createdAt", object_id as "objectId", payload, state from till.webhook_events
       where (created_at, id) > ($1, $2) and ${condition} order by created_at, id limit $3 ${lock}`,
      [...(after === undefined ? ['-infinity', null] : [after.createdAt, after.id]), limit, ...values],
    );
  }

  /**
   * Writes what may be kept: nothing of a customer who is deleted, nor of one who turned out to be none of ours. While an
   * event still waits its customer may become ours, because the row may be a moment behind the processor.
   */
  async rewrite(tx: Queryable, events: readonly MinimalEvent[]): Promise<void> {
    await tx.query(
      `update till.webhook_events set
         payload = case when fate.is_gone then v.erased_payload else v.payload end,
         personal_data = case when v.erased_payload is null or fate.is_gone then 'none' else 'customer' end
       from unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[])
           as v (id, created_at, object_id, payload, erased_payload, state)
         left join till.customers on processor_customer_id = v.object_id
         cross join lateral (select v.erased_payload is not null and (customers.deleted_at is not null
           or (customers.id is null and v.state <> 'pending')) as is_gone) as fate
       where webhook_events.id = v.id and webhook_events.created_at = v.created_at`,
      [
        events.map(({ id }) => id),
        events.map(({ createdAt }) => createdAt.toISOString()),
        events.map(({ objectId }) => objectId),
        events.map(({ payload }) => payload),
        events.map(({ erasedPayload }) => erasedPayload),
        events.map(({ state }) => state),
      ],
    );
  }
}
