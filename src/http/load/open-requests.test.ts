import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type OpenReply, OpenRequests } from './open-requests.ts';

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

test('what gives way waits for the requests that work, and not for ever', async () => {
  const { requests, replies } = open(2);
  let hasPassed = false;
  const passed = requests.giveWay().then(() => {
    hasPassed = true;
  });
  requests.leave(replies[0] ?? assert.fail());
  await setImmediate();
  assert.equal(hasPassed, false);
  requests.leave(replies[1] ?? assert.fail());
  await passed;
  requests.add(newReply(), true, false);
  await requests.giveWay();
  assert.equal(requests.workingCount, 1);
});
