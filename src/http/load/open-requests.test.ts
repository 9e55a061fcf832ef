import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { type OpenReply, OpenRequests } from './open-requests.ts';

/** What is used here of a reply. */
function newReply(): OpenReply {
  return { raw: new EventEmitter(), open: undefined } as unknown as OpenReply;
}

function open(count: number) {
  const requests = new OpenRequests();
  const replies = Array.from({ length: count }, newReply);
  for (const [index, reply] of replies.entries()) requests.add(reply, index % 2 === 0);
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
    assert.equal(requests.count, left.length);
  }
  assert.equal(requests.localCount, 0);
});

test('a request that ends twice, or was never tracked, changes nothing', () => {
  const { requests, replies, listed } = open(3);
  for (const reply of [replies[1], replies[1], newReply()]) if (reply !== undefined) requests.leave(reply);
  assert.deepEqual(listed(), [0, 2]);
  assert.deepEqual([requests.count, requests.localCount], [2, 2]);
});

test('a request that ends while the requests are listed does not hide those after it', () => {
  const { requests, replies } = open(3);
  const listed: number[] = [];
  for (const { reply } of requests.olderThan(0)) {
    listed.push(replies.indexOf(reply));
    requests.leave(reply);
  }
  assert.deepEqual(listed, [0, 1, 2]);
  assert.equal(requests.count, 0);
});

test('a request that has ended keeps none of the others in memory', () => {
  const { requests, replies } = open(3);
  const middle = replies[1]?.open;
  assert.ok(middle?.previous && middle.next);
  for (const reply of replies) requests.leave(reply);
  assert.deepEqual([middle.previous, middle.next], [undefined, undefined]);
});
