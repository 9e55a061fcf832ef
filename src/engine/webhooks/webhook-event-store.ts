import type {
  Settlement,
  StoredStates,
  WebhookBacklog,
  WebhookEvent,
  WebhookEventState,
} from '#core/model/webhook-event.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { textArray } from '#core/platform/table.ts';
import type { ProcessorEvent } from '#processor/port/event-calls.ts';
import { webhookEventColumns } from './webhook-event-list-store.ts';

/** An event to store, and its state. A processed event has been applied in the same transaction. */
export interface NewWebhookEvent extends ProcessorEvent {
  readonly state: 'pending' | 'processed' | 'ignored';
  readonly attempts: number;
  /** The delay before the first attempt of a pending event. */
  readonly delayMs: number;
}

/**
 * The counts of events by state stop here. An operator needs no exact number above it, and a scrape must not read
 * millions of rows.
 */
const countMax = 100_000;

function countOf(state: WebhookEventState): string {
  return `(select count(*) from (select from till.webhook_events where state = '${state}' limit ${countMax}) as found)`;
}

/** The position of an event in the order of creation. */
export type EventPosition = Pick<ProcessorEvent, 'id' | 'createdAt'>;

/** All SQL for the inbox. */
export class WebhookEventStore {
  /**
   * Returns the new events. Inserts in the order of the ids, so that two inserts of the same events never deadlock.
   * Stores no personal data of a deleted customer, however late the event arrives: an insert that does not see the
   * deletion locks the customer's row, and the search for personal data waits for it (`CustomerStore.awaitHolders`).
   * Such an event is not stored as processed: a worker applies it as it is stored.
   */
  async insert(db: Queryable, events: readonly NewWebhookEvent[]): Promise<StoredStates> {
    const sorted = events.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const rows = await db.query<{ id: string; state: WebhookEventState }>(
      `insert into till.webhook_events
         (id, type, object_id, customer_key, created_at, api_version, payload, personal_data, state, attempts,
           next_try_at, received_at, processed_at)
       select id, type, object_id, case when erased_payload is not null and not is_due then v.customer_key end, created_at,
         api_version, case when is_due then erased_payload else payload end,
         case when erased_payload is null or is_due then 'none' else 'customer' end,
         case when is_due and state = 'processed' then 'pending' else state end, attempts,
         now() + make_interval(secs => delay_ms / 1000.0), now(),
         case when state = 'ignored' or (state = 'processed' and not is_due) then now() end
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[],
           $9::text[], $10::int[], $11::int[])
         as v (id, type, object_id, customer_key, created_at, api_version, payload, erased_payload, state, attempts,
           delay_ms)
         cross join lateral (select case when erased_payload is null then false else coalesce((
           select deleted_at is not null from till.customers
           where processor_customer_id = coalesce(v.customer_key, object_id) for key share), false) end as is_due
           offset 0) as erasure
       on conflict do nothing
       returning id, state`,
      [
        textArray(sorted.map(({ id }) => id)),
        textArray(sorted.map(({ type }) => type)),
        textArray(sorted.map(({ objectId }) => objectId)),
        textArray(sorted.map(({ customerKey }) => customerKey)),
        sorted.map(({ createdAt }) => createdAt.toISOString()),
        textArray(sorted.map(({ apiVersion }) => apiVersion)),
        textArray(sorted.map(({ payload }) => payload)),
        textArray(sorted.map(({ erasedPayload }) => erasedPayload)),
        textArray(sorted.map(({ state }) => state)),
        sorted.map(({ attempts }) => attempts),
        sorted.map(({ delayMs }) => delayMs),
      ],
      'insert_webhook_events',
    );
    return new Map(rows.map(({ id, state }) => [id, state]));
  }

