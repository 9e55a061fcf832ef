import type { PaymentMethod } from '../wire/objects.ts';

const brands: Readonly<Record<string, string>> = {
  amex: 'American Express',
  diners: 'Diners Club',
  discover: 'Discover',
  jcb: 'JCB',
  mastercard: 'Mastercard',
  visa: 'Visa',
};

/** A readable name for a card: `Visa ending in 4242, expires 12/2034`. */
export function cardName({ card }: Pick<PaymentMethod, 'card'>): string {
  if (card === undefined) return 'Card';
  return `${brands[card.brand] ?? card.brand} ending in ${card.last4}, expires ${card.exp_month}/${card.exp_year}`;
}
