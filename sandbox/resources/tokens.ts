import { newId } from '../ids.ts';
import { currency } from '../payments/money.ts';
import { checkCvc, checkExpiry, testCardOf } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { Token } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { missingParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const addressFields = 'address_city address_country address_line1 address_line2 address_state address_zip';

const cardParams = {
  number: p.required(p.text()),
  exp_month: p.required(p.integer(0, 99)),
  exp_year: p.required(p.integer(0, 2_100)),
  cvc: p.text(),
  currency,
  ...p.each(p.clearable(p.text()), 'name', addressFields),
};

const tokens = new Resource('tokens', (store) => store.tokens);

export const tokenOperations = [
  tokens.create(
    { card: p.object(cardParams), cvc_update: p.object({ cvc: p.required(p.text()) }) },
    ({ store }, { card, cvc_update: update }) => {
      if (card !== undefined) return createToken(store, 'card', tokenizedCard(store, card));
      if (update === undefined) throw missingParam('card');
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
    ...(card !== undefined && { card }),
    client_ip: null,
    created: store.worldNow(),
    livemode: false,
    type,
    used: false,
  });
}

function tokenizedCard(store: Store, params: p.Parsed<typeof cardParams>): NonNullable<Token['card']> {
  const { number, exp_month, exp_year, cvc, currency: code, name, ...address } = params;
  const testCard = testCardOf(number);
  const expYear = exp_year < 100 ? 2_000 + exp_year : exp_year;
  checkExpiry(exp_month, expYear, store.worldNow());
  if (cvc !== undefined) checkCvc(cvc, testCard.brand);
  return {
    id: newId('card_'),
    object: 'card',
    ...nulls(addressFields),
    ...p.present(address),
    address_line1_check: address.address_line1 == null ? null : 'unchecked',
    address_zip_check: address.address_zip == null ? null : 'unchecked',
    brand: brandNames[testCard.brand],
    country: 'US',
    ...p.present({ currency: code }),
    cvc_check: cvc === undefined ? null : 'unchecked',
    dynamic_last4: null,
    exp_month,
    exp_year: expYear,
    fingerprint: `fp${testCard.number.slice(-10)}`,
    funding: testCard.funding ?? 'credit',
    last4: testCard.number.slice(-4),
    metadata: {},
    name: name ?? null,
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
