import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createLogger } from './logger.ts';
import { delayAfter, Repeater } from './repeater.ts';

test('work that failed or did not finish is retried with backoff, and never later than its usual delay', () => {
  const hour = 3_600_000;
  const delays = Array.from({ length: 13 }, (_, unfinishedRuns) => delayAfter(unfinishedRuns, hour));
  assert.deepEqual(delays.slice(0, 4), [hour, 5_000, 10_000, 20_000]);
  assert.deepEqual(
    delays.slice(1),
    delays.slice(1).toSorted((a, b) => a - b),
  );
  assert.equal(delays.at(-1), hour);
  assert.equal(delayAfter(1_000_000, hour), hour);
  assert.equal(delayAfter(1, 1_000), 1_000, 'never later than usual');
});

test('a restart aborts the run in progress and begins another one, or begins one at once between two runs', async () => {
  const runs: AbortSignal[] = [];
  let begun = Promise.withResolvers<void>();
  let end = Promise.withResolvers<void>();
  const repeater = new Repeater({
    name: 'test',
    delayMs: 3_600_000,
    logger: createLogger('silent'),
    work: (signal) => {
      runs.push(signal);
      begun.resolve();
      return end.promise;
    },
  });
  const nextRun = async () => {
    begun = Promise.withResolvers();
    const ended = end;
    end = Promise.withResolvers();
    return { ended, begun: begun.promise };
  };
  repeater.restart();
  assert.equal(runs.length, 0, 'it was not started');
  repeater.start();
  await begun.promise;
  const second = await nextRun();
  repeater.restart();
  assert.equal(runs[0]?.aborted, true);
  second.ended.resolve();
  await second.begun;
  const third = await nextRun();
  third.ended.resolve();
  // The second run has ended, and the next one is due in an hour.
  await setImmediate();
  repeater.restart();
  await third.begun;
  assert.deepEqual(
    runs.map(({ aborted }) => aborted),
    [true, false, false],
  );
  end.resolve();
  await repeater.stop();
  repeater.restart();
  assert.equal(runs.length, 3, 'it was stopped');
});
