import type { MeterTerms } from './meter.ts';
import type { PlanInterval } from './plan.ts';
import type { PlanFeatures } from './plan-features.ts';

/** From `start` on, and before `end`. */
export interface UsagePeriod {
  readonly start: Date;
  readonly end: Date;
}

export interface UsageWindow extends UsagePeriod {
  /** False for a calendar month, in which no subscription grants the meter: the limit is 0. */
  readonly isGranted: boolean;
}

/** What decides about the windows of a subscription. */
export interface WindowTerms {
  readonly isEntitled: boolean;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly endedAt: Date | null;
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  /** Those of its add-ons included. */
  readonly features: PlanFeatures;
  /** Periods in which it entitled the customer. Undefined if they were not read. */
  readonly pastPeriods?: readonly UsagePeriod[] | undefined;
}

/** Ten years of days. The period of a subscription that is entitled ended a few days ago at most. */
const missedPeriodsMax = 3_660;

/**
 * The window of a meter that contains `at`: that of the newest subscription that grants the meter and entitled the
 * customer then. Without one, the UTC month.
 */
export function windowOf(
  newestFirst: readonly WindowTerms[],
  meter: Pick<MeterTerms, 'key' | 'resets'>,
  at: Date,
): UsageWindow {
  for (const terms of newestFirst) {
    const period = grants(terms.features, meter.key) ? periodAt(terms, at) : undefined;
    if (period !== undefined)
      return { ...(meter.resets === 'month' ? monthWithin(period, at) : period), isGranted: true };
  }
  return { ...utcMonthOf(at), isGranted: false };
}

/**
 * The window that is open now. A period that the processor has begun is open, even if the clock of this process is
 * behind.
 */
export function currentWindow(
  newestFirst: readonly WindowTerms[],
  meter: Pick<MeterTerms, 'key' | 'resets'>,
  now: Date,
): UsageWindow {
  const newest = newestFirst.find((terms) => terms.isEntitled && grants(terms.features, meter.key));
  const start = newest?.currentPeriodStart ?? now;
  return windowOf(newestFirst, meter, start > now ? start : now);
}

/** Whether a late event may need the earlier periods of the subscriptions. */
export function needsPastPeriods(newestFirst: readonly WindowTerms[], at: Date): boolean {
  return newestFirst.some(({ currentPeriodStart }) => currentPeriodStart !== null && at < currentPeriodStart);
}

/** A limit is an integer. `true` has no limit (null), and without a usable value there is nothing to use. */
export function limitOf(value: PlanFeatures[string] | undefined): number | null {
  if (value === true) return null;
  return typeof value === 'number' ? value : 0;
}

export function remainingOf(limit: number | null, used: number): number | null {
  return limit === null ? null : Math.max(0, limit - used);
}

function grants(features: PlanFeatures, key: string): boolean {
  const value = Object.hasOwn(features, key) ? features[key] : undefined;
  return value === true || typeof value === 'number';
}

function periodAt(terms: WindowTerms, at: Date): UsagePeriod | undefined {
  const { currentPeriodStart: start, currentPeriodEnd: end, isEntitled, endedAt } = terms;
  if (start === null || end === null) return undefined;
  if (at < start) return terms.pastPeriods?.find((past) => at >= past.start && at < past.end);
  if (isEntitled) return at < end ? { start, end } : periodAfter(terms, { start, end }, at);
  // It entitled the customer until it ended.
  return endedAt !== null && at < endedAt && at < end ? { start, end } : undefined;
}

/** The period that follows at the end of the current one, before the processor reports it. */
function periodAfter(
  { interval, intervalCount }: WindowTerms,
  last: UsagePeriod,
  at: Date,
): UsagePeriod | undefined {
  const day = anchorDay(last.end, last.start);
  let start = last.end;
  for (let count = 1; count <= missedPeriodsMax; count += 1) {
    const end = addIntervals(last.end, interval, intervalCount * count, day);
    if (at < end) return { start, end };
    start = end;
  }
  return undefined;
}

const dayMs = 86_400_000;

function addIntervals(time: Date, interval: PlanInterval, count: number, day: number): Date {
  switch (interval) {
    case 'day':
      return new Date(time.getTime() + count * dayMs);
    case 'week':
      return new Date(time.getTime() + count * 7 * dayMs);
    case 'month':
      return addMonths(time, count, day);
    case 'year':
      return addMonths(time, 12 * count, day);
  }
}

/** The month that contains `at`, counted from the start of the period. The last one ends with the period. */
function monthWithin(period: UsagePeriod, at: Date): UsagePeriod {
  const day = anchorDay(period.start, period.end);
  const boundary = (months: number) => addMonths(period.start, months, day);
  let months =
    12 * (at.getUTCFullYear() - period.start.getUTCFullYear()) +
    at.getUTCMonth() -
    period.start.getUTCMonth();
  if (boundary(months) > at) months -= 1;
  const next = boundary(months + 1);
  return {
    start: months <= 0 ? period.start : boundary(months),
    end: next < period.end ? next : period.end,
  };
}

/**
 * The day of the month on which periods begin, given one boundary. If that is the last day of a short month, the other
 * boundary of the same period shows the day itself.
 */
function anchorDay(boundary: Date, other: Date): number {
  const isLastDay = boundary.getUTCDate() === daysInMonth(boundary.getUTCFullYear(), boundary.getUTCMonth());
  return isLastDay ? Math.max(boundary.getUTCDate(), other.getUTCDate()) : boundary.getUTCDate();
}

/** The same time on this day of a later month, or on its last day if it is shorter. */
function addMonths(time: Date, months: number, day: number): Date {
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth() + months];
  const result = new Date(time);
  result.setUTCFullYear(year, month, Math.min(day, daysInMonth(year, month)));
  return result;
}

function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
}

function utcMonthOf(at: Date): UsagePeriod {
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return { start: new Date(Date.UTC(year, month)), end: new Date(Date.UTC(year, month + 1)) };
}
