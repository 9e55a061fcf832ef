import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../test/support/until.ts';
import { EventFeed, type FollowedPlace } from './event-feed.ts';
import type { StoredEvent } from './stored-event.ts';

const behind: FollowedPlace = { position: 1, history: 1, isAtEnd: false };
const { signal } = new AbortController();

interface Range {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
  readonly isNewestFirst?: boolean;
}

/** A feed with a table that has events at these positions. */
function openFeed(positions: readonly number[] = []) {
  let reads = 0;
  const end = { position: 5 };
  const store = {
    horizon: async () => ({ ...end, history: 1 }),
    read: async (_db: object, { after, upTo, limit, isNewestFirst }: Range) => {
      // What the tail recalls is read once for all readers.
      if (!isNewestFirst) reads += 1;
      const found = positions.filter((position) => position > after && position <= upTo);
      const rows = (isNewestFirst ? found.reverse() : found).slice(0, limit).map(eventAt);
      return { rows, last: rows.at(-1), isComplete: rows.length === found.length };
    },
  };
  const parts = { database: {}, store } as unknown as ConstructorParameters<typeof EventFeed>[0];
  return { feed: new EventFeed(parts), reads: () => reads, end };
}

function eventAt(position: number): StoredEvent {
  const place = { position, createdAtMs: 0, checksum: 0 };
  const object = { objectType: 'customer', objectId: '', customerId: null };
  return {
    ...place,
    ...object,
    type: 'customer.updated',
    data: '{}',
    previous: '{}',
    cause: '{}',
    traceparent: null,
  };
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
  const { feed, reads, end } = openFeed(Array.from({ length: 2_000 }, (_, index) => index + 1));
  end.position = 2_000;
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

test('a reader that has almost caught up reads the rest from memory, and waits for no turn', async () => {
  const { feed, end } = openFeed([7, 8, 9]);
  const atEnd = { position: 5, history: 1, isAtEnd: true };
  const first = feed.next(atEnd, {}, 10, signal);
  end.position = 9;
  feed.tail.nudge();
  const positions = (batch: Awaited<typeof first>) => batch?.events.map(({ position }) => position);
  assert.deepEqual(positions(await first), [7, 8, 9]);
  const caller = new AbortController();
  const waiting = feed.next({ ...atEnd, position: 9 }, {}, 10, caller.signal);
  const neverInTurn = () => new Promise<never>(() => {});
  const near = { position: 7, history: 1, isAtEnd: false };
  assert.deepEqual(positions(await feed.next(near, {}, 10, signal, neverInTurn)), [8, 9]);
  caller.abort();
  assert.equal(await waiting, undefined);
  await feed.stop();
});

test('readers that are all behind find the newest events in memory, and meanwhile follow the end', async () => {
  const positions = Array.from({ length: 3_000 }, (_, index) => index + 1);
  const { feed, end, reads } = openFeed(positions);
  end.position = 2_900;
  const behindBy = (count: number) => ({ position: 2_900 - count, history: 1, isAtEnd: false });
  const pageFor = (place: FollowedPlace) => feed.next(place, {}, 100, signal, (read) => read());
  assert.equal((await pageFor(behindBy(2_500)))?.events.at(-1)?.position, 500);
  await until(() => feed.tail.covers(behindBy(1_000)));
  assert.equal(feed.tail.covers(behindBy(1_001)), false);
  const readBefore = reads();
  const neverInTurn = () => new Promise<never>(() => {});
  const near = await feed.next(behindBy(900), {}, 100, signal, neverInTurn);
  assert.deepEqual([near?.events[0]?.position, near?.events.length, near?.isAtEnd], [2_001, 100, true]);
  assert.equal(reads(), readBefore);
  end.position = 3_000;
  await until(() => feed.tail.since({ position: 2_950, history: 1 })?.events.length === 50);
  assert.ok(feed.tail.covers(behindBy(1_000)));
  await feed.tail.stop();
  assert.equal(feed.tail.covers(behindBy(0)), false);
});
