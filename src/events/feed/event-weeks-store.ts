import type { Queryable } from '../../platform/postgres.ts';

/** A table with a partition for each week. Functions that run as the schema's owner change its partitions. */
interface WeeklyTable {
  readonly name: string;
  readonly primaryKey: string;
  readonly makeWeeks: string;
  readonly dropWeek: string;
  /** The condition of a week that may be dropped, given the SQL of its name, and of a row that may be deleted. */
  readonly isWeekDone: (week: string) => string;
  readonly isRowDone: string;
}

export const eventWeeks: WeeklyTable = {
  name: 'events',
  primaryKey: 'position, created_at',
  makeWeeks: 'till.make_event_weeks',
  dropWeek: 'till.drop_event_week',
  // The overview counts each event once, and it must not miss any.
  isWeekDone: (week) => `till.is_event_week_counted(${week})`,
  isRowDone: 'position <= till.counted_event_position()',
};

export const deliveryWeeks: WeeklyTable = {
  name: 'event_deliveries',
  primaryKey: 'endpoint_id, id, created_at',
  makeWeeks: 'till.make_delivery_weeks',
  dropWeek: 'till.drop_delivery_week',
  isWeekDone: () => 'true',
  isRowDone: 'true',
};

/** All SQL for the weeks of events or of their deliveries. */
export class EventWeeksStore {
  readonly #table: WeeklyTable;

  constructor(table: WeeklyTable) {
    this.#table = table;
  }

  /** Fails if it does not get its locks within 100 ms. */
  async makeWeeks(db: Queryable): Promise<void> {
    await db.query(`select ${this.#table.makeWeeks}(now() - interval '1 week', now() + interval '4 weeks')`);
  }

  /** Weeks that ended before the retention period, and that nothing needs any more. */
  async listExpiredWeeks(db: Queryable, retentionDays: number): Promise<readonly string[]> {
    const { name, isWeekDone } = this.#table;
    const rows = await db.query<{ week: string }>(
      `select relname as week from pg_catalog.pg_class join pg_catalog.pg_inherits on inhrelid = pg_class.oid
       where inhparent = 'till.${name}'::regclass and relname ~ '^${name}_[0-9]{8}$'
         and to_date(right(relname, 8), 'YYYYMMDD') + 7 < (now() at time zone 'utc')::date - $1::int
         and ${isWeekDone('relname')}
       order by relname`,
      [retentionDays],
    );
    return rows.map(({ week }) => week);
  }

  /** Fails if it does not get its locks within 100 ms. */
  async dropWeek(db: Queryable, week: string): Promise<void> {
    await db.query(`select ${this.#table.dropWeek}($1)`, [week]);
  }

  /** Deletes up to `limit` expired rows for which no week was made in time. Returns their number. */
  async deleteExpiredOthers(db: Queryable, retentionDays: number, limit: number): Promise<number> {
    const { name, primaryKey, isRowDone } = this.#table;
    const rows = await db.query(
      `delete from till.${name}_other where (${primaryKey}) in (
         select ${primaryKey} from till.${name}_other
         where created_at < now() - make_interval(days => $1) and ${isRowDone} limit $2)
       returning 1 as deleted`,
      [retentionDays, limit],
    );
    return rows.length;
  }
}
