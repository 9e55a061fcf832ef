import type { PaymentMethod, Subscription } from '@till/client';

/** Visa •••• 4242. Null if nothing was used yet. */
export function cardText(method: Pick<PaymentMethod, 'type' | 'brand' | 'last4'> | null): string | null {
  if (method === null) return null;
  const { type, brand, last4 } = method;
  const name = brand ?? type;
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}${last4 === null ? '' : ` •••• ${last4}`}`;
}

/** The same within a sentence. */
export function cardName(card: PaymentMethod | undefined): string {
  return cardText(card ?? null) ?? 'the default payment method';
}

/** The card that a subscription charges: its own, or else the customer's default. */
export function cardOf(
  cards: readonly PaymentMethod[],
  { defaultPaymentMethodId }: Pick<Subscription, 'defaultPaymentMethodId'>,
): PaymentMethod | undefined {
  return cards.find((card) =>
    defaultPaymentMethodId === null ? card.isDefault : card.id === defaultPaymentMethodId,
  );
}

/** When a card expires, and whether it has: at the end of the month. Null if it does not. */
export function cardExpiry(
  { expMonth, expYear }: Pick<PaymentMethod, 'expMonth' | 'expYear'>,
  now: Date,
): { readonly text: string; readonly isOver: boolean } | null {
  if (expMonth === null || expYear === null) return null;
  return {
    text: `${String(expMonth).padStart(2, '0')}/${expYear}`,
    isOver: now.getTime() >= Date.UTC(expYear, expMonth),
  };
}
