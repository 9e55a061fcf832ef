import type { Queryable } from '../platform/postgres.ts';

/** All SQL that makes and drops the weeks of the inbox. Changes to tables are functions that run as the schema's owner. */
export class RetentionStore {
  /** Fails rather than wait for a lock. */
  async makeWeeks(db: Queryable): Promise<void> {
    await db.query(`select till.make_webhook_weeks(now() - interval '5 weeks', now() + interval '4 weeks')`);
  }

  /** Weeks that ended longer ago than the retention. */
  async listExpiredWeeks(db: Queryable, retentionDays: number): Promise<readonly string[]> {
    const rows = await db.query<{ name: string }>(
      `select relname as name from pg_catalog.pg_class join pg_catalog.pg_inherits on inhrelid = pg_class.oid
       where inhparent = 'till.webhook_events'::regclass and relname ~ '^webhook_events_[0-9]{8}$'
         and to_date(right(relname, 8), 'YYYYMMDD') + 7 < (now() at time zone 'utc')::date - $1::int
       order by relname`,
      [retentionDays],
    );
    return rows.map(({ name }) => name);
  }

  /**
   * Takes a week out of the inbox, with up to this many events that must be kept. Fails rather than wait for a lock. False
   * if more events are pending.
   */
  async detachWeek(db: Queryable, week: string, movedMax: number): Promise<boolean> {
    const [row] = await db.query<{ done: boolean }>('select till.detach_webhook_week($1, $2) as done', [
      week,
      movedMax,
    ]);
    return row?.done === true;
  }

  /** Weeks that are no longer part of the inbox but still exist. */
  async listDetachedWeeks(db: Queryable): Promise<readonly string[]> {
    const rows = await db.query<{ name: string }>(
      `select relname as name from pg_catalog.pg_class
       where relnamespace = 'till'::regnamespace and relkind = 'r' and not relispartition
         and relname ~ '^webhook_events_[0-9]{8}$'
       order by relname`,
    );
    return rows.map(({ name }) => name);
  }

  /** Moves failed events of a detached week into the inbox; returns how many. */
  async moveFailed(db: Queryable, week: string, limit: number): Promise<number> {
    const [row] = await db.query<{ moved: number }>(
      `select till.move_webhook_events($1, 'failed', $2) as moved`,
      [week, limit],
    );
    return row?.moved ?? 0;
  }

  /** False if the week still holds events that must be kept. */
  async dropDetachedWeek(db: Queryable, week: string): Promise<boolean> {
    const [row] = await db.query<{ done: boolean }>('select till.drop_detached_webhook_week($1) as done', [
      week,
    ]);
    return row?.done === true;
  }

  async deleteExpiredOthers(db: Queryable, retentionDays: number, limit: number): Promise<number> {
    const rows = await db.query(
      `delete from till.webhook_events_other where (id, created_at) in (
         select id, created_at from till.webhook_events_other
         where state in ('processed', 'ignored') and created_at < now() - make_interval(days => $1) limit $2)
       returning 1 as deleted`,
      [retentionDays, limit],
    );
    return rows.length;
  }
}
