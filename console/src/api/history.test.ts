import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TillError, type TillEvent } from '@till/client';
import { History } from './history.ts';

const { signal } = new AbortController();
const first = { objectId: '1' };
const other = { objectId: '2' };
const expired = new TillError(
  { code: 'event_expired', status: 410 },
  {
    method: 'GET',
    path: '/api/v1/events',
    idempotencyKey: undefined,
    attempts: 1,
    retryAfterSeconds: undefined,
    isReplay: false,
  },
);

/** A feed of `count` events, which records the positions from which it was read. */
function feedOf(count: number) {
  const ids = Array.from({ length: count }, (_, index) => `event-${index}`);
  const places: (string | null)[] = [];
  const history = new History(async ({ after = null, limit = 0 }) => {
    places.push(after);
    const from = after === null ? 0 : ids.indexOf(after) + 1;
    if (after !== null && from === 0) throw expired;
    const data = ids.slice(from, from + limit).map((id) => ({ id }) as TillEvent);
    return { data, nextCursor: null };
  });
  return { ids, places, history };
}

test('each read continues after the last event', async () => {
  const { ids, places, history } = feedOf(1_500);
  const before = await history.read(first, signal);
  ids.push('event-new');
  const after = await history.read(first, signal);
  assert.deepEqual([before.events.length, before.isComplete], [1_500, true]);
  assert.deepEqual(
    after.events.map(({ id }) => id),
    ids,
  );
  assert.deepEqual(places, [null, 'event-999', 'event-1499']);
});

test('a read ends at a limit and says so, and the next one reads the rest', async () => {
  const { history } = feedOf(10_001);
  const before = await history.read(first, signal);
  const after = await history.read(first, signal);
  assert.deepEqual([before.events.length, before.isComplete], [10_000, false]);
  assert.deepEqual([after.events.length, after.isComplete], [10_001, true]);
});

test('a read starts over for another object, and when its position is no longer kept', async () => {
  const { ids, places, history } = feedOf(3);
  await history.read(first, signal);
  await history.read(other, signal);
  assert.deepEqual(places, [null, null]);
  ids.splice(0, 3, 'event-later');
  const { events } = await history.read(other, signal);
  assert.deepEqual(
    events.map(({ id }) => id),
    ['event-later'],
  );
});
