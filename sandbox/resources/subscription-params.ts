import { isMetered, priceIn } from '../billing/price.ts';
import { intervalOf } from '../billing/subscription-items.ts';
import type { Store } from '../state/store.ts';
import { mayUseOld, sees } from '../wire/api-version.ts';
import { words } from '../wire/nulls.ts';
import type { Price, Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, missing, missingParam } from '../wire/wire-error.ts';
import { discountsParam, oldDiscountParams } from './discount-params.ts';
import { addedItemsParam } from './invoice-items.ts';
import { checkEmail, invoicePaymentSettings } from './invoice-params.ts';
import { inlinePrice, recurringPriceParams } from './products.ts';
import {
  automaticTaxFrom,
  automaticTaxParam,
  checkTaxLocation,
  taxRatesFrom,
  taxRatesParam,
} from './tax-rates.ts';

/**
 * The processor raised its limit of items in flexible billing mode on 2026-08-26. The number is the sandbox's own. In
 * classic mode it is still 20.
 */
export const itemsMax = 100;
const classicItemsMax = 20;
/** The processor's own limits. */
export const trialDaysMax = 730;
export const quantityMax = 1_000_000;

export function listOrNull(types: readonly string[] | null | undefined): string[] | null {
  return types == null ? null : [...types];
}

export const feedbackOptions = words(
  'customer_service low_quality missing_features other switched_service too_complex too_expensive unused',
);
export const cancellationDetails = p.object({
  comment: p.clearable(p.text()),
  feedback: p.clearable(p.oneOf(...feedbackOptions)),
});
const paymentSettings = p.object({
  ...invoicePaymentSettings,
  save_default_payment_method: p.oneOf('off', 'on_subscription'),
});
export const trialSettings = p.object({
  end_behavior: p.required(
    p.object({ missing_payment_method: p.required(p.oneOf('cancel', 'create_invoice', 'pause')) }),
  ),
});

/** The trial settings in the parameters, if there are any. */
export function trialSettingsFrom(
  params: { readonly trial_settings?: ReturnType<typeof trialSettings> | undefined } | undefined,
): Partial<Subscription> {
  const end = params?.trial_settings?.end_behavior;
  if (end === undefined) return {};
  return { trial_settings: { end_behavior: { billing_cycle_anchor: null, ...end } } };
}

/** A time, or the word `now`. */
export const timeOrNow: p.Parser<number | 'now'> = (node, path) =>
  node === 'now' ? node : p.integer()(node, path);

/** Null resumes the collection. */
export const pauseCollection = p.clearable(
  p.object({
    behavior: p.required(p.oneOf('keep_as_draft', 'mark_uncollectible', 'void')),
    resumes_at: p.integer(),
  }),
);

const billingModeFields = {
  type: p.required(p.oneOf('classic', 'flexible')),
  flexible: p.object({ proration_discounts: p.oneOf('included', 'itemized') }),
};
export const billingMode = p.object(billingModeFields);

/** Subscriptions are flexible by default since 2025-09-30. Only those can pause after a failed payment. */
export function billingModeOf(
  given: p.Parsed<typeof billingModeFields> | undefined,
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

export const paymentBehaviors = words('allow_incomplete default_incomplete error_if_incomplete');
export const prorationBehavior = p.oneOf('always_invoice', 'create_prorations', 'none');

const anchorType = p.oneOf('now', 'unchanged');
const anchorObject = p.object({ type: p.required(anchorType) });

/** An object, or in older versions its type as a string. */
export const anchorParam: p.Parser<{ type: 'now' | 'unchanged'; isWord: boolean }> = (node, path) =>
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
const billingParams = {
  automatic_tax: automaticTaxParam,
  collection_method: p.oneOf('charge_automatically', 'send_invoice'),
  days_until_due: p.integer(),
  default_tax_rates: taxRatesParam,
};

/** The parameters that a creation and an update have in common. */
export const commonParams = {
  ...billingParams,
  ...oldDiscountParams,
  ...p.each(p.bool, 'cancel_at_period_end off_session trial_from_plan'),
  add_invoice_items: addedItemsParam,
  discounts: discountsParam,
  metadata: p.metadata,
  payment_settings: paymentSettings,
  proration_behavior: prorationBehavior,
  trial_end: timeOrNow,
  trial_settings: trialSettings,
};

export function billingFrom(
  store: Store,
  params: Partial<p.Parsed<typeof billingParams>>,
  before: Pick<Subscription, 'collection_method' | 'customer' | 'days_until_due'>,
): Partial<Subscription> {
  const { automatic_tax: tax, default_tax_rates: rates } = params;
  const method = params.collection_method ?? before.collection_method;
  const days = params.days_until_due ?? before.days_until_due;
  if (method === 'send_invoice' && days === null)
    throw missingParam(
      'days_until_due',
      'If collection_method is send_invoice, you must set days_until_due.',
    );
  if (method !== 'send_invoice' && params.days_until_due !== undefined)
    throw badParam('You can only set days_until_due if collection_method is send_invoice.', 'days_until_due');
  if (method === 'send_invoice') checkEmail(store, before.customer);
  if (tax?.enabled === true) checkTaxLocation(store, before.customer);
  return {
    ...(params.collection_method === undefined && params.days_until_due === undefined
      ? {}
      : { collection_method: method, days_until_due: method === 'send_invoice' ? days : null }),
    ...(rates !== undefined && { default_tax_rates: taxRatesFrom(store, rates, 'default_tax_rates') }),
    ...(tax !== undefined && { automatic_tax: automaticTaxFrom(tax) }),
  };
}

/** The price that an item names or creates. Undefined if it does neither. */
export function itemPrice(
  store: Store,
  item: Partial<p.Parsed<typeof itemPriceFields>>,
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
  plan: p.text(),
  price: p.text(),
  price_data: p.object(recurringPriceParams),
  tax_rates: taxRatesParam,
};

export function billablePrice(store: Store, id: string, param: string): Price {
  const price = store.prices.existing(id, param);
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
  checkCount(prices.length, mode, path);
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

export function checkCount(count: number, mode: Subscription['billing_mode']['type'], path: string): void {
  const max = mode === 'flexible' ? itemsMax : classicItemsMax;
  if (count > max) throw badParam(`A subscription can have at most ${max} items.`, path);
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
