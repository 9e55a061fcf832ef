import type { Plan } from '@till/client';
import { money } from './money.ts';

type Price = Pick<Plan, 'amount' | 'currency' | 'interval' | 'intervalCount'>;

/** €20.00 per month, €90.00 every 3 months. */
export function price({ amount, currency, interval, intervalCount }: Price): string {
  return `${money(amount, currency)} ${every(interval, intervalCount)}`;
}

/** The price of several units: 3 × €20.00 per month. */
export function priceOf(plan: Price, quantity: number): string {
  return quantity === 1 ? price(plan) : `${quantity} × ${price(plan)}`;
}

function every(interval: string, count: number): string {
  return count === 1 ? `per ${interval}` : `every ${count} ${interval}s`;
}
