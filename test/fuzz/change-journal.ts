import { isDeepStrictEqual } from 'node:util';
import type { TillInProcess } from '../support/till-in-process.ts';

/** A row that is not what it was. */
export interface Change {
  readonly table: string;
  readonly before: Row | null;
  readonly after: Row | null;
}

type Row = Readonly<Record<string, unknown>>;

export interface ChangeJournal {
  /** The rows that have changed since the last call, whatever became of them in between. */
  take(): Promise<readonly Change[]>;
}

/** Records every change of every row with its own triggers, so that a test can show that there was none. */
export async function keepJournal({ sql }: Pick<TillInProcess, 'sql'>): Promise<ChangeJournal> {
  await sql('create schema journal');
  await sql(
    `create table journal.changes (
       number bigint generated always as identity, table_name text not null, before jsonb, after jsonb)`,
  );
  await sql(
    `create function journal.note() returns trigger language plpgsql as $$
     begin
       insert into journal.changes (table_name, before, after)
       values (tg_argv[0], case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
       return null;
     end $$`,
  );
  // Partitions get the trigger of their parent. A read of the overview counts the events that others wrote before it,
  // and the audit log has refused requests too.
  const tables = await sql<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'till' and c.relkind in ('r', 'p') and not c.relispartition and c.relname !~ '^(overview_|audit_log$)'`,
  );
  for (const { name } of tables) {
    await sql(
      `create trigger note after insert or update or delete on till.${name}
       for each row execute function journal.note('${name}')`,
    );
  }
  return {
    take: async () => {
      const rows = await sql<{ number: number; table_name: string; before: Row | null; after: Row | null }>(
        `with taken as (delete from journal.changes returning *) select * from taken order by number`,
      );
      const net = new Map<string, Change>();
      for (const { table_name: table, before, after } of rows) {
        const key = `${table} ${keyOf(after ?? before ?? {})}`;
        const earlier = net.get(key);
        net.set(key, { table, before: earlier === undefined ? before : earlier.before, after });
      }
      return [...net.values()].filter(({ before, after }) => !isDeepStrictEqual(shown(before), shown(after)));
    },
  };
}

function keyOf(row: Row): string {
  const { id, operation, key, resource, shard, name, external_id: externalId } = row;
  const { position, object_id: objectId } = row;
  const others = [operation, key, resource, shard, name, externalId, position, objectId];
  return JSON.stringify(id === undefined ? others : id);
}

/**
 * The revision and the times of the last information tell only that the row was compared with the processor meanwhile.
 * What it says is in the other columns.
 */
function shown(row: Row | null): Row | null {
  if (row === null) return null;
  return Object.fromEntries(
    Object.entries(row).filter(([column]) => !/^revision$|_as_of(_latest)?$/.test(column)),
  );
}
