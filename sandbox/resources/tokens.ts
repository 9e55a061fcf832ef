import { newId } from '../ids.ts';
import { checkCvc, checkExpiry } from '../payments/card-checks.ts';
import { currency } from '../payments/money.ts';
import { testCardOf } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import type { Token } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
import { clearable, integer, object, type Parsed, required, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const cardParams = {
  number: required(text()),
  exp_month: required(integer(0, 99)),
  exp_year: required(integer(0, 2_100)),
  cvc: text(),
  currency,
  name: clearable(text()),
  address_city: clearable(text()),
  address_country: clearable(text()),
  address_line1: clearable(text()),
  address_line2: clearable(text()),
  address_state: clearable(text()),
  address_zip: clearable(text()),
};

const tokens = new Resource('tokens', (store) => store.tokens);

export const tokenOperations: readonly Operation[] = [
  tokens.operation(
    'create',
    'POST',
    { card: object(cardParams), cvc_update: object({ cvc: required(text()) }) },
    ({ store }, { card, cvc_update: update }) => {
      if (card !== undefined) return createToken(store, 'card', tokenizedCard(store, card));
      if (update === undefined) throw badParam('Missing required param: card.', 'card', 'parameter_missing');
      // The brand of the saved card is unknown here, so three and four digits are valid.
      checkCvc(update.cvc, 'amex');
      return createToken(store, 'cvc_update');
    },
    { forBrowsers: true },
  ),
  tokens.retrieve(),
];

function createToken(store: Store, type: 'card' | 'cvc_update', card?: Token['card']): Token {
  return store.put(store.tokens, {
    id: type === 'card' ? store.tokens.newId() : newId('cvctok_'),
    object: 'token',
    ...(card === undefined ? {} : { card }),
    client_ip: null,
    created: store.worldNow(),
    livemode: false,
    type,
    used: false,
  });
}

function tokenizedCard(store: Store, params: Parsed<typeof cardParams>): NonNullable<Token['card']> {
  const testCard = testCardOf(params.number);
  const expYear = params.exp_year < 100 ? 2_000 + params.exp_year : params.exp_year;
  checkExpiry(params.exp_month, expYear, store.worldNow());
  if (params.cvc !== undefined) checkCvc(params.cvc, testCard.brand);
  return {
    id: newId('card_'),
    object: 'card',
    address_city: params.address_city ?? null,
    address_country: params.address_country ?? null,
    address_line1: params.address_line1 ?? null,
    address_line1_check: params.address_line1 == null ? null : 'unchecked',
    address_line2: params.address_line2 ?? null,
    address_state: params.address_state ?? null,
    address_zip: params.address_zip ?? null,
    address_zip_check: params.address_zip == null ? null : 'unchecked',
    brand: brandNames[testCard.brand],
    country: 'US',
    ...(params.currency === undefined ? {} : { currency: params.currency }),
    cvc_check: params.cvc === undefined ? null : 'unchecked',
    dynamic_last4: null,
    exp_month: params.exp_month,
    exp_year: expYear,
    fingerprint: `fp${testCard.number.slice(-10)}`,
    funding: testCard.funding ?? 'credit',
    last4: testCard.number.slice(-4),
    metadata: {},
    name: params.name ?? null,
    networks: { preferred: null },
    regulated_status: 'unregulated',
    tokenization_method: null,
  };
}

/** Cards of tokens have the names that people read. Payment methods have others. */
const brandNames = {
  visa: 'Visa',
  mastercard: 'MasterCard',
  amex: 'American Express',
  discover: 'Discover',
  diners: 'Diners Club',
  jcb: 'JCB',
};
