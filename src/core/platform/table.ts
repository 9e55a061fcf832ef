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
  /** The fields of a written row that may differ from the values that were sent, and the id. */
  readonly storedColumns: string;
  /** Inserts rows in a fixed order, so that two inserts never deadlock. */
  readonly insert: RowStatement;
  /** Updates rows by id, and increments `revision`. */
  readonly update: RowStatement;
  /** Only for the compiler: the type of a row. */
  readonly row?: Row;
}

/** A statement for any number of rows. Its text does not depend on their number. */
interface RowStatement {
  readonly text: string;
  /** Its parameters, one for each field. */
  readonly valuesOf: (rows: readonly object[]) => readonly Buffer[];
}

/** A column of a table: what is read and written. */
export interface Column {
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

/** The columns of every mirror whose rows have one time at the processor, besides the times that the API shows. */
export const datedColumns = {
  processorAsOf: mutable('timestamptz'),
  processorAsOfLatest: mutable('timestamptz'),
  revision: computed('integer'),
};

export function defineTable<Row extends { readonly id: string }>(
  name: string,
  fields: Readonly<Record<keyof Row & string, Column>>,
  { insertOrder = 'id' }: { readonly insertOrder?: keyof Row & string } = {},
): Table<Row> {
  // A field list also has fields of the API that have no column.
  const all = Object.entries<Column>(fields).filter(([, column]) => 'type' in column);
  const inserted = all.filter(([, { written }]) => written !== 'never');
  const updated = all.filter(([, { written }]) => written === 'insert and update');
  const namesOf = (entries: typeof all) => entries.map(([field]) => columnOf(field)).join(', ');
  // Qualified, because an update also reads from a record set with fields of the same names.
  const own = (field: string) => `${name}.${columnOf(field)}`;
  const ownValue = (field: string, { type, written, select = own(field), isLinked }: Column) => {
    if (isLinked) return `null::${type}`;
    return written === 'never' ? select : own(field);
  };
  const read = ([field, { type }]: [string, Column]) => `v."${field}"${type === 'text' ? '' : `::${type}`}`;
  const keyed: typeof all = [['id', fields.id], ...updated];
  // PostgreSQL computes some fields, and writes JSON in its own form.
  const stored = all.filter(
    ([field, { type, written, isLinked }]) =>
      field === 'id' || (!isLinked && (type === 'jsonb' || written === 'never')),
  );
  return {
    name,
    columns: all.map(([field, column]) => `${column.select ?? own(field)} as "${field}"`).join(', '),
    ownColumns: all.map(([field, column]) => `${ownValue(field, column)} as "${field}"`).join(', '),
    storedColumns: stored.map(([field, column]) => `${ownValue(field, column)} as "${field}"`).join(', '),
    insert: {
      text: `insert into till.${name} (${namesOf(inserted)})
        select ${inserted.map(read).join(', ')} from ${rowSet(inserted)}
        order by "${insertOrder}" on conflict do nothing`,
      valuesOf: (rows) => columnsOf(rows, inserted),
    },
    update: {
      text: `update till.${name} set revision = revision + 1,
          ${updated.map((entry) => `${columnOf(entry[0])} = ${read(entry)}`).join(', ')}
        from ${rowSet(keyed)} where ${name}.id = v."id"::${fields.id.type}`,
      valuesOf: (rows) => columnsOf(rows, keyed),
    },
  };
}

/**
 * Hides from the planner how many rows there are. The planner assumes that a limit that it cannot know leaves a tenth
 * of the rows, and a null limit is no limit. If it knew the number, a plan for one row would seem cheaper than one for
 * any number, and PostgreSQL would plan the statement again at every execution.
 */
const ofAnyNumber = 'limit (select null::bigint)';

/**
 * The rows of the parameters, which are arrays of texts. As JSON they would take PostgreSQL three times as long to
 * read.
 */
function rowSet(entries: readonly [string, Column][]): string {
  const parameters = entries.map((_, index) => `$${index + 1}::text[]`);
  const names = entries.map(([field]) => `"${field}"`);
  return `(select * from unnest(${parameters.join(', ')}) as v (${names.join(', ')}) ${ofAnyNumber}) as v`;
}

function columnsOf(rows: readonly object[], entries: readonly [string, Column][]): readonly Buffer[] {
  return entries.map(([field, { type }]) =>
    // The type of a table's rows names these fields.
    textArray(rows.map((row) => textOf((row as Readonly<Record<string, unknown>>)[field], type))),
  );
}

function textOf(value: unknown, type: Column['type']): string | null {
  if (value === null || value === undefined) return null;
  if (type === 'jsonb') return JSON.stringify(value);
  return value instanceof Date ? value.toISOString() : String(value);
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

/**
 * The ids of a parameter, for `column = …`. The subquery hides from the planner how many there are: with their number,
 * a plan for one id seems cheaper than one for any number, and PostgreSQL would plan the statement again at every
 * execution, which takes up to ten times as long as the lookup.
 */
export function anyOf(parameter: string, type: 'text' | 'uuid'): string {
  return `any((select ${parameter}::${type}[])::${type}[])`;
}

/** The header of a one-dimensional array: dimensions, whether it has nulls, the type, the length, the lower bound. */
const headerBytes = 20;
const lengthBytes = 4;
/** The OIDs of the types, which are the same in every database. */
const types = { bigint: 20, text: 25, uuid: 2950, timestamptz: 1184 };
const nullLength = -1;

/**
 * Texts as a parameter of type `text[]`, in PostgreSQL's binary format. The driver would write an array as text and
 * escape every quote of every element, and PostgreSQL would remove the escapes again. Payloads are full of quotes.
 */
export function textArray(texts: readonly (string | null)[]): Buffer {
  const lengths = texts.map((text) => (text === null ? nullLength : Buffer.byteLength(text)));
  const contentBytes = lengths.reduce((sum, length) => sum + lengthBytes + Math.max(length, 0), 0);
  const array = Buffer.allocUnsafe(headerBytes + contentBytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(1, 4);
  array.writeInt32BE(types.text, 8);
  array.writeInt32BE(texts.length, 12);
  array.writeInt32BE(1, 16);
  let offset = headerBytes;
  for (const [index, text] of texts.entries()) {
    offset = array.writeInt32BE(lengths[index] ?? nullLength, offset);
    if (text !== null) offset += array.write(text, offset);
  }
  return array;
}

/** PostgreSQL counts microseconds from 2000 on. */
const microsOf2000 = BigInt(Date.UTC(2000, 0)) * 1_000n;

/**
 * Integers as a parameter of type `bigint[]`, in PostgreSQL's binary format. The driver would write each as quoted
 * text, which PostgreSQL parses again. A batch has thousands of values.
 */
export function bigintArray(integers: readonly number[]): Buffer {
  return fixedArray(types.bigint, 8, integers, (array, integer, offset) => {
    // In two halves, which is faster than a conversion to `bigint`.
    array.writeInt32BE(Math.floor(integer / 2 ** 32), offset);
    array.writeUInt32BE(integer >>> 0, offset + 4);
  });
}

/** Likewise for `uuid[]`. The ids have the canonical form, with upper or lower case. */
export function uuidArray(ids: readonly string[]): Buffer {
  return fixedArray(types.uuid, 16, ids, (array, id, offset) => {
    // Digit by digit, which is faster than a text without hyphens and its conversion.
    for (let byte = 0, place = 0; byte < 16; byte += 1, place += 2) {
      if (byte === 4 || byte === 6 || byte === 8 || byte === 10) place += 1;
      array[offset + byte] = (digitAt(id, place) << 4) | digitAt(id, place + 1);
    }
  });
}

/** Likewise for `timestamptz[]`, from microseconds since 1970. */
export function timestampArray(instants: readonly bigint[]): Buffer {
  return fixedArray(types.timestamptz, 8, instants, (array, instant, offset) =>
    array.writeBigInt64BE(instant - microsOf2000, offset),
  );
}

/** The value of a hexadecimal digit. The codes of letters have a bit that those of numerals lack. */
function digitAt(id: string, place: number): number {
  const code = id.charCodeAt(place);
  return (code & 15) + (code >> 6) * 9;
}

function fixedArray<Value>(
  type: number,
  bytes: number,
  values: readonly Value[],
  write: (array: Buffer, value: Value, offset: number) => void,
): Buffer {
  // The buffer is filled with zeros, so that a malformed value cannot send what the memory contained before.
  const array = Buffer.alloc(headerBytes + values.length * (lengthBytes + bytes));
  array.writeInt32BE(1, 0);
  array.writeInt32BE(type, 8);
  array.writeInt32BE(values.length, 12);
  array.writeInt32BE(1, 16);
  let offset = headerBytes;
  for (const value of values) {
    array.writeInt32BE(bytes, offset);
    write(array, value, offset + lengthBytes);
    offset += lengthBytes + bytes;
  }
  return array;
}
