import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { WorkDoor } from './work-door.ts';

test('closing the door waits for all work inside, also for work that joined', async () => {
  const door = new WorkDoor();
  const leave = door.tryEnter();
  assert(leave !== undefined);
  const leaveJoined = door.join();
  let isEmpty = false;
  const closed = door.close().then(() => {
    isEmpty = true;
  });
  assert.equal(door.tryEnter(), undefined);
  leave();
  leave();
  await setImmediate();
  assert.equal(isEmpty, false);
  leaveJoined();
  await closed;
  assert.equal(await door.untilOpen(0), false);
  const waiting = door.untilOpen(60_000);
  door.open();
  assert.equal(await waiting, true);
  assert(door.tryEnter() !== undefined);
});

test('background work is aborted by a closing door, and begins again once it is open', async () => {
  const door = new WorkDoor();
  const runs: AbortSignal[] = [];
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const working = door.repeat(new AbortController().signal, async (signal) => {
    runs.push(signal);
    if (runs.length > 1) return 'done';
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
    resolve();
    return aborted;
  });
  await begun;
  await door.close();
  assert.equal(runs.length, 1);
  door.open();
  assert.equal(await working, 'done');
  assert.equal(runs[1]?.aborted, false);
});

test('work that fails, or whose own signal is aborted, does not begin again', async () => {
  const door = new WorkDoor();
  const own = new AbortController();
  await assert.rejects(
    door.repeat(own.signal, async () => {
      throw new Error('broken');
    }),
    /broken/,
  );
  await door.close();
  const waiting = door.repeat(own.signal, async () => assert.fail('it must not begin'));
  own.abort(new Error('stopped'));
  await assert.rejects(waiting, /stopped/);
});
