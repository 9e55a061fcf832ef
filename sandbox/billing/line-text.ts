import { priceText } from '../payments/money.ts';
import type { Price } from '../wire/objects.ts';
import type { Proration } from './proration.ts';

/** The description of a whole period: `2 × Gold (at $9.00 / month)`. */
export function periodText(product: string, price: Price, quantity: number): string {
  const { interval = 'month', interval_count: count = 1 } = price.recurring ?? {};
  const rate =
    price.billing_scheme === 'tiered'
      ? 'tiered'
      : `at ${priceText(Number(price.unit_amount_decimal), price.currency)}`;
  const every = count === 1 ? `/ ${interval}` : `every ${count} ${interval}s`;
  return `${quantity} × ${product} (${rate} ${every})`;
}

export function trialText(product: string): string {
  return `Trial period for ${product}`;
}

/** The description of a proration: `Unused time on 2 × Gold after 01 Sep 2026`. */
export function prorationText(
  product: string,
  { kind, item, period }: Pick<Proration, 'kind' | 'item' | 'period'>,
): string {
  const units = item.quantity === 1 ? '' : `${item.quantity} × `;
  const time = kind === 'credit' ? 'Unused time' : 'Remaining time';
  return `${time} on ${units}${product} after ${dayText(period.start)}`;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function dayText(seconds: number): string {
  const date = new Date(seconds * 1_000);
  const day = String(date.getUTCDate()).padStart(2, '0');
  return `${day} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}
