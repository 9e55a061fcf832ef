import type { Queryable } from './postgres.ts';

/** A table with a partition for each week. Functions that run as the schema's owner change its partitions. */
export interface WeeklyTable {
  readonly name: string;
  readonly primaryKey: string;
  /** How old a new row can be: weeks are created from this long ago on. */
  readonly weeksBack: string;
  /** Removes the week with the name $1 from the table. False if the week must stay. */
  readonly removeWeek: string;
  /** SQL conditions: for a week that may be removed, given the SQL of its name, and for a row that may be deleted. */
  readonly isWeekDone: (week: string) => string;
  readonly isRowDone: string;
}

/** All SQL for the weekly partitions of a table. */
export class WeeksStore {
  readonly #table: WeeklyTable;

  constructor(table: WeeklyTable) {
    this.#table = table;
  }

  /** Fails if it does not get its locks within 100 ms. */
  async makeWeeks(db: Queryable): Promise<void> {
    const { name, weeksBack } = this.#table;
    await db.query(
      `select till.make_weeks('${name}', now() - interval '${weeksBack}', now() + interval '4 weeks')`,
    );
  }

  /** Weeks that ended before the retention period, and that no other feature still needs. */
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

  /** Fails if it does not get its locks within 100 ms. False if the week must stay. */
  async removeWeek(db: Queryable, week: string): Promise<boolean> {
    const [row] = await db.query<{ done: unknown }>(`select ${this.#table.removeWeek} as done`, [week]);
    return row?.done !== false;
  }

  /** Deletes up to `limit` expired rows that were written before their week existed. Returns their number. */
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
