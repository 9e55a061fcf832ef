import type { Clock, ProcessorClock } from '#core/platform/clock.ts';
import { type Instant, instantOfDate } from '#core/platform/instant.ts';

/** Clocks of applications differ from Till's by less. */
const aheadMax = 300_000_000n;

interface Clocks {
  readonly clock: Clock;
  readonly processorClock: ProcessorClock;
}

/** The times that events may have, inclusive. */
export interface TimeRange {
  readonly from: Instant;
  readonly to: Instant;
}

/**
 * The range around now. A time beyond it may be one of a sandbox whose clock is ahead, so only such a time needs the
 * sandbox's clock.
 */
export async function timeRange(
  { clock, processorClock }: Clocks,
  latest: Instant,
  backMax: Instant,
): Promise<TimeRange> {
  const now = instantOfDate(clock.now());
  const from = now - backMax;
  if (latest <= now + aheadMax) return { from, to: now + aheadMax };
  return { from, to: instantOfDate(await processorClock.read()) + aheadMax };
}
