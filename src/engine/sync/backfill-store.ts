import type { Resource } from '#core/model/facts.ts';
import type { Queryable } from '#core/platform/postgres.ts';

/** The first half of the lock that shows the release of a process ("tlrl" in ASCII). */
const lockClass = 0x746c726c;

export interface BackfillProgress {
  /** Where to continue in the processor's list. Null at its beginning. */
  readonly cursor: string | null;
  readonly compared: number;
  readonly changed: number;
  readonly skipped: number;
}

export interface Backfill extends BackfillProgress {
  readonly resource: Resource;
  /** Increases whenever it begins again. */
  readonly round: number;
  readonly endedAt: Date | null;
}

/** No count comes near the largest exact integer. */
const columns = `resource, round, cursor, compared::float8 as compared, changed::float8 as changed,
  skipped::float8 as skipped, ended_at as "endedAt"`;

/** All SQL for till.backfills, and the locks that show which releases run. */
export class BackfillStore {
  readonly #schema: number;

  /** `schema` is the number of the newest migration of this release. */
  constructor(schema: number) {
    this.#schema = schema;
  }

  /**
   * Shows other processes the release of this one, as long as the session lasts. Rows that this process writes lack the
   * values that only newer releases mirror, so the backfills of newer releases begin again. The lock comes first: a run
   * that does not see the lock yet has read its round before the update, so after the update it can record nothing.
   */
  async announce(session: Queryable): Promise<void> {
    await session.query('select pg_advisory_lock_shared($1, $2)', [lockClass, this.#schema]);
    await session.query(
      `update till.backfills set round = round + 1, cursor = null, compared = 0, changed = 0, skipped = 0, ended_at = null
       where schema > $1`,
      [this.#schema],
    );
  }

  /** How many processes of older releases run. */
  async countOlder(db: Queryable): Promise<number> {
    const [row] = await db.query<{ count: number }>(
      `select count(*)::integer as count from pg_locks
       where locktype = 'advisory' and classid = $1 and objid < $2 and granted
         and database = (select oid from pg_database where datname = current_database())`,
      [lockClass, this.#schema],
    );
    return row?.count ?? 0;
  }

  /** The backfills that this release knows. */
  list(db: Queryable): Promise<readonly Backfill[]> {
    return db.query<Backfill>(`select ${columns} from till.backfills where schema <= $1 order by resource`, [
      this.#schema,
    ]);
  }

  /** False if the backfill has begun again since. */
  async save(
    db: Queryable,
    { resource, round }: Pick<Backfill, 'resource' | 'round'>,
    { cursor, compared, changed, skipped }: BackfillProgress,
    { isEnd }: { readonly isEnd: boolean },
  ): Promise<boolean> {
    const rows = await db.query(
      `update till.backfills set cursor = $3, compared = $4, changed = $5, skipped = $6,
         ended_at = case when $7 then now() end
       where resource = $1 and round = $2 returning resource`,
      [resource, round, cursor, compared, changed, skipped, isEnd],
    );
    return rows.length > 0;
  }
}
