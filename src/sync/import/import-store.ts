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
  readonly startedAt: Date;
}

/** All SQL for till.imports and till.import_skips. */
export class ImportStore {
  async findUnfinished(db: Queryable): Promise<UnfinishedImport | undefined> {
    const rows = await db.query<UnfinishedImport>(
      `select id, external_id_from as "externalIdFrom", progress, started_at as "startedAt"
       from till.imports where ended_at is null`,
    );
    return rows[0];
  }

  async start(db: Queryable, { id, externalIdFrom, startedAt }: UnfinishedImport): Promise<void> {
    await db.query(
      `delete from till.imports where id in (
         select id from till.imports order by started_at desc, id desc offset ${keptMax - 1})`,
    );
    await db.query('insert into till.imports (id, external_id_from, started_at) values ($1, $2, $3)', [
      id,
      externalIdFrom,
      startedAt,
    ]);
  }

  async save(db: Queryable, id: string, progress: ImportProgress, skips: readonly Skip[]): Promise<void> {
    await db.query('update till.imports set progress = $2 where id = $1', [id, JSON.stringify(progress)]);
    if (skips.length === 0) return;
    await db.query(
      `insert into till.import_skips (import_id, kind, object_id, reason)
       select distinct on (kind, id) $1::uuid, kind, id, reason
       from jsonb_to_recordset($2::jsonb) as v (kind text, id text, reason text) order by kind, id
       on conflict (import_id, kind, object_id) do update set reason = excluded.reason`,
      [id, JSON.stringify(skips)],
    );
  }

  async end(db: Queryable, id: string): Promise<void> {
    await db.query('update till.imports set ended_at = now() where id = $1', [id]);
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