  /** The stored ones among these ids. The limit makes PostgreSQL look up each one by the primary key. */
  async findStored(
    db: Queryable,
    events: readonly Pick<ProcessorEvent, 'id' | 'createdAt'>[],
  ): Promise<ReadonlySet<string>> {
    const rows = await db.query<{ id: string }>(
      `select v.id from unnest($1::text[], $2::timestamptz[]) as v (id, created_at)
         cross join lateral (select from till.webhook_events
           where webhook_events.id = v.id and webhook_events.created_at = v.created_at limit 1) as found`,
      [textArray(events.map(({ id }) => id)), events.map(({ createdAt }) => createdAt.toISOString())],
      'find_stored_webhook_events',
    );
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * Whether an event is due. Cheaper than a claim that finds none, and locks nothing. The order makes PostgreSQL read
   * the index of pending events: statistics from a backlog would suggest that any row of the table is one.
   */
  async hasDue(db: Queryable): Promise<boolean> {
    const rows = await db.query(
      `select from till.webhook_events where state = 'pending' and next_try_at <= now() order by next_try_at limit 1`,
      [],
      'has_due_webhook_events',
    );
    return rows.length > 0;
  }

  /** Locks due events, and skips those that another worker has locked. Returns them in order of creation. */
  async claim(tx: Queryable, limit: number): Promise<readonly WebhookEvent[]> {
    const rows = await tx.query<WebhookEvent>(
      `select ${webhookEventColumns} from till.webhook_events where state = 'pending' and next_try_at <= now()
       order by next_try_at limit $1 for update skip locked`,
      [limit],
      // A named statement, because planning for many partitions takes a millisecond, several times the run time.
      'claim_webhook_events',
    );
    return inOrderOfCreation(rows);
  }

  /** Locks the events among these that are still due, and skips those that another worker has locked. */
  async claimAgain(tx: Queryable, events: readonly WebhookEvent[]): Promise<readonly WebhookEvent[]> {
    const rows = await tx.query<WebhookEvent>(
      `select ${webhookEventColumns} from till.webhook_events
       where (id, created_at) in (select * from unnest($1::text[], $2::timestamptz[]))
         and state = 'pending' and next_try_at <= now()
       for update skip locked`,
      [events.map(({ id }) => id), events.map(({ createdAt }) => createdAt.toISOString())],
    );
    return inOrderOfCreation(rows);
  }

  /**
   * Settles events that are still pending. If a lease expired, another worker may have settled the event. Returns the
   * ids of the events with a new outcome: a replay of an event that took effect before is not new. An ignored or failed
   * event may be about a customer that does not belong to Till, so the erasure checks it again.
   */
  async settle(tx: Queryable, settlements: readonly Settlement[]): Promise<ReadonlySet<string>> {
    if (settlements.length === 0) return new Set();
    const rows = await tx.query<{ id: string; is_new: boolean }>(
      `update till.webhook_events set state = v.state, attempts = v.attempts, last_error = v.last_error,
         next_try_at = now() + make_interval(secs => v.delay_ms / 1000.0),
         personal_data = case when personal_data = 'customer' and v.state in ('ignored', 'failed') then 'unchecked'
           else personal_data end,
         processed_at = case when v.state in ('processed', 'ignored') then coalesce(processed_at, now()) else processed_at end
       from unnest($1::text[], $2::timestamptz[], $3::text[], $4::int[], $5::text[], $6::int[])
         as v (id, created_at, state, attempts, last_error, delay_ms)
       where webhook_events.id = v.id and webhook_events.created_at = v.created_at and webhook_events.state = 'pending'
       returning v.id, v.state = 'failed' or processed_at = now() as is_new`,
      [
        textArray(settlements.map(({ id }) => id)),
        settlements.map(({ createdAt }) => createdAt.toISOString()),
        textArray(settlements.map(({ state }) => state)),
        settlements.map(({ attempts }) => attempts),
        textArray(settlements.map(({ lastError }) => lastError)),
        settlements.map(({ delayMs }) => delayMs),
      ],
      'settle_webhook_events',
    );
    return new Set(rows.filter(({ is_new }) => is_new).map(({ id }) => id));
  }

  async find(db: Queryable, id: string): Promise<WebhookEvent | undefined> {
    const rows = await db.query<WebhookEvent>(
      `select ${webhookEventColumns} from till.webhook_events where id = $1`,
      [id],
    );
    return rows[0];
  }

  /** Puts an event back into the queue, as if it had just arrived. */
  async requeue(db: Queryable, id: string): Promise<WebhookEvent | undefined> {
    const rows = await db.query<WebhookEvent>(
      `update till.webhook_events set state = 'pending', attempts = 0, next_try_at = now(), last_error = null
       where id = $1 returning ${webhookEventColumns}`,
      [id],
    );
    return rows[0];
  }

  /**
   * Returns ignored events that mention one of these objects to the queue, and returns their number. Waits for workers
   * that are about to ignore one. Searches the payloads, because an event can be about another object, such as a
   * refund. There are few: only those that the processor has created since.
   */
  async requeueIgnored(db: Queryable, keys: readonly string[], since: Date): Promise<number> {
    const rows = await db.query(
      `with candidates as (
         select id, created_at, state from till.webhook_events
         where state in ('ignored', 'pending') and created_at >= $2
           and exists (select from unnest($1::text[]) as key where strpos(payload, '"' || key || '"') > 0)
         order by created_at, id for update)
       update till.webhook_events set state = 'pending', attempts = 0, next_try_at = now(), last_error = null
       from candidates where candidates.state = 'ignored' and webhook_events.id = candidates.id
         and webhook_events.created_at = candidates.created_at
       returning webhook_events.id`,
      [keys, since],
      'requeue_ignored_webhook_events',
    );
    return rows.length;
  }

  /**
   * The same for all objects, up to a number of events after this one. Returns the last event that it has checked.
   * Events of types that Till does not follow are left out, because they were never applied.
   */
  async requeueIgnoredAfter(
    tx: Queryable,
    after: EventPosition,
    limit: number,
  ): Promise<EventPosition | undefined> {
    const rows = await tx.query<EventPosition>(
      `with candidates as (
         select id, created_at, state from till.webhook_events
         where (created_at, id) > ($1, $2) and (state = 'pending' or (state = 'ignored' and attempts > 0))
         order by created_at, id limit $3 for update),
       requeued as (
         update till.webhook_events set state = 'pending', attempts = 0, next_try_at = now(), last_error = null
         from candidates where candidates.state = 'ignored' and webhook_events.id = candidates.id
           and webhook_events.created_at = candidates.created_at)
       select id, created_at as "createdAt" from candidates order by created_at, id`,
      [after.createdAt, after.id, limit],
    );
    return rows.length < limit ? undefined : rows.at(-1);
  }

  /** Puts failed events back into the queue, and returns how many. */
  async requeueFailed(db: Queryable, limit: number): Promise<number> {
    const rows = await db.query(
      `update till.webhook_events set state = 'pending', attempts = 0, next_try_at = now(), last_error = null
       from (select id, created_at from till.webhook_events where state = 'failed'
         order by created_at limit $1 for update skip locked) as failed
       where webhook_events.id = failed.id and webhook_events.created_at = failed.created_at
       returning webhook_events.id`,
      [limit],
    );
    return rows.length;
  }

  /** Each statement reads the beginning of an index, or counts the entries of one. */
  async backlog(db: Queryable): Promise<WebhookBacklog> {
    const [row] = await db.query<WebhookBacklog>(
      `select ${countOf('pending')} as pending, ${countOf('failed')} as failed,
         (select extract(epoch from now() - next_try_at)::float8 from till.webhook_events
           where state = 'pending' and next_try_at <= now() order by next_try_at limit 1) as "lagSeconds",
         (select greatest(extract(epoch from now() - received_at), 0)::float8 from till.webhook_events
           where state = 'pending' order by created_at, id limit 1) as "oldestPendingSeconds"`,
    );
    return row ?? { pending: 0, failed: 0, lagSeconds: null, oldestPendingSeconds: null };
  }

  /** At most `countMax`. */
  async countPending(db: Queryable): Promise<number> {
    const [row] = await db.query<{ count: number }>(`select ${countOf('pending')} as count`);
    return row?.count ?? 0;
  }
}

function inOrderOfCreation(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  return events.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
}
