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
  readonly quantity: number;
  /** After discounts. */
  readonly amount: number;
  readonly period: Period;
  /** When the item was added, if that is later than the start of the period. It is not credited for the time before. */
  readonly since?: number;
}

export interface Proration {
  /** A credit for the unused time, or a charge for the remaining time. */
  readonly kind: 'credit' | 'debit';
  readonly item: ProratedItem;
  readonly amount: number;
  /** The rest of the period. */
  readonly period: Period;
}

/** The credits and charges for a change of items at a time. An item that keeps its price and quantity has none. */
export function prorationsBetween(
  before: readonly ProratedItem[],
  after: readonly ProratedItem[],
  at: number,
  unit = 1,
): Proration[] {
  const kept = new Map(after.map((item) => [item.id, item]));
  const known = new Set(before.map(({ id }) => id));
  const changed = before.flatMap((item) => {
    const next = kept.get(item.id);
    if (next === undefined) return [proration('credit', item, at, unit)];
    if (next.price === item.price && next.quantity === item.quantity) return [];
    return [proration('credit', item, at, unit), proration('debit', next, at, unit)];
  });
  const added = after.filter(({ id }) => !known.has(id));
  return [...changed, ...added.map((item) => proration('debit', item, at, unit))];
}

/** The credits for all items, when new periods start before these are over. */
export function creditsFor(items: readonly ProratedItem[], at: number, unit = 1): Proration[] {
  return items.map((item) => proration('credit', item, at, unit));
}

/** The part of the amount for the time from `at` to the end of the period, to the second, as a multiple of the unit. */
export function proratedAmount(amount: number, { start, end }: Period, at: number, unit = 1): number {
  if (end <= start) return 0;
  return unit * roundedQuotient(BigInt(amount) * BigInt(end - at), BigInt(end - start) * BigInt(unit));
}

function proration(kind: Proration['kind'], item: ProratedItem, at: number, unit: number): Proration {
  const { start, end } = item.period;
  const earliest = kind === 'credit' ? Math.max(start, item.since ?? start) : start;
  const from = Math.min(Math.max(at, earliest), end);
  // The whole amount is rounded once, not each unit.
  const amount = proratedAmount(item.amount, item.period, from, unit);
  const signed = kind === 'credit' && amount !== 0 ? -amount : amount;
  return { kind, item, amount: signed, period: { start: from, end } };
}

/** Rounds to the nearest integer, and halves away from zero. Exact even where floating-point numbers are not. */
function roundedQuotient(dividend: bigint, divisor: bigint): number {
  const isNegative = dividend < 0n;
  const size = isNegative ? -dividend : dividend;
  const rounded = Number((2n * size + divisor) / (2n * divisor));
  return isNegative && rounded !== 0 ? -rounded : rounded;
}
