import pg from 'pg';
import { codeOf } from '#core/platform/unavailable.ts';

const deadlockCode = '40P01';

/**
 * Kept by the service itself, in one row, by triggers or functions, or counted from others: an older process writes
 * them only by writing the others.
 */
const keptTables = [
  'migrations',
  'sandbox_resets',
  'sandbox_pauses',
  'list_counts',
  'jobs',
  'recovery',
  'processor_account',
  'installation',
  'events',
  'overview_progress',
  'overview_cells',
  'overview_subscribers',
  'overview_moves',
  'event_seed',
  'subscription_add_ons',
  'subscription_history',
  'backfills',
];

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** What of a copied row must be new, as SQL. */
  readonly fresh: ReadonlyMap<string, string>;
}

/**
 * A process of an earlier release, as far as the database can tell: it knows the tables and columns that were there
 * when it started, by name, and goes on adding, changing and reading rows of them.
 */
export class OlderProcess {
  readonly #client: pg.Client;
  readonly #tables: readonly Table[];
  #isStopping = false;
  #rounds = 0;
  #roundDone = Promise.withResolvers<void>();
  #running: Promise<void> = Promise.resolve();

  private constructor(client: pg.Client, tables: readonly Table[]) {
    this.#client = client;
    this.#tables = tables;
  }

  static async start(url: string): Promise<OlderProcess> {
    const client = new pg.Client({ connectionString: url, application_name: 'older process' });
    await client.connect();
    const older = new OlderProcess(client, await readTables(client));
    older.#running = older.#run();
    // `stop` reports its failure.
    older.#running.catch(() => {});
    return older;
  }

  /** Resolves once it has been through all of its tables so many more times. */
  async progressed(rounds: number): Promise<void> {
    const goal = this.#rounds + rounds;
    while (this.#rounds < goal) await Promise.race([this.#roundDone.promise, this.#running]);
  }

  /** Fails if any of its statements did. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    try {
      await this.#running;
    } finally {
      await this.#client.end();
    }
  }

  /** Every row, as an older process sees it, one text per row. */
  async read(): Promise<Readonly<Record<string, readonly string[]>>> {
    const rows: Record<string, readonly string[]> = {};
    for (const { name, columns } of this.#tables) {
      const sql = `select row(${columns.join(', ')})::text as text from till.${name} order by 1`;
      rows[name] = (await this.#client.query<{ text: string }>(sql)).rows.map(({ text }) => text);
    }
    return rows;
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      for (const { name, columns, fresh } of this.#tables) {
        const copied = columns.map((column) => fresh.get(column) ?? column);
        await this.#write(name, columns, copied).catch(async (error: unknown) => {
          // As in Till: a transaction that deadlocks with a migration has no effect, and the next round repeats it.
          if (codeOf(error) !== deadlockCode) throw error;
          await this.#client.query('rollback');
        });
        await this.#client.query(`select ${columns.join(', ')} from till.${name} limit 20`);
      }
      this.#rounds += 1;
      this.#roundDone.resolve();
      this.#roundDone = Promise.withResolvers();
    }
  }

  async #write(name: string, columns: readonly string[], copied: readonly string[]): Promise<void> {
    await this.#client.query('begin');
    await this.#client.query(
      `insert into till.${name} (${columns.join(', ')}) select ${copied.join(', ')} from till.${name} limit 1`,
    );
    const [first] = columns;
    await this.#client.query(
      `update till.${name} set ${first} = ${first} where ctid = any (array(select ctid from till.${name} limit 1))`,
    );
    await this.#client.query('commit');
  }
}

async function readTables(client: pg.Client): Promise<readonly Table[]> {
  // Partitions are written by way of their table.
  const { rows } = await client.query<{ name: string; columns: string[]; unique_columns: string[] }>(
    `select c.relname as name,
       array(select quote_ident(attname) from pg_attribute
             where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum)::text[]
         as columns,
       array(select distinct quote_ident(a.attname) from pg_index i
             join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
             where i.indrelid = c.oid and i.indisunique and a.atttypid in ('uuid'::regtype, 'text'::regtype)
               and not exists (select from pg_constraint f
                 where f.conrelid = c.oid and f.contype = 'f' and a.attnum = any (f.conkey)))::text[]
         as unique_columns
     from pg_class c
     where c.relnamespace = to_regnamespace('till') and c.relkind in ('r', 'p') and not c.relispartition
       and not c.relname = any ($1)
     order by 1`,
    [keptTables],
  );
  return rows.map(({ name, columns, unique_columns }) => ({
    name,
    columns,
    // A UUID is a text as well, and of the texts those that are unique carry no meaning, unless they refer to other
    // rows.
    fresh: new Map(unique_columns.map((column) => [column, 'gen_random_uuid()'])),
  }));
}
