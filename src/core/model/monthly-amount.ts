import type { PlanInterval } from './plan.ts';

/** The sum that subscriptions with the same interval charge per interval. */
export interface RecurringSum {
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  readonly amount: bigint;
}

/** How many intervals a year has. Twelve times the factor of a month, so that it is a whole number. */
const intervalsPerYear: Readonly<Record<PlanInterval, bigint>> = {
  day: 365n,
  week: 52n,
  month: 12n,
  year: 1n,
};
const monthsPerYear = 12n;

/**
 * The amount for a month: a twelfth of that for a year. The sum is exact, and rounded once, half up: every amount
 * becomes a fraction with the same denominator.
 */
export function monthlyAmount(sums: readonly RecurringSum[]): bigint {
  const counts = sums.map(({ intervalCount }) => BigInt(intervalCount));
  const denominator = monthsPerYear * counts.reduce(leastCommonMultiple, 1n);
  const numerator = sums.reduce((total, { interval, intervalCount, amount }) => {
    const share = denominator / (monthsPerYear * BigInt(intervalCount));
    return total + amount * intervalsPerYear[interval] * share;
  }, 0n);
  return (2n * numerator + denominator) / (2n * denominator);
}

function leastCommonMultiple(a: bigint, b: bigint): bigint {
  return (a / greatestCommonDivisor(a, b)) * b;
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b);
}
