import type { PaymentMethod, Subscription } from '../../../../client/src/index.ts';
import { cardText } from '../payments/card-text.ts';

/** The card that a subscription charges: its own, or else the customer's default. */
export function cardOf(
  cards: readonly PaymentMethod[],
  { defaultPaymentMethodId }: Pick<Subscription, 'defaultPaymentMethodId'>,
): PaymentMethod | undefined {
  return cards.find((card) =>
    defaultPaymentMethodId === null ? card.isDefault : card.id === defaultPaymentMethodId,
  );
}

/** `Visa •••• 4242`, within a sentence. */
export function cardName(card: PaymentMethod | undefined): string {
  return cardText(card ?? null) ?? 'the default payment method';
}
