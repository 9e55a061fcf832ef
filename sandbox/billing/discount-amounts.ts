import type { InvoiceLine } from '../wire/objects.ts';

/** What a coupon takes off. */
export interface DiscountTerms {
  /** The id of the discount. */
  readonly id: string;
  readonly percentOff: number | null;
  readonly amountOff: number | null;
  /** The products that it applies to. Null means all. */
  readonly products: readonly string[] | null;
}

interface Discountable {
  readonly amount: number;
  readonly discountable: boolean;
  readonly product: string | null;
}

export function discountableLine({ amount, discountable, pricing }: InvoiceLine): Discountable {
  return { amount, discountable, product: pricing.price_details?.product ?? null };
}

/** What one discount takes off one line. */
interface LineDiscount {
  readonly amount: number;
  readonly discount: string;
}

/**
 * The amount that the discounts take off each line. Each discount applies to the amount that remains after the one
 * before it. A percentage is rounded for each line, to a multiple of the unit. A fixed amount is split in proportion to
 * the amounts of the lines, and never exceeds their sum. A discount for some products ignores the lines of others.
 */
export function discountAmounts(
  lines: readonly Discountable[],
  discounts: readonly DiscountTerms[],
  unit = 1,
): LineDiscount[][] {
  let left = lines.map(({ amount, discountable }) => (discountable ? amount : 0));
  const taken: LineDiscount[][] = lines.map(() => []);
  for (const terms of discounts) {
    const { products } = terms;
    const eligible = left.map((amount, index) =>
      products === null || products.includes(lines[index]?.product ?? '') ? amount : 0,
    );
    const amounts =
      terms.percentOff === null
        ? splitAmount(eligible, terms.amountOff ?? 0, unit)
        : percentOf(eligible, terms, unit);
    for (const [index, amount] of amounts.entries())
      if (amount !== 0) taken[index]?.push({ amount, discount: terms.id });
    left = left.map((amount, index) => amount - (amounts[index] ?? 0));
  }
  return taken;
}

/** The sum for each discount, in order. A discount that took nothing off has the amount 0. */
export function totalDiscounts(
  taken: readonly (readonly LineDiscount[])[],
  discounts: readonly Pick<DiscountTerms, 'id'>[],
): LineDiscount[] {
  return discounts.map(({ id }) => ({
    amount: taken.flat().reduce((sum, { amount, discount }) => (discount === id ? sum + amount : sum), 0),
    discount: id,
  }));
}

function percentOf(left: readonly number[], { percentOff }: DiscountTerms, unit: number): number[] {
  // Percentages have at most two decimals, so this is exact before the division.
  const hundredths = Math.round((percentOff ?? 0) * 100);
  return left.map(
    (amount) => Math.sign(amount) * unit * Math.round((Math.abs(amount) * hundredths) / (10_000 * unit)),
  );
}

function splitAmount(left: readonly number[], amountOff: number, unit: number): number[] {
  const total = left.reduce((sum, amount) => sum + Math.max(0, amount), 0);
  const subtotal = left.reduce((sum, amount) => sum + amount, 0);
  const all = Math.min(amountOff, Math.max(0, subtotal));
  let before = 0;
  let given = 0;
  return left.map((amount) => {
    before += Math.max(0, amount);
    // Splitting the running total leaves no remainder.
    const upTo = total === 0 ? 0 : unit * Number((BigInt(all) * BigInt(before)) / BigInt(total * unit));
    const share = total === 0 ? 0 : upTo - given;
    given += share;
    return share;
  });
}
