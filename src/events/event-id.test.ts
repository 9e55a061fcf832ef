import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventId, parseEventId } from './event-id.ts';

test('an id contains the place of its event, up to the largest that 48 bits hold', () => {
  for (const place of [
    { position: 1, createdAtMs: 0 },
    { position: 42, createdAtMs: Date.UTC(2026, 10, 15, 9, 30, 0, 123) },
    { position: 2 ** 48 - 1, createdAtMs: 2 ** 48 - 1 },
  ]) {
    const id = eventId(place);
    assert.match(id, /^evt_[\w-]{16}$/);
    assert.deepEqual(parseEventId(id), place);
  }
});

test('other texts are not ids', () => {
  const id = eventId({ position: 7, createdAtMs: 1_000 });
  for (const text of ['', 'evt_', id.slice(0, -1), `${id}A`, ` ${id}`, `${id}\n`, id.toUpperCase(), '7']) {
    assert.equal(parseEventId(text), undefined, JSON.stringify(text));
  }
});
