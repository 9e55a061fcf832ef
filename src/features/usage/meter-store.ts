import type { Meter, MeterTerms } from '#core/model/meter.ts';
import type { Queryable } from '#core/platform/postgres.ts';

const columns = `id, key, name, resets, active, created_at as "createdAt", updated_at as "updatedAt"`;

/** The number of the lock under which meters are created ("tlmt" in ASCII). */
const creationLock = 0x746c6d74;

export type NewMeter = Pick<Meter, 'key' | 'name' | 'resets'>;

/** All SQL for the meters. */
export class MeterStore {
  /** Waits for other creations, so that the number of active meters is exact. */
  async lockCreation(tx: Queryable): Promise<void> {
    await tx.query(`select pg_advisory_xact_lock(${creationLock})`);
  }

  async countActive(db: Queryable): Promise<number> {
    const [row] = await db.query<{ count: number }>('select count(*) as count from till.meters where active');
    return row?.count ?? 0;
  }

  /** Undefined if another meter has the key. */
  async insert(tx: Queryable, id: string, meter: NewMeter, now: Date): Promise<Meter | undefined> {
    const rows = await tx.query<Meter>(
      `insert into till.meters (id, key, name, resets, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)
       on conflict do nothing returning ${columns}`,
      [id, meter.key, meter.name, meter.resets, now],
    );
    return rows[0];
  }

  async rename(tx: Queryable, id: string, name: string, now: Date): Promise<Meter | undefined> {
    const rows = await tx.query<Meter>(
      `update till.meters set updated_at = case when name = $2 then updated_at else $3 end, name = $2
       where id = $1 returning ${columns}`,
      [id, name, now],
    );
    return rows[0];
  }

  async archive(tx: Queryable, id: string, now: Date): Promise<Meter | undefined> {
    const rows = await tx.query<Meter>(
      `update till.meters set updated_at = case when active then $2 else updated_at end, active = false
       where id = $1 returning ${columns}`,
      [id, now],
    );
    return rows[0];
  }

  async find(db: Queryable, id: string): Promise<Meter | undefined> {
    const rows = await db.query<Meter>(`select ${columns} from till.meters where id = $1`, [id]);
    return rows[0];
  }

  async findByKey(db: Queryable, key: string): Promise<Meter | undefined> {
    const rows = await db.query<Meter>(`select ${columns} from till.meters where key = $1`, [key]);
    return rows[0];
  }

  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly MeterTerms[]> {
    return db.query('select id, key, resets, active from till.meters where key = any($1)', [keys]);
  }

  /** The keys of meters by their ids. */
  async findKeys(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await db.query<Pick<Meter, 'id' | 'key'>>(
      `select id, key from till.meters where id = any($1)`,
      [ids],
    );
    return new Map(rows.map(({ id, key }) => [id, key]));
  }

  /** Newest first, starting after `before`. */
  list(db: Queryable, before: string | null, limit: number): Promise<readonly Meter[]> {
    return db.query(
      `select ${columns} from till.meters where $1::uuid is null or id < $1 order by id desc limit $2`,
      [before, limit],
    );
  }
}
