import type { Queryable } from '#core/platform/postgres.ts';
import type { ImportProgress, Skip } from './import-progress.ts';

/** Only the last imports are needed: every import starts over or continues the one before it. */
const keptMax = 10;
/** Skipped objects that are read at once. */
const skipsPerPage = 500;
/** Values of external ids that are read at once. Each costs a call or more. */
export const valuesPerPage = 100;

/** The customers that have the same value, newest first. */
interface NotedValue {
  readonly digest: string;
  readonly processorCustomerIds: readonly string[];
}

/** An import that is not finished. */
export interface UnfinishedImport {
  readonly id: string;
  readonly externalIdFrom: string | null;
  readonly progress: ImportProgress;
  readonly startedAt: Date;
}

/** All SQL for till.imports and the tables of its details. */
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

  /**
   * Also deletes what only a resumed import needs. Reasons of skips quote values of customers, which must not outlive
   * them.
   */
  async end(db: Queryable, id: string): Promise<void> {
    await db.query('update till.imports set ended_at = now() where id = $1', [id]);
    await db.query('delete from till.import_skips where import_id = $1', [id]);
    await db.query('delete from till.import_external_ids where import_id = $1', [id]);
  }

  /** Notes the values of customers, in the order of the list. */
  async noteValues(
    db: Queryable,
    importId: string,
    noted: readonly { readonly digest: string; readonly processorCustomerId: string }[],
  ): Promise<void> {
    if (noted.length === 0) return;
    await db.query(
      `insert into till.import_external_ids (import_id, digest, processor_customer_id)
       select $1, digest, key from unnest($2::text[], $3::text[]) with ordinality as v (digest, key, position)
       order by position on conflict do nothing`,
      [
        importId,
        noted.map(({ digest }) => digest),
        noted.map(({ processorCustomerId }) => processorCustomerId),
      ],
    );
  }

  /** The noted values after this digest, in the order of their digests. */
  listValues(db: Queryable, importId: string, after: string | null): Promise<readonly NotedValue[]> {
    return db.query<NotedValue>(
      `select digest, array_agg(processor_customer_id order by position) as "processorCustomerIds"
       from till.import_external_ids where import_id = $1 and ($2::text is null or digest > $2)
       group by digest order by digest limit ${valuesPerPage}`,
      [importId, after],
    );
  }

  /** The objects among these that the import has left out so far. */
  findSkips(db: Queryable, importId: string, kind: string, ids: readonly string[]): Promise<readonly Skip[]> {
    return db.query<Skip>(
      `select kind, object_id as id, reason from till.import_skips
       where import_id = $1 and kind = $2 and object_id = any($3)`,
      [importId, kind, ids],
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
