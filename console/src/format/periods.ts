import { dayOf } from '../../../src/core/platform/day.ts';

/** Days of a calendar, both inclusive. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

export interface Period extends DayRange {
  readonly label: string;
}

const dayMs = 86_400_000;

/** Their lengths in months. */
const spans = [
  ['month', 1],
  ['quarter', 3],
  ['year', 12],
] as const;

/** The current month, quarter and year, and those before them, each with all of its days. */
export function periods(today: string): readonly Period[] {
  return spans.flatMap(([name, months]) => [
    { label: `This ${name}`, ...monthsOf(months, 0, today) },
    { label: `Last ${name}`, ...monthsOf(months, 1, today) },
  ]);
}

/** The last days up to today. */
export function lastDays(count: number, today: string): DayRange {
  return { from: dayOf(Date.parse(today) - (count - 1) * dayMs), to: today };
}

/** Some whole months: `back` is how many of these spans ago. */
function monthsOf(count: number, back: number, today: string): DayRange {
  const now = new Date(today);
  const first = Math.floor(now.getUTCMonth() / count) * count - back * count;
  const start = (months: number) => Date.UTC(now.getUTCFullYear(), first + months, 1);
  return { from: dayOf(start(0)), to: dayOf(start(count) - dayMs) };
}
