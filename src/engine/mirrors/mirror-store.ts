import { requireFound } from '#core/errors.ts';
import type { Resource, RowChange } from '#core/model/facts.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { anyOf, columnOf, type Table } from '#core/platform/table.ts';

/** The statements that every mirror needs for its table. */
export class MirrorStore<Row extends { readonly id: string }> {
  readonly #table: Table<Row>;
  readonly #key: string;
  readonly #resource: Resource;

  /** `key` is the field that holds the processor's id. */
  constructor(resource: Resource, table: Table<Row>, key: keyof Row & string) {
    this.#resource = resource;
    this.#table = table;
    this.#key = columnOf(key);
  }

  find(db: Queryable, ids: readonly string[]): Promise<readonly Row[]> {
    const { name, columns } = this.#table;
    return db.query(
      `select ${columns} from till.${name} where id = ${anyOf('$1', 'uuid')}`,
      [ids],
      `find_${name}`,
    );
  }

  /** The row with this id. Fails if there is none. */
  async read(db: Queryable, id: string): Promise<Row> {
    const [row] = await this.find(db, [id]);
    return requireFound(this.#resource, row);
  }

  /** Rows whose ids are in a range, inclusive, in the order of the ids. */
  findBetween(db: Queryable, from: string, to: string, limit: number): Promise<readonly Row[]> {
    const { name, columns } = this.#table;
    const sql = `select ${columns} from till.${name} where id between $1 and $2 order by id limit $3`;
    return db.query(sql, [from, to, limit], `find_${name}_between`);
  }

  /** Rows in the order of their ids, without values of other rows. */
  listAfter(db: Queryable, afterId: string | null, limit: number): Promise<readonly Row[]> {
    const { name, ownColumns } = this.#table;
    const sql = `select ${ownColumns} from till.${name} where $1::uuid is null or id > $1 order by id limit $2`;
    return db.query(sql, [afterId, limit]);
  }

  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly Row[]> {
    const { name, columns } = this.#table;
    const sql = `select ${columns} from till.${name} where ${this.#key} = ${anyOf('$1', 'text')}`;
    return db.query(sql, [keys], `find_${name}_by_key`);
  }

  /**
   * Locks in the order of the ids, so that two transactions that lock several rows never deadlock. Other transactions
   * can still insert rows that refer to the locked ones: a batch that locks one customer and inserts an invoice of
   * another must not deadlock with a batch that does the reverse.
   */
  lockByKeys(tx: Queryable, keys: readonly string[]): Promise<readonly Row[]> {
    const { name, ownColumns } = this.#table;
    const sql = `select ${ownColumns} from till.${name} where ${this.#key} = ${anyOf('$1', 'text')}
      order by id for no key update`;
    return tx.query(sql, [keys], `lock_${name}`);
  }

  /** Does not change existing rows. Returns the new rows. */
  async insert(tx: Transaction, rows: readonly Row[]): Promise<readonly Row[]> {
    const { name, columns, insert } = this.#table;
    if (rows.length === 0) return [];
    const created = await tx.query<Row>(
      `${insert.text} returning ${columns}`,
      insert.valuesOf(rows),
      `insert_${name}`,
    );
    tx.written.addNew(name, created);
    return created;
  }

  /** The rows must be locked. */
  update(tx: Transaction, changes: readonly RowChange<Row>[]): void {
    const { name, storedColumns, update } = this.#table;
    if (changes.length === 0) return;
    const rows = changes.map(({ after }) => after);
    const before = changes.map((change) => change.before);
    const sql = `${update.text} returning ${storedColumns}`;
    const stored = tx.query<{ readonly id: string }>(sql, update.valuesOf(rows), `update_${name}`);
    tx.written.addChanged(name, rows, before, completed(rows, stored));
  }
}

/** The written rows, with the fields that PostgreSQL returned. */
async function completed<Row extends { readonly id: string }>(
  rows: readonly Row[],
  stored: Promise<readonly { readonly id: string }[]>,
): Promise<readonly Row[]> {
  const storedOf = new Map((await stored).map((row) => [row.id, row]));
  return rows.flatMap((row) => (storedOf.has(row.id) ? [{ ...row, ...storedOf.get(row.id) }] : []));
}
