import type pg from 'pg';
import { buildConcurrently, type MissingIndex } from './missing-index.ts';

/** Attaching an index queues for a lock that blocks every later statement, so it waits only this long. */
const attachLockTimeoutMs = 100;

interface MissingPart {
  readonly parent: string;
  readonly partition: string;
  /** The parent's definition: `CREATE INDEX … ON ONLY … USING …`. */
  readonly definition: string;
  readonly is_owner: boolean;
}

/**
 * Indexes that a migration created only on a partitioned table, for each partition that has none. Small partitions
 * first: operators mostly look at the newest weeks.
 */
export async function findMissingParts(client: pg.Client): Promise<readonly MissingIndex[]> {
  const { rows } = await client.query<MissingPart>(
    `select parent.relname as parent, part.relname as partition, pg_get_indexdef(parent.oid) as definition,
       pg_has_role(part.relowner, 'usage') as is_owner
     from pg_index join pg_class parent on parent.oid = indexrelid
       join pg_inherits on inhparent = indrelid join pg_class part on part.oid = inhrelid
     where parent.relkind = 'I' and not indisvalid and parent.relnamespace = 'till'::regnamespace
       and not exists (select from pg_inherits attached join pg_index child on child.indexrelid = attached.inhrelid
         where attached.inhparent = parent.oid and child.indrelid = part.oid)
     order by pg_relation_size(part.oid), part.relname, parent.relname`,
  );
  return rows.map(({ parent, partition, definition, is_owner: isOwner }) => ({
    name: parent,
    table: partition,
    isOwner,
    build: () => buildPart(client, { parent, partition, definition }),
  }));
}

async function buildPart(
  client: pg.Client,
  { parent, partition, definition }: Omit<MissingPart, 'is_owner'>,
): Promise<void> {
  const name = `${partition}_${parent}`;
  await buildConcurrently(client, name, partition, definition.slice(definition.indexOf(' USING ')));
  await client.query(`set lock_timeout = ${attachLockTimeoutMs}`);
  await client.query(`alter index till.${parent} attach partition till.${name}`);
  await client.query('set lock_timeout = 0');
}
