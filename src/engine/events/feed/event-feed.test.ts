import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventFeed, type FollowedPlace } from './event-feed.ts';

const behind: FollowedPlace = { position: 1, history: 1, isAtEnd: false };
const { signal } = new AbortController();

/** A feed with a table that has no further events. */
function openFeed() {
  let reads = 0;
  const store = {
    horizon: async () => ({ position: 5, history: 1 }),
    read: async () => {
      reads += 1;
      return { rows: [], last: undefined, isComplete: true };
    },
  };
  const parts = { database: {}, store } as unknown as ConstructorParameters<typeof EventFeed>[0];
  return { feed: new EventFeed(parts), reads: () => reads };
}

test('a waiting request does not wait behind streams that give way', async () => {
  const { feed, reads } = openFeed();
  const callers = Array.from({ length: 10 }, () => new AbortController());
  const streams = callers.map((caller) =>
    feed.next(behind, {}, 10, caller.signal, () => new Promise(() => {})),
  );
  assert.equal((await feed.next(behind, {}, 10, signal))?.position, 5);
  assert.equal(reads(), 1);
  for (const caller of callers) caller.abort();
  // Those that wait for their turn. The first ones wait for what never resolves here.
  assert.deepEqual(
    await Promise.all(streams.slice(3)),
    Array.from({ length: 7 }, () => undefined),
  );
});

test('a reader that has left while it waited for its turn reads nothing', async () => {
  const { feed, reads } = openFeed();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const inTurn = async (read: () => ReturnType<typeof feed.next>) => begun.then(read);
  const first = [1, 2, 3].map(() => feed.next(behind, {}, 10, signal, inTurn));
  const caller = new AbortController();
  const left = Array.from({ length: 100 }, () => feed.next(behind, {}, 10, caller.signal, inTurn));
  const last = feed.next(behind, {}, 10, signal, inTurn);
  caller.abort();
  await Promise.all(left);
  begin();
  await Promise.all([...first, last]);
  assert.equal(reads(), 4);
});
