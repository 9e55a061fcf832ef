import type { WebhookEvent } from '#core/model/webhook-event.ts';
import type { Queryable } from '#core/platform/postgres.ts';

/** A position in the inbox, which is read in order of creation. */
export type InboxPosition = Pick<WebhookEvent, 'id' | 'createdAt'>;

export interface StoredPayload
  extends Pick<WebhookEvent, 'id' | 'createdAt' | 'objectId' | 'payload' | 'state'> {
  /** The customer that the object belongs to. Null if the object is the customer. */
  readonly customerKey: string | null;
}

interface RedactedPayload extends StoredPayload {
  readonly erasedPayload: string | null;
}

/** Which events of a customer: each kind is found by its own index. */
export const eventsOfCustomer = ['customer', 'belongings'] as const;

type EventsOfCustomer = (typeof eventsOfCustomer)[number];

/** All SQL that removes personal data from the inbox. */
export class ErasureStore {
  /** Locks events that were not checked for personal data, after a position. Skips events locked by a worker. */
  lockUnchecked(
    tx: Queryable,
    after: InboxPosition | undefined,
    limit: number,
  ): Promise<readonly StoredPayload[]> {
    return this.#lock(tx, `personal_data = 'unchecked'`, 'for update skip locked', after, limit);
  }

  /**
   * Locks events that contain personal data of this customer, in order of creation to avoid deadlocks. They are either
   * about the customer, or about objects that belong to it.
   */
  lockOfCustomer(
    tx: Queryable,
    {
      processorCustomerId,
      about,
    }: { readonly processorCustomerId: string; readonly about: EventsOfCustomer },
    after: InboxPosition | undefined,
    limit: number,
  ): Promise<readonly StoredPayload[]> {
    const column = about === 'customer' ? 'object_id' : 'customer_key';
    const condition = `personal_data = 'customer' and ${column} = $4`;
    return this.#lock(tx, condition, 'for update', after, limit, processorCustomerId);
  }

  #lock(
    tx: Queryable,
    condition: string,
    lock: string,
    after: InboxPosition | undefined,
    limit: number,
    ...values: readonly string[]
  ): Promise<readonly StoredPayload[]> {
    return tx.query(
      `select id, created_at as "createdAt", object_id as "objectId", customer_key as "customerKey",
         payload, state
       from till.webhook_events where (created_at, id) > ($1, $2) and ${condition} order by created_at, id limit $3 ${lock}`,
      [...(after === undefined ? ['-infinity', null] : [after.createdAt, after.id]), limit, ...values],
    );
  }

  /**
   * Stores redacted payloads. Removes all personal data of deleted customers, and of customers that do not belong to
   * Till. Also removes the metadata of a payment or subscription that does not belong to Till. A pending event keeps
   * its data, because the row of its customer may not be written yet. Locks the customers' rows, as the insert of an
   * event does.
   */
  async rewrite(tx: Queryable, events: readonly RedactedPayload[]): Promise<void> {
    await tx.query(
      `update till.webhook_events set
         payload = case when erasure.is_due then v.erased_payload else v.payload end,
         personal_data = case when v.erased_payload is null or erasure.is_due then 'none' else 'customer' end
       from unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
           as v (id, created_at, object_id, customer_key, payload, erased_payload, state)
         cross join lateral (select (select case when deleted_at is null then 'live' else 'deleted' end
           from till.customers where processor_customer_id = coalesce(v.customer_key, v.object_id) for key share)
           as customer offset 0) as owner
         cross join lateral (select v.erased_payload is not null and (owner.customer = 'deleted'
           or (owner.customer is null and v.state <> 'pending')
           or (v.customer_key is not null and v.state = 'ignored')) as is_due) as erasure
       where webhook_events.id = v.id and webhook_events.created_at = v.created_at`,
      [
        events.map(({ id }) => id),
        events.map(({ createdAt }) => createdAt.toISOString()),
        events.map(({ objectId }) => objectId),
        events.map(({ customerKey }) => customerKey),
        events.map(({ payload }) => payload),
        events.map(({ erasedPayload }) => erasedPayload),
        events.map(({ state }) => state),
      ],
    );
  }
}
