import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventId, parseEventId } from './event-id.ts';

const max = 2 ** 48 - 1;

test('an id contains the place of its event, up to the largest that 48 bits hold', () => {
  for (const place of [
    { position: 1, createdAtMs: 0, checksum: 0 },
    { position: 42, createdAtMs: Date.UTC(2026, 10, 15, 9, 30, 0, 123), checksum: 43 },
    { position: max, createdAtMs: Date.UTC(9999, 11, 31, 23, 59, 59, 999), checksum: max },
  ]) {
    const id = eventId(place);
    assert.match(id, /^evt_[\w-]{24}$/);
    assert.deepEqual(parseEventId(id), place);
  }
});

test('other texts are not ids', () => {
  const id = eventId({ position: 7, createdAtMs: 1_000, checksum: 8 });
  const late = eventId({ position: 7, createdAtMs: Date.UTC(10_000, 0), checksum: 8 });
  for (const text of [
    late,
    '',
    'evt_',
    id.slice(0, -1),
    `${id}A`,
    ` ${id}`,
    `${id}\n`,
    id.toUpperCase(),
    '7',
  ]) {
    assert.equal(parseEventId(text), undefined, JSON.stringify(text));
  }
});
