/** A row that a transaction wrote, as far as its statement returned it. */
export interface WrittenRow {
  readonly table: string;
  /** The row after the write, or a part of it. */
  readonly row: { readonly id: string };
  /** The row before the write. Undefined if it is new, or not known. */
  readonly before?: object;
  readonly isNew: boolean;
  /** The statement returned `row` as it is stored, in full. */
  readonly isStored: boolean;
  /** The id is new, so nothing is recorded under it yet. */
  readonly isFirst: boolean;
}

type RowWrite = Pick<WrittenRow, 'row'> & Partial<Omit<WrittenRow, 'table' | 'row'>>;

/** Collects the rows that a transaction writes, so that none of them can be missed before the commit. */
export class WrittenRows {
  readonly #rows = new Map<string, WrittenRow>();

  get size(): number {
    return this.#rows.size;
  }

  add(table: string, writes: readonly RowWrite[]): void {
    for (const write of writes) {
      const key = `${table} ${write.row.id}`;
      const earlier = this.#rows.get(key);
      const { isNew = false, isStored = false, isFirst = false } = write;
      this.#rows.set(
        key,
        earlier === undefined
          ? { ...write, table, isNew, isStored, isFirst }
          : { ...earlier, row: { ...earlier.row, ...write.row }, isStored: false },
      );
    }
  }

  all(): readonly WrittenRow[] {
    return [...this.#rows.values()];
  }
}

/** A row that was created from a response. Events that arrived after the request found no row. */
export interface LateRow {
  /** The processor's id of the object. */
  readonly key: string;
  /** The earliest time at which the response was current, on the processor's clock. */
  readonly since: Date;
}
