import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Turns } from './turns.ts';

const { signal } = new AbortController();

function open(max: number) {
  const turns = new Turns(max);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = (id: number, until = signal) =>
    turns.inTurn(async () => {
      begun.push(id);
      await new Promise<void>((resolve) => void ends.push(resolve));
      return id;
    }, until);
  const end = async () => {
    ends.shift()?.();
    await setImmediate();
  };
  return { turns, begun, work, end };
}

test('work takes turns in its order, at most so many at a time, also after a failure', async () => {
  const { turns, begun, work, end } = open(2);
  const failed = turns.inTurn(() => Promise.reject(new Error('failed')), signal);
  const done = [1, 2, 3].map((id) => work(id));
  await assert.rejects(failed, { message: 'failed' });
  await setImmediate();
  assert.deepEqual(begun, [1, 2]);
  await end();
  assert.deepEqual(begun, [1, 2, 3]);
  await end();
  await end();
  assert.deepEqual(await Promise.all(done), [1, 2, 3]);
});

test('work whose signal aborts while it waits ends at once, and does not delay what is behind it', async () => {
  const { begun, work, end } = open(1);
  const caller = new AbortController();
  const [first, gone, next] = [work(1), work(2, caller.signal), work(3)];
  caller.abort();
  assert.equal(await gone, undefined);
  assert.equal(await work(4, caller.signal), undefined);
  assert.deepEqual(begun, [1]);
  await end();
  assert.deepEqual(begun, [1, 3]);
  await end();
  assert.deepEqual(await Promise.all([first, next]), [1, 3]);
});

test('what has begun is not affected by its signal, and a turn without anyone waiting for it is free', async () => {
  const { turns, work, end } = open(1);
  const caller = new AbortController();
  const first = work(1, caller.signal);
  await setImmediate();
  caller.abort();
  await end();
  assert.equal(await first, 1);
  assert.equal(await turns.take(signal), true);
  turns.leave();
});
