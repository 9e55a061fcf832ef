import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from './api-error.ts';
import { History } from './history.ts';
import type { Page, TillEvent } from './types.ts';

const { signal } = new AbortController();
const url = '/events?objectId=1';

/** A feed of `count` events, which records the places from which it was read. */
function feedOf(count: number) {
  const ids = Array.from({ length: count }, (_, index) => `event-${index}`);
  const places: (string | null)[] = [];
  const history = new History(async (address): Promise<Page<TillEvent>> => {
    const query = new URLSearchParams(address.slice(address.indexOf('?')));
    const after = query.get('after');
    places.push(after);
    const from = after === null ? 0 : ids.indexOf(after) + 1;
    if (after !== null && from === 0)
      throw new ApiError({ status: 410, code: 'gone', title: '', detail: '', requestId: null });
    const data = ids.slice(from, from + Number(query.get('limit'))).map((id) => ({ id }) as TillEvent);
    return { data };
  });
  return { ids, places, history };
}

test('each read continues behind the last event', async () => {
  const { ids, places, history } = feedOf(1_500);
  const first = await history.read(url, signal);
  ids.push('event-new');
  const second = await history.read(url, signal);
  assert.deepEqual([first.events.length, first.isComplete], [1_500, true]);
  assert.deepEqual(
    second.events.map(({ id }) => id),
    ids,
  );
  assert.deepEqual(places, [null, 'event-999', 'event-1499']);
});

test('a read ends at a limit and says so, and the next one reads the rest', async () => {
  const { history } = feedOf(10_001);
  const first = await history.read(url, signal);
  const second = await history.read(url, signal);
  assert.deepEqual([first.events.length, first.isComplete], [10_000, false]);
  assert.deepEqual([second.events.length, second.isComplete], [10_001, true]);
});

test('a read starts over for another object, and when its place is no longer kept', async () => {
  const { ids, places, history } = feedOf(3);
  await history.read(url, signal);
  await history.read('/events?objectId=2', signal);
  assert.deepEqual(places, [null, null]);
  ids.splice(0, 3, 'event-later');
  const { events } = await history.read('/events?objectId=2', signal);
  assert.deepEqual(
    events.map(({ id }) => id),
    ['event-later'],
  );
});
