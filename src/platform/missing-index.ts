import type pg from 'pg';

/** An index that a migration left out, because building it would have blocked writes. */
export interface MissingIndex {
  readonly name: string;
  readonly table: string;
  /** Only the owner of a table may build its indexes. */
  readonly isOwner: boolean;
  readonly build: () => Promise<void>;
}

/** Builds an index while writes continue. Does nothing if the index exists. Starts over after an interrupted build. */
export async function buildConcurrently(
  client: pg.Client,
  name: string,
  table: string,
  definition: string,
): Promise<void> {
  const { rows } = await client.query<{ indisvalid: boolean }>(
    `select indisvalid from pg_index where indexrelid = to_regclass('till.' || quote_ident($1))`,
    [name],
  );
  if (rows[0]?.indisvalid === false) await client.query(`drop index concurrently till.${name}`);
  if (rows[0]?.indisvalid !== true)
    await client.query(`create index concurrently ${name} on till.${table} ${definition}`);
}
