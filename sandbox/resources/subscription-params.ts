import { priceIn } from '../billing/price.ts';
import { isMetered } from '../billing/price-amount.ts';
import { intervalOf } from '../billing/subscription-items.ts';
import type { Store } from '../state/store.ts';
import { mayUseOld, sees } from '../wire/api-version.ts';
import { existing } from '../wire/existing.ts';
import type { Price, Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import {
  clearable,
  integer,
  object,
  oneOf,
  type Parsed,
  type Parser,
  required,
  text,
} from '../wire/params.ts';
import { badParam, missing } from '../wire/wire-error.ts';
import { inlinePrice, recurringPriceParams } from './inline-price.ts';
import { checkEmail, invoicePaymentSettings } from './invoice-params.ts';
import { automaticTaxParam, checkTaxLocation, taxRatesFrom, taxRatesParam } from './tax-rates.ts';

/** The processor's own limits. */
export const itemsMax = 20;
export const trialDaysMax = 730;
export const quantityMax = 1_000_000;

export function listOrNull(types: readonly string[] | null | undefined): string[] | null {
  return types == null ? null : [...types];
}

export const cancellationDetails = object({
  comment: clearable(text()),
  feedback: clearable(
    oneOf(
      'customer_service',
      'low_quality',
      'missing_features',
      'other',
      'switched_service',
      'too_complex',
      'too_expensive',
      'unused',
    ),
  ),
});
export const paymentSettings = object({
  ...invoicePaymentSettings,
  save_default_payment_method: oneOf('off', 'on_subscription'),
});
export const trialSettings = object({
  end_behavior: required(
    object({ missing_payment_method: required(oneOf('cancel', 'create_invoice', 'pause')) }),
  ),
});

/** A time, or the word `now`. */
export const trialEnd: Parser<number | 'now'> = (node, path) =>
  node === 'now' ? node : integer()(node, path);

/** Null resumes the collection. */
export const pauseCollection = clearable(
  object({
    behavior: required(oneOf('keep_as_draft', 'mark_uncollectible', 'void')),
    resumes_at: integer(),
  }),
);

const billingModeFields = {
  type: required(oneOf('classic', 'flexible')),
  flexible: object({ proration_discounts: oneOf('included', 'itemized') }),
};
export const billingMode = object(billingModeFields);

/** Subscriptions are flexible by default since 2025-09-30. Only those can pause after a failed payment. */
export function billingModeOf(
  given: Parsed<typeof billingModeFields> | undefined,
  version: string | null,
): Subscription['billing_mode'] {
  const type = given?.type ?? (sees(version, 'flexibleBilling') ? 'flexible' : 'classic');
  if (type === 'classic' && given?.flexible !== undefined)
    throw badParam('billing_mode[flexible] requires the type flexible.', 'billing_mode[flexible]');
  return {
    flexible:
      type === 'classic' ? null : { proration_discounts: given?.flexible?.proration_discounts ?? 'included' },
    type,
  };
}

export const paymentBehavior = oneOf('allow_incomplete', 'default_incomplete', 'error_if_incomplete');
export const prorationBehavior = oneOf('always_invoice', 'create_prorations', 'none');

const anchorType = oneOf('now', 'unchanged');
const anchorObject = object({ type: required(anchorType) });

/** An object, or in older versions its type as a string. */
export const anchorParam: Parser<{ type: 'now' | 'unchanged'; isWord: boolean }> = (node, path) =>
  typeof node === 'string'
    ? { type: anchorType(node, path), isWord: true }
    : { type: anchorObject(node, path).type, isWord: false };

export function checkAnchor(
  { version }: Pick<Call, 'version'>,
  anchor: { readonly isWord: boolean } | undefined,
  param = 'billing_cycle_anchor',
): void {
  if (anchor?.isWord === true && !mayUseOld(version, 'anchorObject')) throw badParam('Invalid object', param);
}

/** Parameters that decide how a subscription is billed, without an effect on its current period. */
export const billingParams = {
  automatic_tax: automaticTaxParam,
  collection_method: oneOf('charge_automatically', 'send_invoice'),
  days_until_due: integer(),
  default_tax_rates: taxRatesParam,
};

export function billingFrom(
  store: Store,
  params: Partial<Parsed<typeof billingParams>>,
  before: Pick<Subscription, 'collection_method' | 'customer' | 'days_until_due'>,
): Partial<Subscription> {
  const { automatic_tax: tax, default_tax_rates: rates } = params;
  const method = params.collection_method ?? before.collection_method;
  const days = params.days_until_due ?? before.days_until_due;
  if (method === 'send_invoice' && days === null)
    throw badParam(
      'If collection_method is send_invoice, you must set days_until_due.',
      'days_until_due',
      'parameter_missing',
    );
  if (method !== 'send_invoice' && params.days_until_due !== undefined)
    throw badParam('You can only set days_until_due if collection_method is send_invoice.', 'days_until_due');
  if (method === 'send_invoice') checkEmail(store, before.customer);
  if (tax?.enabled === true) checkTaxLocation(store, before.customer);
  return {
    ...(params.collection_method === undefined && params.days_until_due === undefined
      ? {}
      : { collection_method: method, days_until_due: method === 'send_invoice' ? days : null }),
    ...(rates === undefined ? {} : { default_tax_rates: taxRatesFrom(store, rates, 'default_tax_rates') }),
    ...(tax === undefined
      ? {}
      : {
          automatic_tax: {
            disabled_reason: null,
            enabled: tax.enabled,
            liability: tax.enabled ? { type: 'self' } : null,
          },
        }),
  };
}

/** The price that an item names or creates. Undefined if it does neither. */
export function itemPrice(
  store: Store,
  item: Partial<Parsed<typeof itemPriceFields>>,
  path: (field: string) => string,
  currency?: string,
): Price | undefined {
  const id = item.price ?? item.plan;
  const param = path(item.price === undefined && item.plan !== undefined ? 'plan' : 'price');
  if (id !== undefined && item.price_data !== undefined)
    throw badParam('Pass only one of price and price_data.', param, 'parameters_exclusive');
  if (item.price_data !== undefined) return inlinePrice(store, item.price_data, path('price_data'));
  if (id === undefined) return undefined;
  const price = billablePrice(store, id, param);
  return priceIn(store, price, currency) ?? price;
}

/** How an item names its price and its tax rates. */
export const itemPriceFields = {
  /** The older name of the price. */
  plan: text(),
  price: text(),
  price_data: object(recurringPriceParams),
  tax_rates: taxRatesParam,
};

export function billablePrice(store: Store, id: string, param: string): Price {
  const price = existing(store.prices, id, param);
  if (!price.active)
    throw badParam('This price is archived. Only active prices can be used in a subscription.', param);
  if (price.recurring === null) throw badParam('This price is not recurring.', param);
  return price;
}

/** The prices of a new subscription, or of a phase of one. */
export function checkPrices(
  prices: readonly Price[],
  mode: Subscription['billing_mode']['type'],
  path = 'items',
): void {
  const [first] = prices;
  for (const [index, price] of prices.entries()) {
    if (prices.findIndex(({ id }) => id === price.id) < index)
      throw badParam(
        `Cannot create a Subscription with multiple Subscription Items with the same Price: ${price.id}`,
        'plan',
      );
    if (price.currency !== first?.currency)
      throw badParam(
        `This \`price\` has \`currency=${price.currency}\`, but other items use \`currency=${first?.currency}\`. All items must have pricing in the same currency. When using multi-currency prices, you can specify \`currency\` at the top level, to be used by all items.`,
        `${path}[${index}][price]`,
      );
  }
  checkIntervals(prices, mode);
}

/** Only in flexible billing mode, items can have periods of their own. */
export function checkIntervals(prices: readonly Price[], mode: Subscription['billing_mode']['type']): void {
  if (mode === 'classic' && new Set(prices.map(intervalOf)).size > 1)
    throw badParam(
      'Currency and interval fields must match across all plans on this subscription. Found mismatch in interval field.',
      'items',
    );
}

/** The meter decides the quantity of a metered price. */
export function checkQuantity(price: Price | undefined, quantity: number | undefined, param: string): void {
  if (price !== undefined && quantity !== undefined && isMetered(price))
    throw badParam('You cannot set the quantity for metered plans.', param);
}

export function checkMethod(
  store: Store,
  id: string | undefined,
  customer: string,
  param = 'default_payment_method',
): void {
  if (id !== undefined && store.paymentMethods.get(id)?.customer !== customer)
    throw missing('PaymentMethod', id, param);
}

/** A trial ends at most two years from now. */
export function checkTrialEnd(store: Store, end: number): number {
  if (end <= store.now() || end > store.now() + trialDaysMax * 86_400)
    throw badParam('trial_end must be in the future, at most two years ahead.', 'trial_end');
  return end;
}
