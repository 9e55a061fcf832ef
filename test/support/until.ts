import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';

/** Looking without a pause would take the CPU time from what the test waits for. */
const pauseMs = 10;
/** A minute: far longer than anything needs. */
const looksMax = 6_000;
/** That of the system, even for a test that stops the clock. */
const pause = setTimeout;

/** Resolves when the condition holds. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  complaint = 'it does not happen',
): Promise<void> {
  for (let look = 0; look < looksMax; look += 1) {
    if (await holds()) return;
    await pause(pauseMs);
  }
  assert.fail(complaint);
}
