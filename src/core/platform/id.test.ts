import assert from 'node:assert/strict';
import { test } from 'node:test';
import { derivedId, idTime, isOurId, isUuid, newId } from './id.ts';

test('an id is a UUIDv7 that carries its time, to the millisecond', () => {
  for (const text of ['2026-11-15T09:30:00.123Z', '1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']) {
    const id = newId(new Date(text));
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(idTime(id).toISOString(), text);
    assert.ok(isUuid(id) && isOurId(id));
  }
});

test('ids sort by time, and ids of the same millisecond differ', () => {
  const ids = [1, 2, 3, 1_000, 10_000_000].map((ms) => newId(new Date(Date.UTC(2026, 0) + ms)));
  assert.deepEqual(ids.toSorted(), ids);
  const now = new Date();
  assert.equal(new Set(Array.from({ length: 1_000 }, () => newId(now))).size, 1_000);
});

test('a UUID of any version and case is accepted, and nothing else', () => {
  for (const id of ['6ba7b810-9dad-11d1-80b4-00c04fd430c8', '0199C1F0-6A3E-7C52-9D4B-2F6C1A7E8B90']) {
    assert.ok(isUuid(id), id);
  }
  const id = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
  for (const text of [
    '',
    'x',
    `${id} `,
    `${id}\n`,
    `{${id}}`,
    `urn:uuid:${id}`,
    id.replaceAll('-', ''),
    `${id}0`,
  ]) {
    assert.ok(!isUuid(text), JSON.stringify(text));
  }
});

test('a derived id carries the given time, and is the same for the same object only', () => {
  const createdAt = new Date('2026-01-02T03:04:05Z');
  const id = derivedId('invoice', 'in_1', createdAt);
  assert.equal(id, derivedId('invoice', 'in_1', createdAt));
  assert.ok(isOurId(id), id);
  assert.deepEqual(idTime(id), createdAt);
  // Fixed, because later releases must derive the same id.
  assert.equal(id, '019b7ca9-8c88-737f-8d68-1b872538a531');
  const others = [derivedId('refund', 'in_1', createdAt), derivedId('invoice', 'in_2', createdAt)];
  assert.equal(new Set([id, ...others]).size, 3);
});

test('a Till id is distinguished from other values in metadata', () => {
  assert.ok(isOurId('0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'));
  for (const text of [
    null,
    '',
    'order-7',
    '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
    '0199C1F0-6A3E-7C52-9D4B-2F6C1A7E8B90',
    '0199c1f0-6a3e-7c52-1d4b-2f6c1a7e8b90',
    // A time after the year 9999.
    'ffffffff-ffff-7c52-9d4b-2f6c1a7e8b90',
  ]) {
    assert.ok(!isOurId(text), String(text));
  }
});
