export type Interval = 'day' | 'week' | 'month' | 'year';

const daySeconds = 86_400;

/**
 * The time `count` intervals after the anchor. Months are counted from the anchor and not from the previous month, so
 * they keep the anchor's day: 31 January, 28 February, 31 March.
 */
export function addIntervals(anchor: number, interval: Interval, count: number): number {
  if (interval === 'day') return anchor + count * daySeconds;
  if (interval === 'week') return anchor + count * 7 * daySeconds;
  const from = new Date(anchor * 1_000);
  const months = from.getUTCMonth() + (interval === 'month' ? count : 12 * count);
  const lastDay = new Date(Date.UTC(from.getUTCFullYear(), months + 1, 0)).getUTCDate();
  const day = Math.min(from.getUTCDate(), lastDay);
  const timeOfDay = anchor - Math.floor(anchor / daySeconds) * daySeconds;
  return Date.UTC(from.getUTCFullYear(), months, day) / 1_000 + timeOfDay;
}

/** The period that contains a time. Periods are counted from the anchor. */
export function periodAt(
  anchor: number,
  interval: Interval,
  intervalCount: number,
  at: number,
): { readonly start: number; readonly end: number } {
  const approximateSeconds = { day: 1, week: 7, month: 28, year: 365 }[interval] * daySeconds * intervalCount;
  // A low estimate of the number of past periods. The loop takes the few remaining steps.
  let period = Math.max(0, Math.floor(((at - anchor) / approximateSeconds) * 0.9) - 1);
  let end = addIntervals(anchor, interval, period * intervalCount);
  while (end <= at) {
    period += 1;
    end = addIntervals(anchor, interval, period * intervalCount);
  }
  return { start: addIntervals(anchor, interval, (period - 1) * intervalCount), end };
}
