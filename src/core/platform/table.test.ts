import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textArray } from './binary-array.ts';
import { computed, defineTable, immutable, linked, mutable } from './table.ts';

interface Parcel {
  readonly id: string;
  readonly ownerId: string;
  readonly weight: number;
  readonly label: string | null;
  readonly contents: object | null;
  readonly seenAt: Date;
  readonly crateId: string | null;
  readonly revision: number;
}

const parcels = defineTable<Parcel>(
  'parcels',
  {
    id: immutable('uuid'),
    ownerId: immutable('uuid'),
    weight: mutable('bigint'),
    label: mutable('text'),
    contents: mutable('jsonb'),
    seenAt: mutable('timestamptz', 'greatest(seen_at, sent_at)'),
    crateId: linked('uuid', '(select crates.id from till.crates where crates.key = parcels.crate)'),
    revision: computed('integer'),
  },
  { insertOrder: 'ownerId' },
);

const lines = (sql: string) => sql.replaceAll(/\s+/g, ' ');

test('every field is selected by its own name', () => {
  const own =
    'parcels.id as "id", parcels.owner_id as "ownerId", parcels.weight as "weight", ' +
    'parcels.label as "label", parcels.contents as "contents"';
  const seenAt = 'greatest(seen_at, sent_at) as "seenAt"';
  const crateId = '(select crates.id from till.crates where crates.key = parcels.crate) as "crateId"';
  assert.equal(parcels.columns, `${own}, ${seenAt}, ${crateId}, parcels.revision as "revision"`);
  assert.equal(
    parcels.ownColumns,
    `${own}, parcels.seen_at as "seenAt", null::uuid as "crateId", parcels.revision as "revision"`,
  );
});

test('only fields that PostgreSQL computes or rewrites are read back after a write', () => {
  assert.equal(
    parcels.storedColumns,
    'parcels.id as "id", parcels.contents as "contents", parcels.revision as "revision"',
  );
});

test('an insert writes all fields except computed ones, in a fixed order of rows', () => {
  assert.equal(
    lines(parcels.insert.text),
    'insert into till.parcels (id, owner_id, weight, label, contents, seen_at) ' +
      'select v."id"::uuid, v."ownerId"::uuid, v."weight"::bigint, v."label", v."contents"::jsonb, v."seenAt"::timestamptz ' +
      'from (select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) ' +
      'as v ("id", "ownerId", "weight", "label", "contents", "seenAt") limit (select null::bigint)) as v ' +
      'order by "ownerId" on conflict do nothing',
  );
});

test('an update writes only the mutable fields, and increments the revision', () => {
  assert.equal(
    lines(parcels.update.text),
    'update till.parcels set revision = revision + 1, weight = v."weight"::bigint, label = v."label", ' +
      'contents = v."contents"::jsonb, seen_at = v."seenAt"::timestamptz ' +
      'from (select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) ' +
      'as v ("id", "weight", "label", "contents", "seenAt") limit (select null::bigint)) as v where parcels.id = v."id"::uuid',
  );
});

test('each parameter has one field of all rows, as PostgreSQL reads its type', () => {
  const row = {
    id: 'a',
    ownerId: 'b',
    crateId: null,
    revision: 1,
    contents: { toys: ['x'] },
    label: 'fragile',
  };
  const rows = [
    { ...row, weight: 5, seenAt: new Date(0) },
    { ...row, id: 'c', weight: -1, label: null, contents: null, seenAt: new Date(1) },
  ];
  const values = [
    ['a', 'c'],
    ['5', '-1'],
    ['fragile', null],
    ['{"toys":["x"]}', null],
    ['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.001Z'],
  ];
  assert.deepEqual(parcels.update.valuesOf(rows), values.map(textArray));
});
