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
  /** That of the subscription. 0 for a calendar month. */
  readonly windowNumber: number;
}

/** What a plan and its add-ons grant, and how long a period is. */
export interface PeriodTerms {
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  /** Those of its add-ons included. */
  readonly features: PlanFeatures;
}

/** A period with the terms that a subscription had in it, before they changed. */
export interface PastPeriod extends UsagePeriod {
  /** Until when the subscription had these terms. After `end`, further periods followed, each as long as the plan says. */
  readonly until: Date;
  /** Null if they are not known. Then those of now count. */
  readonly terms: PeriodTerms | null;
}

/** What decides about the windows of a subscription. */
export interface WindowTerms extends PeriodTerms {
  readonly isEntitled: boolean;
  /** Tells windows of the customer's subscriptions apart that begin at the same time. */
  readonly windowNumber: number;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly trialEnd: Date | null;
  readonly endedAt: Date | null;
  /** When the grace period of an unpaid subscription ended. */
  readonly graceEndedAt: Date | null;
  readonly createdAt: Date;
  /** When the processor reported this state. What it had before then may differ. */
  readonly processorAsOf: Date;
  /** Those in which it entitled the customer, in the order of `until`. Undefined if they were not read. */
  readonly pastPeriods?: readonly PastPeriod[] | undefined;
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

/** The period that contains `at`, if the subscription granted the meter then. */
function periodAt(terms: WindowTerms, key: string, at: Date): UsagePeriod | undefined {
  const past = terms.pastPeriods?.find(({ until }) => at < until);
  if (past !== undefined) return pastPeriodAt(terms, past, key, at);
  const { currentPeriodStart: start, currentPeriodEnd: end, isEntitled } = terms;
  if (start === null || end === null || at < start || !grants(terms.features, key)) return undefined;
  if (isEntitled) return at < end ? { start, end } : periodAfter(terms, terms, { start, end }, at);
  // It entitled the customer until it ended, or its grace period did.
  const until = terms.endedAt ?? terms.graceEndedAt;
  return until !== null && at < until && at < end ? { start, end } : undefined;
}

function pastPeriodAt(
  subscription: WindowTerms,
  past: PastPeriod,
  key: string,
  at: Date,
): UsagePeriod | undefined {
  const terms = past.terms ?? subscription;
  if (at < past.start || !grants(terms.features, key)) return undefined;
  if (at < past.end) return past;
  const next = periodAfter(subscription, terms, past, at);
  return next !== undefined && next.end > past.until ? { start: next.start, end: past.until } : next;
}

/** The period that follows at the end of one, before the processor reports it. */
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

/** The month that contains `at`, counted from the start of the period. The last one ends with the period. */
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
 * The day of the month on which periods begin, given one boundary. The last day of a short month may stand for a later
 * day: that of the first period or, after a trial, of its end. A change may have begun the periods anew, at another time
 * of the day. Then the other boundary of the same period may show the day.
 */
function anchorDay({ createdAt, trialEnd }: WindowTerms, boundary: Date, other: Date): number {
  const day = boundary.getUTCDate();
  if (day !== daysInMonth(boundary.getUTCFullYear(), boundary.getUTCMonth())) return day;
  const anchor = trialEnd !== null && boundary >= trialEnd ? trialEnd : createdAt;
  const isAnchor = (boundary.getTime() - anchor.getTime()) % dayMs === 0 && anchor.getUTCDate() >= day;
  return isAnchor ? anchor.getUTCDate() : Math.max(day, other.getUTCDate());
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
