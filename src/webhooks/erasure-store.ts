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

export interface DeletedCustomer {
  readonly id: string;
  readonly processorCustomerId: string;
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

  async #lock(
    tx: Queryable,
    condition: string,
    lock: string,
    after: Place | undefined,
    limit: number,
    ...values: readonly string[]
  ): Promise<readonly KeptPayload[]> {
    const rows = await tx.query<KeptPayloadRow>(
      `select id, created_at, object_id, payload, state from till.webhook_events
       where (created_at, id) > ($1, $2) and ${condition} order by created_at, id limit $3 ${lock}`,
      [after?.createdAt ?? '-infinity', after?.id ?? '', limit, ...values],
    );
    return rows.map(toKeptPayload);
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

  /** Deleted customers whose events are to be searched, those that wait longest first. */
  async listDue(db: Queryable, limit: number): Promise<readonly DeletedCustomer[]> {
    const rows = await db.query<{ id: string; processor_customer_id: string }>(
      `select id, processor_customer_id from till.customers
       where deleted_at is not null and erase_at is not null and erase_at <= now() order by erase_at limit $1`,
      [limit],
    );
    return rows.map((row) => ({ id: row.id, processorCustomerId: row.processor_customer_id }));
  }

  /**
   * Nothing is left for now. A second search follows when every insert that began before the deletion, and so could not
   * know of it, has ended for certain. Both times are the database's: a service's clock may be wrong.
   */
  async markErased(db: Queryable, { id }: DeletedCustomer): Promise<void> {
    await db.query(
      `update till.customers set erase_at =
         case when first_erased_at is null then now() + interval '10 minutes' end,
         first_erased_at = coalesce(first_erased_at, now())
       where id = $1`,
      [id],
    );
  }
}

interface KeptPayloadRow {
  readonly id: string;
  readonly created_at: Date;
  readonly object_id: string | null;
  readonly payload: string;
  readonly state: WebhookEventState;
}

function toKeptPayload({ created_at, object_id, ...row }: KeptPayloadRow): KeptPayload {
  return { ...row, createdAt: created_at, objectId: object_id };
}
