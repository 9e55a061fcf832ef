import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';

/** Timers that fire only when the test moves the time, so that a busy machine makes none fire more or less often. */
export interface StoppedClock extends Disposable {
  /** Moves the time, and lets the timers that end by then fire. */
  advance(byMs: number): Promise<void>;
}

/** Stops the timers that start from now on, and `performance.now`. Earlier timers go on, and cannot be cleared. */
export function stopClock(): StoppedClock {
  let nowMs = performance.now();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const now = mock.method(performance, 'now', () => nowMs);
  // Also for modules that import a timer by its name.
  syncBuiltinESMExports();
  return {
    advance: async (byMs) => {
      // What the caller woke may start a timer first.
      await setImmediate();
      nowMs += byMs;
      mock.timers.tick(byMs);
    },
    [Symbol.dispose]: () => {
      now.mock.restore();
      mock.timers.reset();
      syncBuiltinESMExports();
    },
  };
}
