import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from '#core/platform/schemas.ts';
import { derived, exampleOf, type Fields, schemasOf, shown, shownAs, viewOf } from './fields.ts';
import { computed, defineTable, immutable, mutable } from './table.ts';

interface Row {
  readonly id: string;
  readonly amount: number;
  readonly endedAt: Date | null;
  readonly email: string | null;
  readonly revision: number;
}

const fields = {
  id: shown(immutable('uuid'), Type.String(), '1'),
  email: shownAs(mutable('text'), Type.String(), 'a@example.com', ({ email }: Row) => email ?? ''),
  double: derived(Type.Integer(), 2, ({ amount }: Row, factor: number) => amount * factor),
  endedAt: shown(mutable('timestamptz'), Type.Unsafe<string | null>({ type: ['string', 'null'] }), null),
  amount: mutable('bigint'),
  revision: computed('integer'),
} satisfies Fields<Row, 'double'>;

const row: Row = { id: '1', amount: 2, endedAt: new Date(0), email: null, revision: 0 };
const view = viewOf<Row, number>()(fields);

test('the view, the schema and the example have the fields that are shown, in the order of the list', () => {
  const names = ['id', 'email', 'double', 'endedAt'];
  for (const object of [schemasOf(fields), exampleOf(fields), view(row, 3)])
    assert.deepEqual(Object.keys(object), names);
});

test('the view shows times in ISO 8601, and the others as they are or as their functions say', () => {
  assert.deepEqual(view(row, 3), { id: '1', email: '', double: 6, endedAt: '1970-01-01T00:00:00.000Z' });
  assert.equal(view({ ...row, endedAt: null }, 3).endedAt, null);
});

test('the table has the columns of the list, and no column for a field that follows from others', () => {
  const { columns, insert } = defineTable<Row>('rows', fields);
  assert.equal(
    columns,
    'rows.id as "id", rows.email as "email", rows.ended_at as "endedAt", rows.amount as "amount", rows.revision as "revision"',
  );
  assert.match(insert.text, /^insert into till\.rows \(id, email, ended_at, amount\)/);
});

test('the compiler refuses a list without a column, or with a schema that refuses what a column can hold', () => {
  type Accepts<List> = List extends Fields<Row> ? true : false;
  const { revision: _, ...withoutRevision } = fields;
  const withoutNull = { ...fields, email: shown(mutable('text'), Type.String(), '') };
  const ofOtherType = { ...fields, amount: shown(mutable('bigint'), Type.String(), '') };
  const accepted: [
    Accepts<typeof fields>,
    Accepts<typeof withoutRevision>,
    Accepts<typeof withoutNull>,
    Accepts<typeof ofOtherType>,
  ] = [true, false, false, false];
  assert.deepEqual(accepted, [true, false, false, false]);
});
