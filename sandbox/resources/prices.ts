import { addCurrencies, createPrice, currencyOption } from '../billing/price.ts';
import { planOf } from '../billing/subscription-items.ts';
import { checkAmount, currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { CurrencyOption, Price, PriceTiers } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  bool,
  clearable,
  decimal,
  integer,
  metadata,
  object,
  oneOf,
  type Parsed,
  type Parser,
  present,
  required,
  text,
} from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { createProduct, productParams } from './products.ts';
import { Resource } from './resource.ts';

/** Three years, the processor's longest billing period. */
const intervalCountMax = { day: 1_095, week: 156, month: 36, year: 3 } as const;

/** The processor's own limits. */
const lookupKeyLengthMax = 200;
const lookupKeysMax = 10;
const trialDaysMax = 730;
/** More than a price needs. */
const tiersMax = 100;

/** The last quantity of a tier, or null for any. */
const upTo: Parser<number | null> = (node, path) => (node === 'inf' ? null : integer(1)(node, path));
const tierFields = {
  up_to: required(upTo),
  unit_amount: integer(),
  unit_amount_decimal: decimal,
  flat_amount: integer(),
  flat_amount_decimal: decimal,
};

/** The amounts of the price in other currencies. */
const currencyOptions: Parser<Readonly<Record<string, CurrencyOption>>> = (node, path) => {
  if (typeof node === 'string') throw badParam('Invalid object', path);
  return Object.fromEntries(
    [...node].map(([code, option]) => {
      const at = `${path}[${currency(code, path)}]`;
      const { unit_amount: unit, unit_amount_decimal: fraction, tax_behavior } = optionParser(option, at);
      if (unit === undefined && fraction === undefined)
        throw badParam(
          `Missing required param: ${at}[unit_amount].`,
          `${at}[unit_amount]`,
          'parameter_missing',
        );
      return [code.toLowerCase(), currencyOption(unit ?? fraction ?? null, tax_behavior)];
    }),
  );
};

const optionParser = object({
  unit_amount: integer(),
  unit_amount_decimal: decimal,
  tax_behavior: oneOf('exclusive', 'inclusive', 'unspecified'),
});

export const priceParams = {
  currency: required(currency),
  unit_amount: integer(),
  unit_amount_decimal: decimal,
  active: bool,
  currency_options: currencyOptions,
  billing_scheme: oneOf('per_unit', 'tiered'),
  lookup_key: text(lookupKeyLengthMax),
  metadata,
  nickname: text(),
  product: text(),
  product_data: object(productParams),
  recurring: object({
    interval: required(oneOf('day', 'week', 'month', 'year')),
    interval_count: integer(1, intervalCountMax.day),
    meter: text(),
    trial_period_days: integer(1, trialDaysMax),
    usage_type: oneOf('licensed', 'metered'),
  }),
  tax_behavior: oneOf('exclusive', 'inclusive', 'unspecified'),
  tiers: array(object(tierFields), tiersMax),
  tiers_mode: oneOf('graduated', 'volume'),
  transform_quantity: object({ divide_by: required(integer(1)), round: required(oneOf('up', 'down')) }),
  transfer_lookup_key: bool,
};

const prices = new Resource('prices', (store) => store.prices);

export const priceOperations: readonly Operation[] = [
  prices.operation('create', 'POST', priceParams, ({ store }, params) => priceFrom(store, params)),
  prices.retrieve(),
  prices.operation(
    'update',
    'POST *',
    {
      active: bool,
      currency_options: clearable(currencyOptions),
      metadata,
      nickname: clearable(text()),
      lookup_key: text(lookupKeyLengthMax),
      tax_behavior: priceParams.tax_behavior,
      transfer_lookup_key: bool,
    },
    (call, { transfer_lookup_key, currency_options: options, ...params }) => {
      const { store } = call;
      const before = prices.existing(call);
      claimLookupKey(store, { ...params, transfer_lookup_key }, before.id);
      if (options !== undefined) addCurrencies(store, before.id, options ?? {});
      const after = store.change(store.prices, before, {
        ...present(params),
        metadata: applyMetadata(before.metadata, params.metadata),
      });
      if (after.recurring !== null) store.emitUpdated('plan.updated', planOf(before), planOf(after));
      store.emitUpdated('price.updated', before, after);
      return after;
    },
  ),
  prices.list(
    {
      active: bool,
      product: text(),
      currency,
      lookup_keys: array(text(lookupKeyLengthMax), lookupKeysMax),
      type: oneOf('one_time', 'recurring'),
    },
    {
      within: ({ lookup_keys: keys, product }) => ({
        lookup_key: keys?.length === 1 ? keys[0] : undefined,
        product,
      }),
      where:
        (_store, { lookup_keys: keys }) =>
        ({ lookup_key: key }) =>
          keys === undefined || keys.length === 0 || (key !== null && keys.includes(key)),
      equal: ['active', 'currency', 'type'],
    },
  ),
  prices.search(),
];

