import type { Queryable } from '../platform/postgres.ts';

/** All SQL for the weekly partitions of the inbox. Functions that run as the schema's owner change the tables. */
export class RetentionStore {
  /** Fails if it does not get its locks within 100 ms. */
  async makeWeeks(db: Queryable): Promise<void> {
    await db.query(`select till.make_webhook_weeks(now() - interval '5 weeks', now() + interval '4 weeks')`);
  }

  /** Weeks that ended before the retention period. */
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
   * Detaches a week from the inbox, and moves up to `movedMax` events that must be kept. Fails if it does not get its
   * locks within 100 ms. False if more events are pending.
   */
  async detachWeek(db: Queryable, week: string, movedMax: number): Promise<boolean> {
    const [row] = await db.query<{ done: boolean }>('select till.detach_webhook_week($1, $2) as done', [
      week,
      movedMax,
    ]);
    return row?.done === true;
  }

  /** Weeks that are detached from the inbox but not dropped. */
  async listDetachedWeeks(db: Queryable): Promise<readonly string[]> {
    const rows = await db.query<{ name: string }>(
      `select relname as name from pg_catalog.pg_class
       where relnamespace = 'till'::regnamespace and relkind = 'r' and not relispartition
         and relname ~ '^webhook_events_[0-9]{8}$'
       order by relname`,
    );
    return rows.map(({ name }) => name);
  }

  /** Moves failed events of a detached week into the inbox. Returns their number. */
  async moveFailed(db: Queryable, week: string, limit: number): Promise<number> {
    const [row] = await db.query<{ moved: number }>(
      `select till.move_webhook_events($1, 'failed', $2) as moved`,
      [week, limit],
    );
    return row?.moved ?? 0;
  }

  /** False if the week still contains events that must be kept. */
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
