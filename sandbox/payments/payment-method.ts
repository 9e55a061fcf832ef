import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { Charge, PaymentMethod, SpentPaymentMethod } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam, missing, missingParam, WireError } from '../wire/wire-error.ts';
import { address, noAddress } from './address.ts';
import { existingCustomer } from './customer.ts';
import * as cards from './test-cards.ts';

/** A card by its number, or the token of one. */
const cardParam: p.Parser<GivenCard | { readonly token: string; readonly param: string }> = (node, path) => {
  const card = p.object({
    number: p.text(),
    token: p.text(),
    exp_month: p.integer(0, 99),
    exp_year: p.integer(0, 2_100),
    cvc: p.text(),
  })(node, path);
  if (card.token !== undefined) return { token: card.token, param: `${path}[token]` };
  if (card.number === undefined) throw missingParam(`${path}[number]`);
  const { exp_month: expMonth, exp_year: expYear } = card;
  if (expMonth === undefined || expYear === undefined) {
    const at = `${path}[${expMonth === undefined ? 'exp_month' : 'exp_year'}]`;
    throw missingParam(at);
  }
  const testCard = testCardOf(card.number);
  if (card.cvc !== undefined) checkCvc(card.cvc, testCard.brand);
  return {
    testCard,
    expMonth,
    expYear: expYear < 100 ? 2_000 + expYear : expYear,
  };
};

/** The parameters of a payment method, on its own or as part of a confirmation. */
export const paymentMethodParams = {
  type: p.oneOf('card'),
  card: cardParam,
  billing_details: p.object({
    address: p.clearable(address),
    ...p.each(p.clearable(p.text()), 'email name phone'),
  }),
  allow_redisplay: p.oneOf('always', 'limited', 'unspecified'),
  metadata: p.metadata,
};
export const paymentMethodData = p.object(paymentMethodParams);
export const changeParams = {
  billing_details: paymentMethodParams.billing_details,
  card: p.object({ exp_month: p.integer(0, 99), exp_year: p.integer(0, 2_100) }),
  metadata: p.metadata,
};
type PaymentMethodData = p.Parsed<typeof paymentMethodParams>;

export function createPaymentMethod(store: Store, data: PaymentMethodData): PaymentMethod {
  if (data.card === undefined) throw missingParam('card');
  const card = 'token' in data.card ? spendToken(store, data.card.token, data.card.param) : data.card;
  checkExpiry(card.expMonth, card.expYear, store.worldNow());
  const details = data.billing_details;
  return newPaymentMethod(store, card, {
    metadata: p.applyMetadata({}, data.metadata),
    billing: { ...noBilling, ...p.present(details ?? {}), address: details?.address ?? noAddress },
  });
}

/** The fields that an update sets. The details that it does not name stay. */
export function paymentMethodChanges(
  store: Store,
  { billing_details: billing, card }: PaymentMethod,
  params: p.Parsed<typeof changeParams>,
): Partial<PaymentMethod> {
  const { address, ...details } = params.billing_details ?? {};
  const changed = card && { ...card, ...p.present(params.card ?? {}) };
  if (changed && params.card !== undefined)
    checkExpiry(changed.exp_month, changed.exp_year, store.worldNow());
  return {
    billing_details: {
      ...billing,
      ...p.present(details),
      ...(address !== undefined && { address: address ?? noAddress }),
    },
    ...(changed && { card: changed }),
  };
}

/** Creates the older kind of card from a token. It can be used like any payment method. */
export function createSource(store: Store, token: string, param: string): PaymentMethod {
  return newPaymentMethod(store, spendToken(store, token, param), {
    id: newId('card_'),
    metadata: {},
    billing: noBilling,
  });
}

