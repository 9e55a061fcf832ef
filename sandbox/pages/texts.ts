import { costOf } from '../billing/price.ts';
import { productName } from '../billing/subscription-items.ts';
import { priceText } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { Price, Subscription } from '../wire/objects.ts';

/** Created when a page first needs it: the first use of `Intl` takes 40 ms. */
let dayFormat: Intl.DateTimeFormat | undefined;

export function day(at: number): string {
  dayFormat ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  return dayFormat.format(at * 1_000);
}

/** What a quantity costs: `$9.00 per month`. */
export function rateText(store: Store, price: Price, quantity = 1): string {
  const amount = priceText(costOf(store, price, quantity), price.currency);
  if (price.recurring === null) return amount;
  const { interval, interval_count: count } = price.recurring;
  return `${amount} ${count === 1 ? `per ${interval}` : `every ${count} ${interval}s`}`;
}

/** What a subscription is for: `2 × Gold, $18.00 per month`. */
export function planText(store: Store, { items }: Subscription): string {
  return items.data
    .map(({ price, quantity = 1 }) => {
      const units = quantity === 1 ? '' : `${quantity} × `;
      return `${units}${productName(store, price)}, ${rateText(store, price, quantity)}`;
    })
    .join('; ');
}

/** A word of the API as people read it: `too_expensive` becomes `Too expensive`. */
export function sentence(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`.replaceAll('_', ' ');
}
