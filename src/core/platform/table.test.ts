import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bigintArray,
  computed,
  defineTable,
  immutable,
  linked,
  mutable,
  textArray,
  timestampArray,
  uuidArray,
} from './table.ts';

test('an array has its header, and each text its length in bytes', () => {
  const header = '00000001 00000001 00000019 00000003 00000001';
  const content = `00000001 ${hex('a')} 00000004 ${hex('"é\\')} ffffffff`;
  assert.equal(textArray(['a', '"é\\', null]).toString('hex'), `${header}${content}`.replaceAll(' ', ''));
});

test('half a character takes as many bytes as PostgreSQL is told', () => {
  assert.equal(textArray(['\ud800']).subarray(20).toString('hex'), `00000003${hex('\ufffd')}`);
});

function hex(text: string): string {
  return Buffer.from(text).toString('hex');
}

/** The header has no nulls, the type, the length and the lower bound. */
function arrayOf(type: string, ...values: readonly string[]): string {
  const count = values.length.toString(16).padStart(8, '0');
  const content = values.map((value) => `${(value.length / 2).toString(16).padStart(8, '0')}${value}`);
  return `0000000100000000${type}${count}00000001${content.join('')}`;
}

test('integers are written with their sign', () => {
  const expected = arrayOf('00000014', '0000000000000001', 'ffffffffffffffff', '000000e8d4a51000');
  assert.equal(bigintArray([1, -1, 1_000_000_000_000]).toString('hex'), expected);
  assert.equal(bigintArray([]).toString('hex'), arrayOf('00000014'));
});

test('ids are written as their bytes', () => {
  const id = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
  const expected = arrayOf(
    '00000b86',
    '0199c1f06a3e7c529d4b2f6c1a7e8b90',
    '0199c1f06a3e7c529d4b2f6c1a7e8b90',
  );
  assert.equal(uuidArray([id, id.toUpperCase()]).toString('hex'), expected);
});

test('times are written as microseconds since 2000', () => {
  const before = BigInt(Date.UTC(1999, 11, 31, 23, 59, 59)) * 1_000n + 999_999n;
  const expected = arrayOf('000004a0', '0000000000000002', 'ffffffffffffffff');
  assert.equal(timestampArray([before + 3n, before]).toString('hex'), expected);
});

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
