import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { migrate } from '#core/platform/migrate.ts';
import { migrationsFolder } from '#runtime/composition/compose-database.ts';
import { startEmbeddedPostgres } from '#runtime/embedded-postgres.ts';
import { type Backend, createLifetime, type Lifetime, type Sql, startBackend } from './backend.ts';
import { copyCluster } from './cluster-template.ts';
import { silentLogger } from './log-capture.ts';
import { countStatements } from './statement-counter.ts';

/** What some work costs at the database. None of it depends on the speed of the machine. */
export interface Costs {
  /** All statements, `begin` and `commit` included. */
  readonly statements: number;
  readonly roundTrips: number;
  /** Rows inserted, updated or deleted. */
  readonly rows: number;
  /** Records of the write-ahead log, without those of the upkeep of pages. */
  readonly walRecords: number;
}

export interface CountedBackend extends Backend {
  /** The costs of some work. Nothing else may use the database meanwhile. */
  costsOf(work: () => Promise<unknown>): Promise<Costs>;
  /** Resolves when the Tills of this process wait for nothing but timers. */
  idle(): Promise<void>;
}

/** No checkpoint and no vacuum: the first change of a page after a checkpoint, and a vacuum, write more records. */
const settings = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off', checkpoint_timeout: '1d' };

/**
 * Statements write these records when a page happens to be full or to hold dead rows, and the server writes some
 * itself. A record of a split contains the new entry, so it counts as an insert.
 */
const upkeep = `resource_manager in ('Standby', 'XLOG', 'LogicalMessage', 'Storage')
  or resource_manager = 'Heap2' or record_type in ('NEWROOT', 'INSERT_UPPER', 'INSERT_META', 'DEDUP', 'DELETE_LEAF')
  or resource_manager = 'Btree' and record_type in ('DELETE', 'VACUUM')`;
const writesRow = `resource_manager = 'Heap' and record_type ~ '^(INSERT|UPDATE|HOT_UPDATE|DELETE)'`;

/**
 * A Till in this process sends its next statement within a few turns of the event loop, unless it waits for a timer or
 * for another process.
 */
const turnsUntilIdle = 20;

/**
 * A backend with a PostgreSQL of its own, because the shared one has one log for all tests. It counts its statements.
 */
export async function startCountedBackend(context: Lifetime): Promise<CountedBackend> {
  const life = createLifetime();
  context.after(() => life.end());
  const dataDir = await mkdtemp(join(tmpdir(), 'till-costs-'));
  life.after(() => rm(dataDir, { recursive: true, force: true }));
  copyCluster(dataDir);
  const postgres = await startEmbeddedPostgres({ dataDir, logger: silentLogger, settings });
  life.after(() => postgres.stop());
  await migrate({ url: postgres.url, folder: migrationsFolder, logger: silentLogger });
  const backend = await startBackend(life, { databaseUrl: postgres.url });
  // Not a pool, because a test may stop its timers.
  const client = new pg.Client({ connectionString: postgres.url });
  client.setTypeParser(pg.types.builtins.INT8, Number);
  await client.connect();
  life.after(() => client.end());
  const sql: Sql = async (text, values = []) => (await client.query(text, [...values])).rows;
  await sql('create extension pg_walinspect');
  const counter = await countStatements(backend);
  const position = async () => {
    // This commit puts its own record and all earlier ones on disk, where they can be read.
    await sql(`select pg_logical_emit_message(true, 'costs', '')`);
    const [row] = await sql<{ position: string }>('select pg_current_wal_flush_lsn()::text as position');
    return row?.position;
  };
  return {
    ...backend,
    databaseUrl: counter.databaseUrl,
    sql,
    costsOf: async (work) => {
      const from = await position();
      const before = { statements: counter.count(), roundTrips: counter.roundTrips() };
      await work();
      const statements = counter.count() - before.statements;
      const roundTrips = counter.roundTrips() - before.roundTrips;
      const [written] = await sql<Pick<Costs, 'rows' | 'walRecords'>>(
        // Without the commit of the message at the end.
        `select count(*) filter (where ${writesRow})::int as rows,
           count(*) filter (where not (${upkeep}))::int - 1 as "walRecords"
         from pg_get_wal_records_info($1, $2)`,
        [from, await position()],
      );
      return { statements, roundTrips, ...written } as Costs;
    },
    idle: async () => {
      for (let turns = 0; turns < turnsUntilIdle; ) {
        const before = counter.count();
        await setImmediate();
        turns = counter.isBusy() || counter.count() !== before ? 0 : turns + 1;
      }
    },
  };
}
