import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { currentCause, runAs } from './cause.ts';
import { PacedCalls } from './paced-calls.ts';

function start() {
  const calls: PromiseWithResolvers<string>[] = [];
  const keys: string[] = [];
  let endSecond = () => {};
  const paced = new PacedCalls<string>(
    (key) => {
      keys.push(key);
      const call = Promise.withResolvers<string>();
      calls.push(call);
      return call.promise;
    },
    () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      endSecond = resolve;
      return promise;
    },
  );
  return { paced, calls, keys, endSecond: () => endSecond() };
}

test('callers of a key share a call that is in progress, and its result for a second', async () => {
  const { paced, calls, keys, endSecond } = start();
  assert.equal(paced.begunMs('a'), undefined);
  const first = Array.from({ length: 50 }, () => paced.ask('a'));
  calls[0]?.resolve('1');
  assert.deepEqual(new Set(await Promise.all(first)), new Set(['1']));
  await turn();
  assert.equal(await paced.ask('a'), '1');
  assert.ok(Number(paced.begunMs('a')) <= performance.now());
  endSecond();
  await turn();
  assert.equal(paced.begunMs('a'), undefined);
  const second = paced.ask('a');
  calls[1]?.resolve('2');
  assert.equal(await second, '2');
  assert.deepEqual(keys, ['a', 'a']);
});

test('a slow call stays the only one after its second, and a failure is shared like a result', async () => {
  const { paced, calls, endSecond } = start();
  const first = paced.ask('a');
  endSecond();
  await turn();
  const second = paced.ask('a');
  assert.equal(calls.length, 1);
  calls[0]?.reject(new Error('it failed'));
  await assert.rejects(first, /it failed/);
  await assert.rejects(second, /it failed/);
  await turn();
  void paced.ask('a');
  assert.equal(calls.length, 2);
});

test('keys do not wait for each other', () => {
  const { paced, keys } = start();
  void paced.ask('a');
  void paced.ask('b');
  assert.deepEqual(keys, ['a', 'b']);
});

test('a call belongs to none of its callers', async () => {
  const paced = new PacedCalls(async () => currentCause()?.kind);
  assert.equal(await runAs('api', () => paced.ask('a')), 'recovery');
});
