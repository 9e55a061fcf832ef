import type { MeterTerms } from './meter.ts';
import type { PlanInterval } from './plan.ts';
import type { PlanFeatures } from './plan-features.ts';

/** From `start` on, and before `end`. */
interface UsagePeriod {
  readonly start: Date;
  readonly end: Date;
}

export interface UsageWindow extends UsagePeriod {
  /** False for a calendar month: no subscription grants the meter, so the limit is 0. */
  readonly isGranted: boolean;
  /** The number of the subscription. 0 for a calendar month. */
  readonly windowNumber: number;
}

/** What a plan and its add-ons grant, and how long a period is. */
export interface PeriodTerms {
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  /** Including the features of its add-ons. */
  readonly features: PlanFeatures;
}

/** A period with the terms that a subscription had in it, before they changed. */
export interface PastPeriod extends UsagePeriod {
  /** When the terms changed. Further periods, each as long as the plan says, may lie between `end` and this time. */
  readonly until: Date;
  readonly terms: PeriodTerms;
}

/** What determines the windows of a subscription. */
export interface WindowTerms extends PeriodTerms {
  readonly isEntitled: boolean;
  /** Distinguishes windows of different subscriptions of a customer that begin at the same time. */
  readonly windowNumber: number;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly trialEnd: Date | null;
  /**
   * Null if it never entitled the customer. If access ended before the subscription did, the past periods show when.
   */
  readonly endedAt: Date | null;
  /** When the grace period of an unpaid subscription ended. */
  readonly graceEndedAt: Date | null;
  readonly createdAt: Date;
  /** When the processor reported this state. Earlier states may differ. */
  readonly processorAsOf: Date;
  /**
   * The past periods in which it entitled the customer, ordered by `until`. An empty one is last if it was canceled
   * after a time without access. Undefined if they were not read.
   */
  readonly pastPeriods?: readonly PastPeriod[] | undefined;
}

/** Ten years of daily periods. The last known period of an entitled subscription ended at most a few days ago. */
const missedPeriodsMax = 3_660;

/**
 * The window of a meter that contains `at`. The newest subscription that granted the meter at that time, and entitled
 * the customer, determines it. Without such a subscription, it is the UTC month.
 */
export function windowOf(
  newestFirst: readonly WindowTerms[],
  meter: Pick<MeterTerms, 'key' | 'resets'>,
  at: Date,
): UsageWindow {
  for (const terms of newestFirst) {
    const period = periodAt(terms, meter.key, at);
    if (period === undefined) continue;
    const { start, end } = meter.resets === 'month' ? monthWithin(terms, period, at) : period;
    return { start, end, isGranted: true, windowNumber: terms.windowNumber };
  }
  return { ...utcMonthOf(at), isGranted: false, windowNumber: 0 };
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
  return newestFirst.some(
    ({ currentPeriodStart: start, processorAsOf }) => start !== null && (at < start || at < processorAsOf),
  );
}

/** An integer is the limit. `true` means that there is no limit (null). Any other value means a limit of 0. */
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

/** The period that contains `at`, if the subscription granted the meter then. */
function periodAt(terms: WindowTerms, key: string, at: Date): UsagePeriod | undefined {
  const past = terms.pastPeriods?.find(({ until }) => at < until);
  if (past !== undefined) return pastPeriodAt(terms, past, key, at);
  const { currentPeriodStart: start, currentPeriodEnd: end, isEntitled } = terms;
  if (start === null || end === null || at < start || !grants(terms.features, key)) return undefined;
  if (isEntitled) return at < end ? { start, end } : periodAfter(terms, terms, { start, end }, at);
  // It entitled the customer until it ended, or until its grace period ended.
  const until = terms.endedAt ?? terms.graceEndedAt;
  return until !== null && at < until && at < end ? { start, end } : undefined;
}

function pastPeriodAt(
  subscription: WindowTerms,
  past: PastPeriod,
  key: string,
  at: Date,
): UsagePeriod | undefined {
  const { terms } = past;
  if (at < past.start || !grants(terms.features, key)) return undefined;
  if (at < past.end) return past;
  const next = periodAfter(subscription, terms, past, at);
  return next !== undefined && next.end > past.until ? { start: next.start, end: past.until } : next;
}

/** A period after the last one that the processor has reported. */
function periodAfter(
  subscription: WindowTerms,
  { interval, intervalCount }: PeriodTerms,
  last: UsagePeriod,
  at: Date,
): UsagePeriod | undefined {
  const day = anchorDay(subscription, last.end, last.start);
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

/** The month that contains `at`. Months count from the start of the period, and the last one ends with it. */
function monthWithin(subscription: WindowTerms, period: UsagePeriod, at: Date): UsagePeriod {
  const day = anchorDay(subscription, period.start, period.end);
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
 * The day of the month on which periods begin, given a boundary of a period. If the boundary is the last day of its
 * month, the month may be too short for the day. Then the day is that of the creation or, after a trial, of its end. If
 * the boundary has another time of day, a change has restarted the periods, and the other boundary may show the day.
 */
function anchorDay({ createdAt, trialEnd }: WindowTerms, boundary: Date, other: Date): number {
  const day = boundary.getUTCDate();
  if (day !== daysInMonth(boundary.getUTCFullYear(), boundary.getUTCMonth())) return day;
  const anchor = trialEnd !== null && boundary >= trialEnd ? trialEnd : createdAt;
  const isAnchor = (boundary.getTime() - anchor.getTime()) % dayMs === 0 && anchor.getUTCDate() >= day;
  return isAnchor ? anchor.getUTCDate() : Math.max(day, other.getUTCDate());
}

/** The same time on this day of a later month. In a shorter month, on its last day. */
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