type NewPrice = Partial<Omit<Parsed<typeof priceParams>, 'product_data' | 'recurring'>> & {
  readonly currency: string;
  readonly product_data?: Parameters<typeof createProduct>[1] | undefined;
  readonly recurring?: Parameters<typeof createPrice>[1]['recurring'];
};

export function priceFrom(store: Store, params: NewPrice): Price {
  const { recurring } = params;
  const isTiered = params.billing_scheme === 'tiered';
  if (isTiered && recurring === undefined)
    throw badParam('Prices with `type=one_time` are not supported with tiered billing.', 'interval');
  const unitAmount = params.unit_amount ?? params.unit_amount_decimal ?? null;
  if (!isTiered && unitAmount === null)
    throw badParam('Missing required param: unit_amount.', 'unit_amount', 'parameter_missing');
  if (unitAmount !== null && unitAmount < 0)
    throw badParam('This value must be greater than or equal to 0.', 'unit_amount_decimal');
  checkAmount(params.unit_amount ?? 0, params.currency, 'unit_amount');
  checkMeter(store, recurring);
  if (
    recurring?.interval_count !== undefined &&
    recurring.interval_count > intervalCountMax[recurring.interval]
  )
    throw badParam('The maximum billing period is three years.', 'recurring[interval_count]');
  if ((params.product === undefined) === (params.product_data === undefined))
    throw badParam(
      'You must specify exactly one of product or product_data.',
      'product',
      params.product === undefined ? 'parameter_missing' : 'parameters_exclusive',
    );
  const product =
    params.product_data === undefined
      ? existing(store.products, params.product ?? '', 'product')
      : createProduct(store, params.product_data);
  claimLookupKey(store, params, null);
  return createPrice(store, {
    ...params,
    product: product.id,
    unitAmount,
    tiers: tiersFrom(params),
    currencies: params.currency_options,
  });
}

function checkMeter(store: Store, recurring: NewPrice['recurring']): void {
  const { meter, usage_type: usage } = recurring ?? {};
  if (usage === 'metered' && meter === undefined)
    throw badParam(
      'Starting with Stripe version `2025-03-31.basil`, metered prices must be backed by meters.',
    );
  if (usage !== 'metered' && meter !== undefined)
    throw badParam('Only a price with `usage_type=metered` can have a meter.', 'recurring[meter]');
  if (meter !== undefined) existing(store.meters, meter, 'recurring[meter]');
}

/** The tiers of a tiered price. Undefined if the price has one amount for each unit. */
function tiersFrom(params: NewPrice): PriceTiers['tiers'] | undefined {
  const { tiers, tiers_mode: mode, transform_quantity: transform } = params;
  if (params.billing_scheme !== 'tiered') {
    if (tiers !== undefined || mode !== undefined)
      throw badParam('`tiers` and `tiers_mode` require `billing_scheme=tiered`.', 'billing_scheme');
    return undefined;
  }
  if (tiers === undefined || mode === undefined)
    throw badParam('A tiered price needs `tiers` and `tiers_mode`.', 'tiers', 'parameter_missing');
  if ((params.unit_amount ?? params.unit_amount_decimal ?? transform) !== undefined)
    throw badParam('`unit_amount` and `transform_quantity` cannot be combined with `tiers`.', 'tiers');
  for (const [index, { up_to: last }] of tiers.entries()) {
    const before = index === 0 ? 0 : tiers[index - 1]?.up_to;
    if (before == null || (last ?? Number.POSITIVE_INFINITY) <= before)
      throw badParam('Each tier must end after the tier before it.', `tiers[${index}][up_to]`);
  }
  if (tiers.at(-1)?.up_to !== null) throw badParam('The last tier must end at `inf`.', 'tiers');
  const whole = (amount: number | undefined) => (Number.isInteger(amount) ? (amount ?? null) : null);
  const text = (amount: number | undefined) => (amount === undefined ? null : String(amount));
  return tiers.map(({ up_to, ...tier }) => {
    const flat = tier.flat_amount ?? tier.flat_amount_decimal;
    const unit = tier.unit_amount ?? tier.unit_amount_decimal;
    return {
      flat_amount: whole(flat),
      flat_amount_decimal: text(flat),
      unit_amount: whole(unit),
      unit_amount_decimal: text(unit),
      up_to,
    };
  });
}

/** A lookup key belongs to one price. It moves to another price only on request. */
function claimLookupKey(
  store: Store,
  params: Pick<NewPrice, 'lookup_key' | 'transfer_lookup_key'>,
  ownId: string | null,
): void {
  const { lookup_key: key, transfer_lookup_key: transfers } = params;
  const [holder] = key === undefined ? [] : store.prices.allWithin('lookup_key', key);
  if (holder === undefined || holder.id === ownId) return;
  if (transfers !== true)
    throw badParam(`A price (\`${holder.id}\`) already uses that lookup key.`, 'lookup_key');
  const released = store.change(store.prices, holder, { lookup_key: null });
  store.emitUpdated('price.updated', holder, released);
}
