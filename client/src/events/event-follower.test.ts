import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Till } from '../till.ts';
import type { FollowOptions } from './event-follower.ts';

const stopped = new Error('stopped');

/** A client without a delay. The third request stops its reader. */
function startReader(respond: () => Promise<Response>, options: FollowOptions = {}) {
  const stop = new AbortController();
  const sentAtMs: number[] = [];
  const till = new Till({
    url: 'http://till.example.com',
    apiKey: 'key',
    retryDelayMs: 0,
    fetch: async () => {
      sentAtMs.push(performance.now());
      if (sentAtMs.length === 3) stop.abort(stopped);
      return respond();
    },
  });
  const feed = till.events.follow({ ...options, signal: stop.signal });
  const read = async () => {
    for await (const { id } of feed) assert.equal(id, 'event');
  };
  return { next: read(), sentAtMs };
}

test('a reader pauses between its requests, even if the client has no delay', async () => {
  const readers = [
    startReader(() => Promise.reject(new TypeError('fetch failed'))),
    // A service that is stopping does not wait for events.
    startReader(async () => Response.json({ data: [], nextCursor: null })),
  ];
  for (const { next, sentAtMs } of readers) {
    await assert.rejects(next, stopped);
    const [first = 0, , third = 0] = sentAtMs;
    // Two pauses of 50 ms; a timer can fire a millisecond early.
    assert.ok(third - first >= 98, `${third - first} ms`);
  }
});

test('a reader with an interval sends no more requests, however many events there are', async () => {
  const page = async () => Response.json({ data: [{ id: 'event' }], nextCursor: 'event' });
  // The interval begins before the request is sent, which can take long on a busy machine.
  const startedAtMs = performance.now();
  const { next, sentAtMs } = startReader(page, { intervalMs: 50 });
  await assert.rejects(next, stopped);
  const [, , third = 0] = sentAtMs;
  assert.ok(third - startedAtMs >= 98, `${third - startedAtMs} ms`);
});

test('a display learns when requests fail and succeed again, and the request after a failure does not wait', async () => {
  const waits: (string | null)[] = [];
  const states: boolean[] = [];
  const stop = new AbortController();
  const till = new Till({
    url: 'http://till.example.com',
    apiKey: 'key',
    retryDelayMs: 0,
    fetch: async (input) => {
      waits.push(new URL(String(input)).searchParams.get('waitSeconds'));
      if (waits.length === 1) throw new TypeError('fetch failed');
      if (waits.length === 3) stop.abort(stopped);
      return Response.json({ data: [{ id: 'event' }], nextCursor: 'event' });
    },
  });
  const feed = till.events.follow({ signal: stop.signal, onConnected: (is) => states.push(is) });
  const read = async () => {
    for await (const { id } of feed) assert.equal(id, 'event');
  };
  await assert.rejects(read(), stopped);
  assert.deepEqual(waits, ['25', '0', '25']);
  assert.deepEqual(states, [false, true]);
});
