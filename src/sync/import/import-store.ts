import type { Queryable } from '../../platform/postgres.ts';
import type { ImportProgress, Skip } from './import-progress.ts';

/** The last ones are enough: every import starts over or continues the one before it. */
const keptMax = 10;
/** Skipped objects that are read at once. */
const skipsPerPage = 500;

/** An import that is not finished. */
export interface UnfinishedImport {
  readonly id: string;
  readonly externalIdFrom: string | null;
  readonly progress: ImportProgress;
  readonly ownerLock: number;
  readonly startedAt: Date;
}

const columns = `id, external_id_from as "externalIdFrom", progress, owner_lock as "ownerLock", started_at as "startedAt"`;

/** All SQL for till.imports and till.import_skips. */
export class ImportStore {
  async findUnfinished(db: Queryable): Promise<UnfinishedImport | undefined> {
    const rows = await db.query<UnfinishedImport>(
      `select ${columns} from till.imports where ended_at is null`,
    );
    return rows[0];
  }

  /** Undefined if another one has just started. */
  async start(
    db: Queryable,
    { id, externalIdFrom, ownerLock }: Pick<UnfinishedImport, 'id' | 'externalIdFrom' | 'ownerLock'>,
  ): Promise<UnfinishedImport | undefined> {
    await db.query(
      `delete from till.imports where id in (
         select id from till.imports order by started_at desc, id desc offset ${keptMax - 1})`,
    );
    const rows = await db.query<UnfinishedImport>(
      `insert into till.imports (id, external_id_from, owner_lock, started_at) values ($1, $2, $3, now())
       on conflict do nothing returning ${columns}`,
      [id, externalIdFrom, ownerLock],
    );
    return rows[0];
  }

  /** Continues the import in another process. False if a third process was faster. */
  async takeOver(db: Queryable, { id, ownerLock }: UnfinishedImport, newOwner: number): Promise<boolean> {
    const rows = await db.query(
      'update till.imports set owner_lock = $3 where id = $1 and owner_lock = $2 and ended_at is null returning id',
      [id, ownerLock, newOwner],
    );
    return rows.length > 0;
  }

  /** False if another process runs the import now. */
  async save(
    db: Queryable,
    { id, ownerLock }: Pick<UnfinishedImport, 'id' | 'ownerLock'>,
    progress: ImportProgress,
    skips: readonly Skip[],
  ): Promise<boolean> {
    const rows = await db.query(
      'update till.imports set progress = $3 where id = $1 and owner_lock = $2 and ended_at is null returning id',
      [id, ownerLock, JSON.stringify(progress)],
    );
    if (rows.length === 0) return false;
    if (skips.length === 0) return true;
    await db.query(
      `insert into till.import_skips (import_id, kind, object_id, reason)
       select distinct on (kind, id) $1::uuid, kind, id, reason
       from jsonb_to_recordset($2::jsonb) as v (kind text, id text, reason text) order by kind, id
       on conflict (import_id, kind, object_id) do update set reason = excluded.reason`,
      [id, JSON.stringify(skips)],
    );
    return true;
  }

  async end(db: Queryable, { id, ownerLock }: Pick<UnfinishedImport, 'id' | 'ownerLock'>): Promise<void> {
    await db.query(
      'update till.imports set ended_at = now() where id = $1 and owner_lock = $2 and ended_at is null',
      [id, ownerLock],
    );
  }

  /** The objects that the import has left out so far, page by page. */
  async *listSkips(db: Queryable, importId: string): AsyncGenerator<readonly Skip[]> {
    let last: Skip | undefined;
    do {
      const page: readonly Skip[] = await db.query<Skip>(
        `select kind, object_id as id, reason from till.import_skips
         where import_id = $1 and ($2::text is null or (kind, object_id) > ($2, $3))
         order by kind, object_id limit $4`,
        [importId, last?.kind ?? null, last?.id ?? null, skipsPerPage],
      );
      if (page.length > 0) yield page;
      last = page.length < skipsPerPage ? undefined : page.at(-1);
    } while (last !== undefined);
  }
}
