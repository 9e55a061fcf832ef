import type { Queryable } from '#core/platform/postgres.ts';
import { WeeksStore } from '#core/platform/weeks-store.ts';

/** All SQL for the partitions of usage events, of which each has a day. */
export class UsageDaysStore extends WeeksStore {
  constructor() {
    super({
      name: 'usage_events',
      primaryKey: 'application, id, day',
      weeksBack: '36 days',
      removeWeek: 'till.drop_usage_day($1)',
      isWeekDone: () => 'true',
      isRowDone: 'true',
    });
  }

  /** Fails if it does not get its locks within 100 ms. */
  override async makeWeeks(db: Queryable): Promise<void> {
    await db.query(
      `select till.make_days('usage_events', today - 36, today + 7)
       from (select (now() at time zone 'utc')::date as today) as clock`,
    );
  }

  override async listExpiredWeeks(db: Queryable, retentionDays: number): Promise<readonly string[]> {
    const rows = await db.query<{ day: string }>(
      `select relname as day from pg_catalog.pg_class join pg_catalog.pg_inherits on inhrelid = pg_class.oid
       where inhparent = 'till.usage_events'::regclass and relname ~ '^usage_events_[0-9]{8}$'
         and to_date(right(relname, 8), 'YYYYMMDD') < (now() at time zone 'utc')::date - $1::int
       order by relname`,
      [retentionDays],
    );
    return rows.map(({ day }) => day);
  }

  /** Events of a sandbox whose clock is ahead have no day of their own. */
  override async deleteExpiredOthers(db: Queryable, retentionDays: number, limit: number): Promise<number> {
    const rows = await db.query(
      `delete from till.usage_events_other where (application, id, day) in (
         select application, id, day from till.usage_events_other
         where day < (now() at time zone 'utc')::date - $1::int limit $2)
       returning 1 as deleted`,
      [retentionDays, limit],
    );
    return rows.length;
  }
}
