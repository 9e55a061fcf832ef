/**
 * A table of the schema, declared once: its fields, their SQL types, and when each is written. Select lists, inserts
 * and updates are derived from it, so that a new field is one more line. Everything else is written as SQL in the
 * stores.
 */
export interface Table<Row extends object> {
  readonly name: string;
  /** The select list. Rows have the names of the fields. */
  readonly columns: string;
  /** The same for rows that are locked or written: written fields as they are stored, and null for linked ones. */
  readonly ownColumns: string;
  /** Inserts a record set (`$1`) in a fixed order, so that two inserts never deadlock. */
  readonly insert: string;
  /** Updates the rows of a record set (`$1`) by id, and increments `revision`. */
  readonly update: string;
  /** Only for the compiler: the type of a row. */
  readonly row?: Row;
}

interface Column {
  readonly type: 'uuid' | 'text' | 'bigint' | 'integer' | 'boolean' | 'timestamptz' | 'jsonb';
  readonly written: 'insert and update' | 'insert' | 'never';
  /** The expression that reads the field, if it is not just the column. */
  readonly select?: string;
  readonly isLinked?: true;
}

/** A field that facts from the processor change. */
export function mutable(type: Column['type'], select?: string): Column {
  return { type, written: 'insert and update', ...(select === undefined ? {} : { select }) };
}

/** A field that never changes after the insert. */
export function immutable(type: Column['type']): Column {
  return { type, written: 'insert' };
}

/** A field that PostgreSQL generates, that its own statement maintains, or that never changes in another table. */
export function computed(type: Column['type'], select?: string): Column {
  return { type, written: 'never', ...(select === undefined ? {} : { select }) };
}

/** A value of another row, which may be written later. It is looked up at every read. */
export function linked(type: Column['type'], select: string): Column {
  return { type, written: 'never', select, isLinked: true };
}

export function defineTable<Row extends { readonly id: string }>(
  name: string,
  fields: Readonly<Record<keyof Row & string, Column>>,
  { insertOrder = 'id' }: { readonly insertOrder?: keyof Row & string } = {},
): Table<Row> {
  const all = Object.entries<Column>(fields);
  const inserted = all.filter(([, { written }]) => written !== 'never');
  const updated = all.filter(([, { written }]) => written === 'insert and update');
  const namesOf = (entries: typeof all) => entries.map(([field]) => columnOf(field)).join(', ');
  // Qualified, because an update also reads from a record set with fields of the same names.
  const own = (field: string) => `${name}.${columnOf(field)}`;
  const ownValue = (field: string, { type, written, select = own(field), isLinked }: Column) => {
    if (isLinked) return `null::${type}`;
    return written === 'never' ? select : own(field);
  };
  const recordSet = (entries: typeof all) =>
    `jsonb_to_recordset($1::jsonb) as v (${entries.map(([field, { type }]) => `"${field}" ${type}`).join(', ')})`;
  return {
    name,
    columns: all.map(([field, column]) => `${column.select ?? own(field)} as "${field}"`).join(', '),
    ownColumns: all.map(([field, column]) => `${ownValue(field, column)} as "${field}"`).join(', '),
    insert: `insert into till.${name} (${namesOf(inserted)})
      select ${inserted.map(([field]) => `"${field}"`).join(', ')} from ${recordSet(inserted)}
      order by "${insertOrder}" on conflict do nothing`,
    update: `update till.${name} set revision = revision + 1,
        ${updated.map(([field]) => `${columnOf(field)} = v."${field}"`).join(', ')}
      from ${recordSet([['id', fields.id], ...updated])} where ${name}.id = v.id`,
  };
}

/** Converts `processorCustomerId` to `processor_customer_id`. */
export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Rows as one parameter of a set-wise statement: `from jsonb_to_recordset($1::jsonb) as v (id uuid, …)`. One statement
 * for any number of rows, and its text stays the same whatever their number.
 */
export function recordSet(rows: readonly object[]): string {
  return JSON.stringify(rows);
}
