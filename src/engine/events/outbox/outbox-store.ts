import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { anyOf, recordSet, textArray } from '#core/platform/table.ts';
import type { EventPlace } from '../feed/event-id.ts';
import type { StoredEvent } from '../feed/stored-event.ts';

/** The class of the advisory locks on the links of subscriptions ("tlsl" in ASCII). */
const linkLockClass = 0x746c736c;

/** A subscription whose newest event says that a grace period entitles its customer. */
export interface GracePeriod {
  readonly subscriptionId: string;
  readonly endsAt: Date;
}

/** An event as `till.append_events` takes it. PostgreSQL adds its position and time. */
export type EventText = Omit<StoredEvent, keyof EventPlace>;

/** In the order of the parameters of `till.append_events`. */
const eventFields = [
  ...(['type', 'objectType', 'objectId', 'customerId'] as const),
  ...(['data', 'previous', 'cause', 'traceparent'] as const),
];

const appendEvents = `select till.append_events(${eventFields.map((_, index) => `$${index + 1}`).join(', ')})`;

/** All SQL that writes events. */
export class OutboxStore {
  /**
   * Takes the locks in ascending order, so that two transactions never deadlock. The end of the transaction releases
   * them.
   */
  lockLinks(tx: Transaction, locks: readonly number[]): void {
    const sql = `select pg_advisory_xact_lock(${linkLockClass}, lock) from unnest($1::int[]) as lock`;
    tx.send(sql, [locks], 'lock_event_links');
  }

  append(tx: Transaction, events: readonly EventText[]): void {
    const values = eventFields.map((field) => textArray(events.map((event) => event[field])));
    tx.send(appendEvents, values, 'append_events');
  }

  findGrace(db: Queryable, subscriptionIds: readonly string[]): Promise<readonly GracePeriod[]> {
    return db.query(
      `select subscription_id as "subscriptionId", ends_at as "endsAt" from till.grace_periods
       where subscription_id = ${anyOf('$1', 'uuid')}`,
      [subscriptionIds],
      'find_grace_periods',
    );
  }

  recordGrace(tx: Transaction, periods: readonly GracePeriod[]): void {
    tx.send(
      `insert into till.grace_periods (subscription_id, ends_at)
       select "subscriptionId", "endsAt" from jsonb_to_recordset($1::jsonb) as v ("subscriptionId" uuid, "endsAt" timestamptz)
       on conflict (subscription_id) do update set ends_at = excluded.ends_at`,
      [recordSet(periods)],
    );
  }

  removeGrace(tx: Transaction, subscriptionIds: readonly string[]): void {
    tx.send('delete from till.grace_periods where subscription_id = any($1)', [subscriptionIds]);
  }

  /** The subscriptions whose grace period has ended without an event that says so. */
  async listEndedGrace(db: Queryable, now: Date, limit: number): Promise<readonly string[]> {
    const rows = await db.query<{ id: string }>(
      'select subscription_id as id from till.grace_periods where ends_at <= $1 order by ends_at limit $2',
      [now, limit],
    );
    return rows.map(({ id }) => id);
  }
}
