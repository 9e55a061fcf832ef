import type { Queryable } from '../platform/postgres.ts';

/** All SQL for the weekly partitions of events. Functions that run as the schema's owner change the tables. */
export class EventWeeksStore {
  /** Fails if it does not get its locks within 100 ms. */
  async makeWeeks(db: Queryable): Promise<void> {
    await db.query(`select till.make_event_weeks(now() - interval '1 week', now() + interval '4 weeks')`);
  }

  /** Weeks that ended before the retention period. */
  async listExpiredWeeks(db: Queryable, retentionDays: number): Promise<readonly string[]> {
    const rows = await db.query<{ name: string }>(
      `select relname as name from pg_catalog.pg_class join pg_catalog.pg_inherits on inhrelid = pg_class.oid
       where inhparent = 'till.events'::regclass and relname ~ '^events_[0-9]{8}$'
         and to_date(right(relname, 8), 'YYYYMMDD') + 7 < (now() at time zone 'utc')::date - $1::int
       order by relname`,
      [retentionDays],
    );
    return rows.map(({ name }) => name);
  }

  /** Fails if it does not get its locks within 100 ms. */
  async dropWeek(db: Queryable, week: string): Promise<void> {
    await db.query('select till.drop_event_week($1)', [week]);
  }

  /** Deletes up to `limit` expired events for which no week was made in time. Returns their number. */
  async deleteExpiredOthers(db: Queryable, retentionDays: number, limit: number): Promise<number> {
    const rows = await db.query(
      `delete from till.events_other where (position, created_at) in (
         select position, created_at from till.events_other
         where created_at < now() - make_interval(days => $1) limit $2)
       returning 1 as deleted`,
      [retentionDays, limit],
    );
    return rows.length;
  }
}
