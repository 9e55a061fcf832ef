import type { Queryable } from '../../platform/postgres.ts';
import type { EventObjectType } from '../event.ts';

/** How far the objects of one type are recorded. */
interface Baseline {
  readonly objectType: EventObjectType;
  readonly lastId: string | null;
}

/** All SQL for the upkeep of what is recorded of objects. */
export class UpkeepStore {
  /** Objects that change by time alone, and whose time has come. */
  async listDue(db: Queryable, now: Date, limit: number): Promise<readonly string[]> {
    const rows = await db.query<{ id: string }>(
      `select object_id as id from till.event_objects where changes_at <= $1 order by changes_at limit $2`,
      [now, limit],
    );
    return rows.map(({ id }) => id);
  }

  /** Locks a type whose objects are not all recorded. Undefined if none is left, or other processes work on them. */
  async lockBaseline(tx: Queryable): Promise<Baseline | undefined> {
    const [row] = await tx.query<{ objectType: EventObjectType; lastId: string | null }>(
      `select object_type as "objectType", last_id as "lastId" from till.event_baselines
       order by object_type limit 1 for update skip locked`,
    );
    return row;
  }

  async moveBaseline(tx: Queryable, { objectType, lastId }: Baseline): Promise<void> {
    await tx.query('update till.event_baselines set last_id = $2 where object_type = $1', [
      objectType,
      lastId,
    ]);
  }

  async endBaseline(tx: Queryable, { objectType }: Baseline): Promise<void> {
    await tx.query('delete from till.event_baselines where object_type = $1', [objectType]);
  }
}
