import type { Queryable } from '../platform/postgres.ts';

/** All SQL that makes and drops the weeks of the inbox. */
export class RetentionStore {
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

  /** Drops a week whole; what failed or still waits moves to the default partition first. */
  async dropWeek(tx: Queryable, name: string): Promise<void> {
    await tx.query(`set local lock_timeout = '2s'`);
    await tx.query('select till.drop_webhook_week($1)', [name]);
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
