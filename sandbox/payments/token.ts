import type { Store } from '../state/store.ts';
import { badParam, missing } from '../wire/wire-error.ts';
import { type TestCard, testCardByLast4, testCardByToken } from './test-cards.ts';

/** A card as a payment method needs it. */
export interface GivenCard {
  readonly testCard: TestCard;
  readonly expMonth: number;
  readonly expYear: number;
}

/** The expiry date of cards that are given by name. */
export const namedExpiry = { expMonth: 12, expYear: 2_034 };

/**
 * The card of a token, which can be used once. Tokens that are named after the test cards, such as `tok_visa`, can be
 * used again.
 */
export function spendToken(store: Store, id: string, param: string): GivenCard {
  const named = id.startsWith('tok_') ? testCardByToken(id.replace('tok_', 'pm_card_')) : undefined;
  if (named !== undefined) return { testCard: named, ...namedExpiry };
  const token = store.tokens.get(id);
  const testCard = testCardByLast4(token?.card?.last4);
  if (token?.card === undefined || testCard === undefined) throw missing('token', id, param);
  if (token.used)
    throw badParam(
      `You cannot use a Stripe token more than once: ${token.id}.`,
      undefined,
      'token_already_used',
    );
  store.change(store.tokens, token, { used: true });
  return { testCard, expMonth: token.card.exp_month, expYear: token.card.exp_year };
}