/** The payment method with the id in a parameter. The name of a test card creates a new payment method. */
export function usablePaymentMethod(
  store: Store,
  id: string,
  customer: string | null,
  param = 'payment_method',
): PaymentMethod {
  const testCard = cards.testCardByToken(id);
  if (testCard !== undefined)
    return newPaymentMethod(store, { testCard, ...namedExpiry }, { metadata: {}, billing: noBilling });
  const method = store.paymentMethods.existing(id, param);
  if (method.customer !== null && method.customer !== customer)
    throw badParam(
      'The PaymentMethod belongs to another customer.',
      param,
      'payment_method_unexpected_state',
    );
  checkUnspent(store, method, param === 'id' ? 'attach' : 'pay');
  return method;
}

export function attach(store: Store, method: PaymentMethod, customer: string): PaymentMethod {
  if (method.customer === customer) return method;
  return store.update('payment_method.attached', store.paymentMethods, method, { customer });
}

export function detach(store: Store, method: PaymentMethod): PaymentMethod {
  const detached = store.change(store.paymentMethods, method, { customer: null });
  spend(store, detached);
  store.emit('payment_method.detached', detached, { customer: method.customer });
  return detached;
}

/** Checks the card before attaching it, as the processor does: a card that is always declined cannot be saved. */
export function attachChecked(
  store: Store,
  method: PaymentMethod,
  customerId: string,
  param: string,
): PaymentMethod {
  const customer = existingCustomer(store, customerId, param);
  if (method.customer !== null && method.customer !== customer.id)
    throw badParam('The PaymentMethod is already attached to another customer.', 'payment_method');
  const card = behaviourOf(method);
  if (card?.declinesSetup && card.decline)
    throw new WireError(402, cards.declineError(card.decline), { remembered: true });
  return attach(store, method, customer.id);
}

export function behaviourOf(method: PaymentMethod): cards.TestCard | undefined {
  return cards.testCardByLast4(method.card?.last4);
}

/** The card as a charge shows it, with the time until which an authorization can be captured. */
export function chargeDetails(
  method: PaymentMethod,
  captureBefore: number | null,
): Charge['payment_method_details'] {
  const card = method.card;
  if (card === undefined) return null;
  return {
    type: 'card',
    card: {
      ...usedCard(card),
      ...nulls(
        'amount_authorized authorization_code electronic_commerce_indicator installments mandate',
        'network_transaction_id transaction_link_id',
      ),
      ...(captureBefore !== null && { capture_before: captureBefore }),
      regulated_status: 'unregulated',
    },
  };
}

type Card = NonNullable<PaymentMethod['card']>;
type ShownOfCard = 'brand' | 'checks' | 'country' | 'exp_month' | 'exp_year' | 'funding' | 'last4';

interface UsedCard extends Pick<Card, ShownOfCard> {
  readonly fingerprint: string | null;
  readonly network: string;
  readonly three_d_secure: null;
  readonly wallet: null;
}

/** What an attempt shows of its card. */
export function usedCard(card: Card): UsedCard {
  const { brand, checks, country, exp_month, exp_year, fingerprint = null, funding, last4 } = card;
  const shown = { brand, checks, country, exp_month, exp_year, fingerprint, funding, last4, network: brand };
  return { ...shown, three_d_secure: null, wallet: null };
}

const noBilling = { address: noAddress, email: null, name: null, phone: null, tax_id: null };

function newPaymentMethod(
  store: Store,
  { testCard, expMonth, expYear }: GivenCard,
  input: {
    readonly id?: string;
    readonly metadata: Record<string, string>;
    readonly billing: PaymentMethod['billing_details'];
  },
): PaymentMethod {
  return store.put(store.paymentMethods, {
    id: input.id ?? store.paymentMethods.newId(),
    object: 'payment_method',
    allow_redisplay: 'unspecified',
    billing_details: input.billing,
    card: {
      brand: testCard.brand,
      checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
      country: 'US',
      display_brand: testCard.brand,
      exp_month: expMonth,
      exp_year: expYear,
      fingerprint: `fp${testCard.number.slice(-10)}`,
      funding: testCard.funding ?? 'credit',
      generated_from: null,
      last4: testCard.number.slice(-4),
      networks: { available: [testCard.brand], preferred: null },
      regulated_status: 'unregulated',
      three_d_secure_usage: { supported: true },
      wallet: null,
    },
    created: store.worldNow(),
    customer: null,
    customer_account: null,
    livemode: false,
    metadata: input.metadata,
    type: 'card',
  });
}

