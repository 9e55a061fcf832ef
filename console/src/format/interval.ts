import type { Plan } from '../api/types.ts';
import { money } from './money.ts';

/** €20.00 per month, €90.00 every 3 months. */
export function price({ amount, currency, interval, intervalCount }: Plan): string {
  const every = intervalCount === 1 ? `per ${interval}` : `every ${intervalCount} ${interval}s`;
  return `${money(amount, currency)} ${every}`;
}
