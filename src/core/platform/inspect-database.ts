import { inspectSchema, type SchemaState } from './migrate.ts';
import { withPrimary } from './primary-connection.ts';

const queryTimeoutMs = 5_000;

/** What operators need to know about the database. */
export interface DatabaseFacts {
  /** Such as `16.4`. */
  readonly version: string;
  /** Such as 160004. */
  readonly versionNumber: number;
  /** A standby takes no writes. */
  readonly isStandby: boolean;
  readonly role: string;
  readonly isSuperuser: boolean;
  /** Whether the role may change the schema. */
  readonly mayMigrate: boolean;
  /** Tables that the role may not read and write. */
  readonly closedTables: readonly string[];
  readonly schema: SchemaState;
}

/** Connects once, with limits, and changes nothing. */
export async function inspectDatabase(url: string, migrationsFolder: string): Promise<DatabaseFacts> {
  const options = { application_name: 'till doctor', query_timeout: queryTimeoutMs };
  return withPrimary(url, options, async (client) => {
    const { rows } = await client.query<Omit<DatabaseFacts, 'schema'>>(factsStatement);
    const [facts] = rows;
    if (facts === undefined) throw new Error('the database returned nothing');
    return { ...facts, schema: await inspectSchema(client, migrationsFolder) };
  });
}

/** The service itself writes no row of `migrations`. A partition has the rights of its table. */
const factsStatement = `
  select
    current_setting('server_version') as "version",
    current_setting('server_version_num')::integer as "versionNumber",
    pg_is_in_recovery() as "isStandby",
    current_user as "role",
    (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser",
    case when exists (select from pg_namespace where nspname = 'till')
      then (select pg_has_role(nspowner, 'usage') from pg_namespace where nspname = 'till')
        and not exists (select from pg_class
          where relnamespace = to_regnamespace('till') and relkind in ('r', 'p') and not pg_has_role(relowner, 'usage'))
      else has_database_privilege(current_database(), 'create')
    end as "mayMigrate",
    array(select relname::text from pg_class join pg_namespace on pg_namespace.oid = relnamespace
      where nspname = 'till' and relkind in ('r', 'p') and not relispartition
        and (not has_schema_privilege(nspname, 'usage')
          or not has_table_privilege(pg_class.oid, 'select')
          or (relname <> 'migrations' and not (has_table_privilege(pg_class.oid, 'insert')
            and has_table_privilege(pg_class.oid, 'update') and has_table_privilege(pg_class.oid, 'delete'))))
      order by relname) as "closedTables"`;
