import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type OpenReply, OpenRequests } from './open-requests.ts';

const { signal } = new AbortController();

/** What is used here of a reply. */
function newReply(): OpenReply {
  return { raw: new EventEmitter(), open: undefined } as unknown as OpenReply;
}

function open(count: number) {
  const requests = new OpenRequests();
  const replies = Array.from({ length: count }, newReply);
  for (const [index, reply] of replies.entries()) requests.add(reply, index % 2 === 0, false);
  const listed = () => [...requests.olderThan(0)].map(({ reply }) => replies.indexOf(reply));
  return { requests, replies, listed };
}

test('requests are listed in order of arrival, whichever of them have ended', () => {
  const { requests, replies, listed } = open(5);
  assert.deepEqual(listed(), [0, 1, 2, 3, 4]);
  for (const [ended, left] of [
    [2, [0, 1, 3, 4]],
    [0, [1, 3, 4]],
    [4, [1, 3]],
    [3, [1]],
    [1, []],
  ] as const) {
    replies[ended]?.raw.emit('close');
    assert.deepEqual(listed(), left);
    assert.equal(requests.workingCount, left.length);
  }
  assert.equal(requests.localCount, 0);
});

test('a request that ends twice, or was never tracked, changes nothing', () => {
  const { requests, replies, listed } = open(3);
  for (const reply of [replies[1], replies[1], newReply()]) if (reply !== undefined) requests.leave(reply);
  assert.deepEqual(listed(), [0, 2]);
  assert.deepEqual([requests.workingCount, requests.localCount], [2, 2]);
});

test('a request that ends while the requests are listed does not hide those after it', () => {
  const { requests, replies } = open(3);
  const listed: number[] = [];
  for (const { reply } of requests.olderThan(0)) {
    listed.push(replies.indexOf(reply));
    requests.leave(reply);
  }
  assert.deepEqual(listed, [0, 1, 2]);
  assert.equal(requests.workingCount, 0);
});

test('a request that has ended keeps none of the others in memory', () => {
  const { requests, replies } = open(3);
  const middle = replies[1]?.open;
  assert.ok(middle?.previous && middle.next);
  for (const reply of replies) requests.leave(reply);
  assert.deepEqual([middle.previous, middle.next], [undefined, undefined]);
});

test('a request whose body arrives, or that waits for work elsewhere, is no load', async () => {
  const requests = new OpenRequests();
  const reply = newReply();
  const working = () => [requests.workingCount, requests.localCount];
  requests.add(reply, true, true);
  assert.deepEqual(working(), [0, 0]);
  requests.arrive(reply);
  requests.arrive(reply);
  assert.deepEqual(working(), [1, 1]);

  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const waits = [first, second].map(({ promise }) => requests.wait(reply, () => promise));
  assert.deepEqual(working(), [0, 0]);
  first.resolve();
  await waits[0];
  assert.deepEqual(working(), [0, 0], 'it still waits for the other');
  second.reject(new Error('refused'));
  await assert.rejects(waits[1] ?? assert.fail(), /refused/);
  assert.deepEqual(working(), [1, 1]);
});

test('the age of a request begins with its work', async () => {
  const requests = new OpenRequests();
  const reply = newReply();
  requests.add(reply, true, false);
  const since = reply.open?.sinceMs ?? 0;
  await requests.wait(reply, async () => {
    while (performance.now() < since + 5);
  });
  assert.ok(requests.localAgeMs < performance.now() - since - 4);
  assert.deepEqual([...requests.olderThan(4)].length, 1, 'for its deadline, all of its time counts');
});

test('a request that ends while it waits does not come back', async () => {
  const requests = new OpenRequests();
  const reply = newReply();
  requests.add(reply, true, false);
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = requests.wait(reply, () => promise);
  reply.raw.emit('close');
  resolve();
  await waiting;
  assert.deepEqual([requests.workingCount, requests.localCount], [0, 0]);
});

test('without requests, work that gives way begins at once, however much there is', async (t) => {
  const { requests, replies } = open(1);
  requests.leave(replies[0] ?? assert.fail());
  const sinceMs = performance.now() + 1_000;
  t.mock.method(performance, 'now', () => sinceMs);
  let begun = 0;
  const pieces = [1, 2, 3].map(() =>
    requests.giveWay(async () => {
      begun += 1;
    }, signal),
  );
  assert.equal(begun, 3);
  await Promise.all(pieces);
});

for (const [isWorking, name] of [
  [true, 'beside a request'],
  [false, 'shortly after one'],
] as const)
  test(`${name}, work that gives way has a tenth of the time, and goes on after a failure`, async (t) => {
    let nowMs = 1_000_000;
    t.mock.method(performance, 'now', () => nowMs);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const advance = async (byMs: number) => {
      nowMs += byMs;
      t.mock.timers.tick(byMs);
      await setImmediate();
    };
    const { requests, replies } = open(1);
    if (!isWorking) requests.leave(replies[0] ?? assert.fail());
    const ends: (() => void)[] = [];
    const piece = () =>
      requests.giveWay(
        () => new Promise<void>((_, reject) => void ends.push(() => reject(new Error('failed')))),
        signal,
      );
    const failed = [piece(), piece(), piece()].map((outcome) =>
      assert.rejects(outcome, { message: 'failed' }),
    );
    await advance(0);
    await advance(10);
    assert.equal(ends.length, 1, 'one at a time');
    ends[0]?.();
    await advance(0);
    await advance(89);
    assert.equal(ends.length, 1, 'nine times as long as it worked');
    await advance(1);
    assert.equal(ends.length, 2);
    await advance(10_000);
    ends[1]?.();
    await advance(0);
    await advance(250);
    assert.equal(ends.length, 3, 'a quarter of a second at most');
    ends[2]?.();
    await Promise.all(failed);
  });

test('work that gives way ends with its caller while it waits, and is not done', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { requests } = open(1);
  const caller = new AbortController();
  const { promise, resolve: end } = Promise.withResolvers<void>();
  let done = 0;
  const first = requests.giveWay(() => promise, signal);
  const piece = async () => {
    done += 1;
  };
  const abandoned = Array.from({ length: 1_000 }, () => requests.giveWay(piece, caller.signal));
  const next = requests.giveWay(piece, signal);
  caller.abort();
  await Promise.all(abandoned);
  end();
  await first;
  t.mock.timers.tick(250);
  await next;
  assert.equal(done, 1);
});

test('once it is quiet again, the work that waits is done without pauses', async (t) => {
  let nowMs = 1_000_000;
  t.mock.method(performance, 'now', () => nowMs);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { requests, replies } = open(1);
  const takeMs = 10;
  const piece = async () => {
    nowMs += takeMs;
  };
  const first = requests.giveWay(piece, signal);
  const waiting = [1, 2, 3].map(() => requests.giveWay(piece, signal));
  await first;
  requests.leave(replies[0] ?? assert.fail());
  nowMs += 1_000;
  t.mock.timers.tick(9 * takeMs);
  await Promise.all(waiting);
});
