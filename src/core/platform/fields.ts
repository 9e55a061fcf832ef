import type { Static, TSchema } from 'typebox';
import type { Column } from './table.ts';

/**
 * The fields of a resource, declared once. The table has their columns. The schema of the API, its example, the view
 * and the columns of a CSV file follow from the fields that are shown, in the order of the list. `Derived`: the names
 * of the fields that have no column.
 */
export type Fields<Row, Derived extends string = never> = {
  readonly [Name in keyof Row]-?: Column & Accepting<JsonOf<Row[Name]>>;
} & { readonly [Name in Derived]: ShownField };

/** A field of the API. */
interface ShownField<Schema extends TSchema = TSchema> {
  readonly schema: Schema;
  /** Its value in the example of the documentation. */
  readonly example: Static<Schema>;
  /** Its value, if it is not just that of the column. */
  readonly show?: (row: never, context: never) => unknown;
}

/** Only for the compiler: the schema must accept every value of the column. */
interface Accepting<Value> {
  readonly accepts?: (value: Value) => void;
}

/** The value of a column as the API shows it. */
type JsonOf<Value> = Value extends Date ? string : Value extends readonly (infer Item)[] ? Item[] : Value;

type ShownName<List> = { [Name in keyof List]: List[Name] extends ShownField ? Name : never }[keyof List];
type SchemaOf<Field> = Field extends ShownField<infer Schema> ? Schema : never;

/** An object as the API shows it. */
export type ViewOf<List> = { [Name in ShownName<List>]: Static<SchemaOf<List[Name]>> };

/** A field that the API shows as it is stored; times in ISO 8601. */
export function shown<Schema extends TSchema>(
  column: Column,
  schema: Schema,
  example: Static<Schema>,
): Column & ShownField<Schema> & Accepting<Static<Schema>> {
  return { ...column, schema, example };
}

/** A field that the API shows in another way. */
export function shownAs<Row, Schema extends TSchema, Context = undefined>(
  column: Column,
  schema: Schema,
  example: Static<Schema>,
  show: (row: Row, context: Context) => Static<Schema>,
): Column & ShownField<Schema> {
  return { ...column, schema, example, show };
}

/** A field of the API that follows from the row, or from the context of its view, and has no column. */
export function derived<Row, Schema extends TSchema, Context = undefined>(
  schema: Schema,
  example: Static<Schema>,
  show: (row: Row, context: Context) => Static<Schema>,
): ShownField<Schema> {
  return { schema, example, show };
}

export function schemasOf<List extends object>(
  fields: List,
): { [Name in ShownName<List>]: SchemaOf<List[Name]> } {
  return ofShown(fields, ({ schema }) => schema) as never;
}

/** The object in the documentation. */
export function exampleOf<List extends object>(fields: List): ViewOf<List> {
  return ofShown(fields, ({ example }) => example) as never;
}

function ofShown(fields: object, partOf: (field: ShownField) => unknown): object {
  return Object.fromEntries(shownFields(fields).map(([name, field]) => [name, partOf(field)]));
}

function shownFields(fields: object): readonly [string, Partial<Column> & ShownField][] {
  return Object.entries(fields).filter(([, field]) => 'schema' in field);
}

/**
 * The function that shows a row. It is compiled from the list to one object literal, `{ id: row.id, … }`, because it
 * runs for every row of every response: a loop over the fields takes a third longer.
 */
export function viewOf<Row, Context = undefined>() {
  return <List extends Fields<Row>>(fields: List) => {
    const values = shownFields(fields).map(([name, { type, show }]) => {
      if (show !== undefined) return `${name}: fields.${name}.show(row, context)`;
      return type === 'timestamptz' ? `${name}: row.${name}?.toISOString() ?? null` : `${name}: row.${name}`;
    });
    const view = new Function('fields', `return (row, context) => ({ ${values.join(', ')} })`)(fields);
    // The list declares these fields and the types of their values.
    return view as (row: Row, ...context: Context extends undefined ? [] : [Context]) => ViewOf<List>;
  };
}
