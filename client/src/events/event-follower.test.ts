import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Till } from '../till.ts';

const stopped = new Error('stopped');

/** A client without a delay of its own, whose reader is stopped by the third request. */
function startReader(respond: () => Promise<Response>) {
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
  const next = till.events.follow({ signal: stop.signal })[Symbol.asyncIterator]().next();
  return { next, sentAtMs };
}

test('a reader pauses between its requests, also if the client has no delay', async () => {
  const readers = [
    startReader(() => Promise.reject(new TypeError('fetch failed'))),
    // A service that is stopping does not wait for events.
    startReader(async () => Response.json({ data: [], nextCursor: null })),
  ];
  for (const { next, sentAtMs } of readers) {
    await assert.rejects(next, stopped);
    const [first = 0, , third = 0] = sentAtMs;
    // Two pauses of 50 ms; a timer can end a millisecond early.
    assert.ok(third - first >= 98, `${third - first} ms`);
  }
});
