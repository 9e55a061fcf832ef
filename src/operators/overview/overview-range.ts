import { invalidRequest } from '#core/errors.ts';
import { dayOf, firstDay } from '#core/platform/day.ts';

/** The days that a request asks for, both inclusive. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** A leap year, so that a year can always be compared with itself. */
const daysMax = 366;
export const daysDefault = 30;
const dayMs = 86_400_000;

export const intervals = ['day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

/** Completes and checks the range of a request: by default, the days up to today or up to `to`. */
export function rangeOf(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  today: string,
): DayRange {
  const last = to ?? today;
  const firstByDefault = addDays(last, 1 - daysDefault);
  const first = from ?? (firstByDefault < firstDay ? firstDay : firstByDefault);
  if (first > last) throw invalidRequest('query.from', `must not be after ${last}`);
  if (daysBetween(first, last) > daysMax)
    throw invalidRequest('query.from', `must be at most ${daysMax} days before ${last}`);
  return { from: first, to: last };
}

/** The range of equal length before a range. Undefined if it would begin before the calendar does. */
export function rangeBefore({ from, to }: DayRange): DayRange | undefined {
  const first = addDays(from, -daysBetween(from, to));
  // A year before the first one has a sign, which sorts before all digits.
  return first < firstDay ? undefined : { from: first, to: addDays(from, -1) };
}

/** All days of a range, in order. */
export function daysOf({ from, to }: DayRange): readonly string[] {
  const startMs = Date.parse(from);
  return Array.from({ length: daysBetween(from, to) }, (_, index) => dayOf(startMs + index * dayMs));
}

/** The intervals of a range, in order. Weeks begin on Monday. The first and the last may be cut off by the range. */
export function periodsOf(range: DayRange, interval: Interval): readonly DayRange[] {
  const periods = Map.groupBy(daysOf(range), (day) => firstOf(day, interval)).values();
  return [...periods].map((days) => ({ from: days.at(0) ?? '', to: days.at(-1) ?? '' }));
}

/** The first day of the interval that a day is in. */
function firstOf(day: string, interval: Interval): string {
  if (interval === 'day') return day;
  if (interval === 'month') return day.slice(0, 'YYYY-MM'.length);
  // Sunday is 0, and the last day of a week.
  return addDays(day, -((new Date(day).getUTCDay() + 6) % 7));
}

function addDays(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * dayMs);
}

/** The number of days, both inclusive. */
function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
}
