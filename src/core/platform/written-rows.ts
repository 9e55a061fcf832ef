interface IdentifiedRow {
  readonly id: string;
}

/** A row that a transaction writes, in full. */
export interface WrittenRow {
  readonly table: string;
  /** The row after the write. */
  readonly row: IdentifiedRow;
  /** The row before the transaction. Undefined if it is new. */
  readonly before: IdentifiedRow | undefined;
  /** The row was only read, because one of its values changes with time or with another row. */
  readonly isUnchanged: boolean;
}

/** False for a row that only shows other values of other rows. */
export function isChanged({ isUnchanged }: WrittenRow): boolean {
  return !isUnchanged;
}

/** Collects the rows that a transaction writes, so that none of them can be missed before the commit. */
export class WrittenRows {
  readonly #rows = new Map<string, WrittenRow>();
  readonly #writing: (() => Promise<void>)[] = [];

  get size(): number {
    return this.#rows.size;
  }

  addNew(table: string, rows: readonly IdentifiedRow[]): void {
    for (const row of rows) this.#add({ table, row, before: undefined, isUnchanged: false });
  }

  /**
   * `before` has the same rows before the write, in any order. `stored` are the rows after the write, if the write is
   * still in progress: they also have what PostgreSQL computes.
   */
  addChanged(
    table: string,
    rows: readonly IdentifiedRow[],
    before: readonly IdentifiedRow[],
    stored: Promise<readonly IdentifiedRow[]> = Promise.resolve(rows),
  ): void {
    const beforeOf = new Map(before.map((row) => [row.id, row]));
    const add = (row: IdentifiedRow) => {
      const old = beforeOf.get(row.id);
      if (old === undefined) throw new Error(`a changed row of ${table} has no earlier version`);
      this.#add({ table, row, before: old, isUnchanged: false });
    };
    rows.forEach(add);
    // If the write fails, every later statement of the transaction fails too, and that error is thrown.
    stored.catch(() => {});
    this.#writing.push(async () => (await stored).forEach(add));
  }

  addUnchanged(table: string, rows: readonly IdentifiedRow[]): void {
    for (const row of rows) this.#add({ table, row, before: row, isUnchanged: true });
  }

  /** The rows, even if their writes are still in progress. */
  all(): readonly WrittenRow[] {
    return [...this.#rows.values()];
  }

  /** The rows as they are stored, once all writes have ended. */
  async stored(): Promise<readonly WrittenRow[]> {
    // In the order of the writes: the last one of a row counts.
    for (const written of this.#writing.splice(0)) await written();
    return this.all();
  }

  #add(written: WrittenRow): void {
    const key = `${written.table} ${written.row.id}`;
    const earlier = this.#rows.get(key);
    const isUnchanged = written.isUnchanged && (earlier?.isUnchanged ?? true);
    this.#rows.set(key, {
      ...written,
      before: earlier === undefined ? written.before : earlier.before,
      isUnchanged,
    });
  }
}

/** A row that was created from a response. Events that arrived after the request found no row. */
export interface LateRow {
  /** The processor's id of the object. */
  readonly key: string;
  /** The earliest time at which the response was current, on the processor's clock. */
  readonly since: Date;
}
