import { Failure } from '../errors.ts';
import { dayOf, firstDay } from '../platform/day.ts';

/** The days that a request asks for, both inclusive. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** A leap year, so that a year can always be compared with itself. */
export const daysMax = 366;
export const daysDefault = 30;
const dayMs = 86_400_000;

/** Completes and checks the range of a request: by default, the days up to today or up to `to`. */
export function rangeOf(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  nowMs: number,
): DayRange {
  const last = to ?? dayOf(nowMs);
  const firstByDefault = dayOf(Date.parse(last) - (daysDefault - 1) * dayMs);
  const first = from ?? (firstByDefault < firstDay ? firstDay : firstByDefault);
  if (first > last) throw invalid('query.from', `must not be after ${last}`);
  if (daysBetween(first, last) > daysMax)
    throw invalid('query.from', `must be at most ${daysMax} days before ${last}`);
  return { from: first, to: last };
}

/** All days of a range, in order. */
export function daysOf({ from, to }: DayRange): readonly string[] {
  const startMs = Date.parse(from);
  return Array.from({ length: daysBetween(from, to) }, (_, index) => dayOf(startMs + index * dayMs));
}

/** The number of days, both inclusive. */
function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
}

function invalid(path: string, message: string): Failure {
  return new Failure('invalid_request', `${path} ${message}`, { errors: [{ path, message }] });
}
