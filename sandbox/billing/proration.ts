/** Pure arithmetic of prorations. Times are in seconds, amounts in the smallest unit of their currency. */

interface Period {
  readonly start: number;
  readonly end: number;
}

/** The cost of a subscription item for a whole period. */
export interface ProratedItem {
  /** The id of the subscription item. */
  readonly id: string;
  readonly price: string;
  readonly unitAmount: number;
  readonly quantity: number;
  /** The amount that discounts take off. */
  readonly off?: number;
}

export interface Proration {
  /** A credit for the unused time, or a charge for the remaining time. */
  readonly kind: 'credit' | 'debit';
  readonly item: ProratedItem;
  readonly amount: number;
  /** The rest of the period. */
  readonly period: Period;
}

/**
 * The credits and charges for a change of items at a time within the period. An item that keeps its price and quantity
 * has none.
 */
export function prorationsBetween(
  before: readonly ProratedItem[],
  after: readonly ProratedItem[],
  period: Period,
  at: number,
  unit = 1,
): Proration[] {
  const kept = new Map(after.map((item) => [item.id, item]));
  const known = new Set(before.map(({ id }) => id));
  const changed = before.flatMap((item) => {
    const next = kept.get(item.id);
    if (next === undefined) return [proration('credit', item, period, at, unit)];
    if (next.price === item.price && next.quantity === item.quantity) return [];
    return [proration('credit', item, period, at, unit), proration('debit', next, period, at, unit)];
  });
  const added = after.filter(({ id }) => !known.has(id));
  return [...changed, ...added.map((item) => proration('debit', item, period, at, unit))];
}

/** The credits for all items, when a new period starts before this one is over. */
export function creditsFor(
  items: readonly ProratedItem[],
  period: Period,
  at: number,
  unit = 1,
): Proration[] {
  return items.map((item) => proration('credit', item, period, at, unit));
}

/** The part of the amount for the time from `at` to the end of the period, to the second, as a multiple of the unit. */
export function proratedAmount(amount: number, { start, end }: Period, at: number, unit = 1): number {
  if (end <= start) return 0;
  return unit * roundedQuotient(BigInt(amount) * BigInt(end - at), BigInt(end - start) * BigInt(unit));
}

function proration(
  kind: Proration['kind'],
  item: ProratedItem,
  period: Period,
  at: number,
  unit: number,
): Proration {
  // The whole amount is rounded once, not each unit.
  const amount = proratedAmount(item.unitAmount * item.quantity - (item.off ?? 0), period, at, unit);
  const signed = kind === 'credit' && amount !== 0 ? -amount : amount;
  return { kind, item, amount: signed, period: { start: at, end: period.end } };
}

/** Rounds to the nearest integer, and halves away from zero. Exact even where floating-point numbers are not. */
function roundedQuotient(dividend: bigint, divisor: bigint): number {
  const isNegative = dividend < 0n;
  const size = isNegative ? -dividend : dividend;
  const rounded = Number((2n * size + divisor) / (2n * divisor));
  return isNegative && rounded !== 0 ? -rounded : rounded;
}
