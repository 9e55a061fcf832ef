import type { Queryable, Transaction } from '../../platform/postgres.ts';
import type { RecordedObject } from './describe-change.ts';

/** The class of the advisory locks on the links of subscriptions ("tlsl" in ASCII). */
const linkLockClass = 0x746c736c;

/** All SQL that writes events and what is recorded about their objects. */
export class OutboxStore {
  /**
   * Takes the locks in ascending order, so that two transactions never deadlock. The end of the transaction releases
   * them.
   */
  lockLinks(tx: Transaction, locks: readonly number[]): void {
    const sql = `select pg_advisory_xact_lock(${linkLockClass}, lock) from unnest($1::int[]) as lock`;
    tx.send(sql, [locks], 'lock_event_links');
  }

  findRecorded(db: Queryable, ids: readonly string[]): Promise<readonly RecordedObject[]> {
    return db.query(
      `select object_id as id, data::text as data, changes_at as "changesAt" from till.event_objects
       where object_id = any($1)`,
      [ids],
      'find_event_objects',
    );
  }

  /** Objects that change by time alone, and whose time has come. */
  async listDue(db: Queryable, now: Date, limit: number): Promise<readonly string[]> {
    const rows = await db.query<{ id: string }>(
      `select object_id as id from till.event_objects where changes_at <= $1 order by changes_at limit $2`,
      [now, limit],
    );
    return rows.map(({ id }) => id);
  }

  append(tx: Transaction, events: readonly string[]): void {
    tx.send('select till.append_events($1)', [toArray(events)], 'append_events');
  }

  /** Records what the API shows of objects, without an event. */
  record(tx: Transaction, objects: readonly string[]): void {
    tx.send(
      `insert into till.event_objects (object_id, object_type, data, changes_at)
       select "objectId", "objectType", data, "changesAt"
       from json_to_recordset($1::json) as v ("objectId" uuid, "objectType" text, data json, "changesAt" timestamptz)
       order by "objectId"
       on conflict (object_id) do update set data = excluded.data, changes_at = excluded.changes_at`,
      [toArray(objects)],
      'record_event_objects',
    );
  }
}

function toArray(items: readonly string[]): string {
  return `[${items.join(',')}]`;
}
