import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computed, defineTable, immutable, linked, mutable } from './table.ts';

interface Parcel {
  readonly id: string;
  readonly ownerId: string;
  readonly weight: number;
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
    seenAt: mutable('timestamptz', 'greatest(seen_at, sent_at)'),
    crateId: linked('uuid', '(select crates.id from till.crates where crates.key = parcels.crate)'),
    revision: computed('integer'),
  },
  { insertOrder: 'ownerId' },
);

const lines = (sql: string) => sql.replaceAll(/\s+/g, ' ');

test('every field is selected by its own name', () => {
  const own = 'parcels.id as "id", parcels.owner_id as "ownerId", parcels.weight as "weight"';
  const seenAt = 'greatest(seen_at, sent_at) as "seenAt"';
  const crateId = '(select crates.id from till.crates where crates.key = parcels.crate) as "crateId"';
  assert.equal(parcels.columns, `${own}, ${seenAt}, ${crateId}, parcels.revision as "revision"`);
  assert.equal(
    parcels.ownColumns,
    `${own}, parcels.seen_at as "seenAt", null::uuid as "crateId", parcels.revision as "revision"`,
  );
});

test('an insert writes all fields except computed ones, in a fixed order of rows', () => {
  assert.equal(
    lines(parcels.insert),
    'insert into till.parcels (id, owner_id, weight, seen_at) select "id", "ownerId", "weight", "seenAt" ' +
      'from jsonb_to_recordset($1::jsonb) as v ("id" uuid, "ownerId" uuid, "weight" bigint, "seenAt" timestamptz) ' +
      'order by "ownerId" on conflict do nothing',
  );
});

test('an update writes only the mutable fields, and increments the revision', () => {
  assert.equal(
    lines(parcels.update),
    'update till.parcels set revision = revision + 1, weight = v."weight", seen_at = v."seenAt" ' +
      'from jsonb_to_recordset($1::jsonb) as v ("id" uuid, "weight" bigint, "seenAt" timestamptz) ' +
      'where parcels.id = v.id',
  );
});