/** Accepts only the processor's test card numbers, so that a real card number is never stored. */
export function testCardOf(number: string): cards.TestCard {
  const digits = number.replaceAll(/[\s-]/g, '');
  const testCard = cards.testCardByNumber(digits);
  if (testCard !== undefined) return testCard;
  if (/^\d{12,19}$/.test(digits) && passesLuhn(digits))
    throw cardError('card_declined', 'The card was declined. Use a test card in test mode.', 'number', {
      decline_code: 'test_mode_live_card',
    });
  throw cardError('incorrect_number', 'Your card number is incorrect.', 'number');
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (const [place, digit] of [...digits].reverse().entries()) {
    const doubled = place % 2 === 1 ? Number(digit) * 2 : Number(digit);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** The processor rejects expiry years further ahead than this. */
const expiryYearsMax = 50;

/** Rejects a card that has expired. A card is valid until the end of its month. */
export function checkExpiry(month: number, year: number, nowSeconds: number): void {
  const now = new Date(nowSeconds * 1_000);
  const thisYear = now.getUTCFullYear();
  if (year < thisYear || year > thisYear + expiryYearsMax)
    throw cardError('invalid_expiry_year', "Your card's expiration year is invalid.", 'exp_year');
  if (month < 1 || month > 12 || (year === thisYear && month < now.getUTCMonth() + 1))
    throw cardError('invalid_expiry_month', "Your card's expiration month is invalid.", 'exp_month');
}

/** Rejects a security code of the wrong form. The cards of one brand have four digits. */
export function checkCvc(cvc: string, brand: cards.TestCard['brand']): void {
  if (!(brand === 'amex' ? /^\d{3,4}$/ : /^\d{3}$/).test(cvc))
    throw cardError('invalid_cvc', "Your card's security code is invalid.", 'cvc');
}

function cardError(
  code: string,
  message: string,
  param: string,
  more: { readonly decline_code?: string } = {},
): WireError {
  return new WireError(402, { type: 'card_error', code, message, param, ...more });
}

/** A card as a payment method needs it. */
export interface GivenCard {
  readonly testCard: cards.TestCard;
  readonly expMonth: number;
  readonly expYear: number;
}

/** The expiry date of cards that are given by name. */
const namedExpiry = { expMonth: 12, expYear: 2_034 };

/**
 * The card of a token, which can be used once. Tokens that are named after the test cards, such as `tok_visa`, can be
 * used again.
 */
function spendToken(store: Store, id: string, param: string): GivenCard {
  const named = id.startsWith('tok_') ? cards.testCardByToken(id.replace('tok_', 'pm_card_')) : undefined;
  if (named !== undefined) return { testCard: named, ...namedExpiry };
  const token = store.tokens.get(id);
  const testCard = cards.testCardByLast4(token?.card?.last4);
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

/** Marks a payment method that must not be used again: it was detached, or it paid without a customer. */
export function spend(store: Store, method: PaymentMethod): void {
  const spent: SpentPaymentMethod = { id: method.id, object: 'spent_payment_method' };
  store.put(store.spentPaymentMethods, spent);
}

function checkUnspent(store: Store, method: PaymentMethod, use: 'attach' | 'pay'): void {
  if (store.spentPaymentMethods.get(method.id) === undefined) return;
  throw badParam(
    use === 'attach'
      ? 'This PaymentMethod was previously used without being attached to a Customer or was detached from a Customer, and may not be used again.'
      : 'The provided PaymentMethod was previously used with a PaymentIntent without Customer attachment, shared with a connected account without Customer attachment, or was detached from a Customer. It may not be used again. To use a PaymentMethod multiple times, you must attach it to a Customer first.',
  );
}
