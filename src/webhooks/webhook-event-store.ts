import type { PageRequest } from '../mirrors/list-page.ts';
import type { Queryable } from '../platform/postgres.ts';
import type { ProcessorEvent } from '../processor/processor.ts';
import type { Settlement, WebhookEvent } from './webhook-event.ts';
import {
  type CappedPage,
  type EventFilter,
  listEvents,
  webhookEventColumns,
} from './webhook-event-list-store.ts';

export interface NewWebhookEvent extends ProcessorEvent {
  readonly state: 'pending' | 'ignored';
}

/**
 * The queue's depth is counted up to here. Beyond it an operator needs no exact figure, and a scrape must not read millions
 * of rows.
 */
const pendingCountMax = 100_000;

/** All SQL for the inbox. */
export class WebhookEventStore {
  /**
   * The ids that were new. In the order of the ids, so that two inserts of the same events never wait in a circle. Of a
   * customer who is deleted nothing personal is stored, however late the event.
   */
  async insert(db: Queryable, events: readonly NewWebhookEvent[]): Promise<ReadonlySet<string>> {
    const sorted = events.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const rows = await db.query<{ id: string }>(
      `insert into till.webhook_events
         (id, type, object_id, created_at, api_version, payload, personal_data, state, next_try_at, received_at,
           processed_at)
       select id, type, object_id, created_at, api_version, case when is_gone then erased_payload else payload end,
         case when erased_payload is null or is_gone then 'none' else 'customer' end, state, now(), now(),
         case when state = 'ignored' then now() end
       from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[])
         as v (id, type, object_id, created_at, api_version, payload, erased_payload, state)
         cross join lateral (select erased_payload is not null and exists (select from till.customers
           where processor_customer_id = object_id and deleted_at is not null) as is_gone) as fate
       on conflict do nothing
       returning id`,
      [
        sorted.map(({ id }) => id),
        sorted.map(({ type }) => type),
        sorted.map(({ objectId }) => objectId),
        sorted.map(({ createdAt }) => createdAt.toISOString()),
        sorted.map(({ apiVersion }) => apiVersion),
        sorted.map(({ payload }) => payload),
        sorted.map(({ erasedPayload }) => erasedPayload),
        sorted.map(({ state }) => state),
      ],
      'insert_webhook_events',
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Locks events that are due; those that another worker holds are passed over. In the order in which they happened. */
  async claim(tx: Queryable, limit: number): Promise<readonly WebhookEvent[]> {
    const rows = await tx.query<WebhookEvent>(
      `select ${webhookEventColumns} from till.webhook_events where state = 'pending' and next_try_at <= now()
       order by next_try_at limit $1 for update skip locked`,
      [limit],
      // A table of many weeks takes a millisecond to plan for, several times as long as a look into an empty queue.
      'claim_webhook_events',
    );
    return rows.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  }

  /** Locks one event, if it is still pending. */
  async claimOne(tx: Queryable, { id, createdAt }: WebhookEvent): Promise<WebhookEvent | undefined> {
    const rows = await tx.query<WebhookEvent>(
      `select ${webhookEventColumns} from till.webhook_events where id = $1 and created_at = $2 and state = 'pending' for update`,
      [id, createdAt],
    );
    return rows[0];
  }

  /**
   * Settles events that are still pending: one whose lease ran out may have been settled by another worker meanwhile.
   * Returns the ids of those whose outcome is news; what took effect before, and was only replayed, is none. What came
   * to nothing may be about a customer of somebody else's: the erasure looks at it again.
   */
  async settle(tx: Queryable, settlements: readonly Settlement[]): Promise<ReadonlySet<string>> {
    if (settlements.length === 0) return new Set();
    const rows = await tx.query<{ id: string; is_news: boolean }>(
      `update till.webhook_events set state = v.state, attempts = v.attempts, last_error = v.last_error,
         next_try_at = now() + make_interval(secs => v.delay_ms / 1000.0),
         personal_data = case when personal_data = 'customer' and v.state in ('ignored', 'failed') then 'unchecked'
           else personal_data end,
         processed_at = case when v.state in ('processed', 'ignored') then coalesce(processed_at, now()) else processed_at end
       from unnest($1::text[], $2::timestamptz[], $3::text[], $4::int[], $5::text[], $6::int[])
         as v (id, created_at, state, attempts, last_error, delay_ms)
       where webhook_events.id = v.id and webhook_events.created_at = v.created_at and webhook_events.state = 'pending'
       returning v.id, v.state = 'failed' or processed_at = now() as is_news`,
      [
        settlements.map(({ id }) => id),
        settlements.map(({ createdAt }) => createdAt.toISOString()),
        settlements.map(({ state }) => state),
        settlements.map(({ attempts }) => attempts),
        settlements.map(({ lastError }) => lastError),
        settlements.map(({ delayMs }) => delayMs),
      ],
      'settle_webhook_events',
    );
    return new Set(rows.filter(({ is_news }) => is_news).map(({ id }) => id));
  }

  async find(db: Queryable, id: string): Promise<WebhookEvent | undefined> {
    const rows = await db.query<WebhookEvent>(
      `select ${webhookEventColumns} from till.webhook_events where id = $1`,
      [id],
    );
    return rows[0];
  }

  /** Puts an event back into the queue, as if it had just come. */
  async requeue(db: Queryable, id: string): Promise<WebhookEvent | undefined> {
    const rows = await db.query<WebhookEvent>(
      `update till.webhook_events set state = 'pending', attempts = 0, next_try_at = now(), last_error = null
       where id = $1 returning ${webhookEventColumns}`,
      [id],
    );
    return rows[0];
  }

  list(db: Queryable, filter: EventFilter, request: PageRequest): Promise<CappedPage<WebhookEvent>> {
    return listEvents(db, filter, request);
  }

  /** At most `pendingCountMax`. */
  async countPending(db: Queryable): Promise<number> {
    const [row] = await db.query<{ count: number }>(
      `select count(*) as count from (
         select from till.webhook_events where state = 'pending' limit ${pendingCountMax}) as pending`,
    );
    return row?.count ?? 0;
  }
}
