import { addCurrencies, createPrice, planOf, unitAmounts } from '../billing/price.ts';
import { checkAmount, currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { Price, PriceTiers } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam, missingParam } from '../wire/wire-error.ts';
import { createProduct, currencyOptions, interval, productParams, taxBehavior } from './products.ts';
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
const upTo: p.Parser<number | null> = (node, path) => (node === 'inf' ? null : p.integer(1)(node, path));
const tierFields = {
  up_to: p.required(upTo),
  unit_amount: p.integer(),
  unit_amount_decimal: p.decimal,
  flat_amount: p.integer(),
  flat_amount_decimal: p.decimal,
};

const priceParams = {
  currency: p.required(currency),
  unit_amount: p.integer(),
  unit_amount_decimal: p.decimal,
  active: p.bool,
  currency_options: currencyOptions,
  billing_scheme: p.oneOf('per_unit', 'tiered'),
  lookup_key: p.text(lookupKeyLengthMax),
  metadata: p.metadata,
  nickname: p.text(),
  product: p.text(),
  product_data: p.object(productParams),
  recurring: p.object({
    interval,
    interval_count: p.integer(1, intervalCountMax.day),
    meter: p.text(),
    trial_period_days: p.integer(1, trialDaysMax),
    usage_type: p.oneOf('licensed', 'metered'),
  }),
  tax_behavior: taxBehavior,
  tiers: p.array(p.object(tierFields), tiersMax),
  tiers_mode: p.oneOf('graduated', 'volume'),
  transform_quantity: p.object({
    divide_by: p.required(p.integer(1)),
    round: p.required(p.oneOf('up', 'down')),
  }),
  transfer_lookup_key: p.bool,
};

const prices = new Resource('prices', (store) => store.prices);

export const priceOperations = [
  prices.create(priceParams, ({ store }, params) => priceFrom(store, params)),
  prices.retrieve(),
  prices.update(
    {
      active: p.bool,
      currency_options: p.clearable(currencyOptions),
      metadata: p.metadata,
      nickname: p.clearable(p.text()),
      lookup_key: p.text(lookupKeyLengthMax),
      tax_behavior: taxBehavior,
      transfer_lookup_key: p.bool,
    },
    ({ store }, before, { transfer_lookup_key, currency_options: options, ...params }) => {
      claimLookupKey(store, { ...params, transfer_lookup_key }, before.id);
      if (options !== undefined) addCurrencies(store, before.id, options ?? {});
      const after = store.change(store.prices, before, {
        ...p.present(params),
        metadata: p.applyMetadata(before.metadata, params.metadata),
      });
      if (after.recurring !== null) store.emitUpdated('plan.updated', planOf(before), planOf(after));
      store.emitUpdated('price.updated', before, after);
      return after;
    },
  ),
  prices.list(
    {
      active: p.bool,
      product: p.text(),
      currency,
      lookup_keys: p.array(p.text(lookupKeyLengthMax), lookupKeysMax),
      type: p.oneOf('one_time', 'recurring'),
    },
    {
      handled: ['lookup_keys'],
      within: ({ lookup_keys: keys }) => ({ lookup_key: keys?.length === 1 ? keys[0] : undefined }),
      where: ({ lookup_key: key }, { lookup_keys: keys = [] }) =>
        keys.length === 0 || (key !== null && keys.includes(key)),
    },
  ),
  prices.search(),
];

type NewPrice = Partial<Omit<p.Parsed<typeof priceParams>, 'product_data' | 'recurring'>> & {
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
  if (!isTiered && unitAmount === null) throw missingParam('unit_amount');
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
      ? store.products.existing(params.product ?? '', 'product')
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
  if (meter !== undefined) store.meters.existing(meter, 'recurring[meter]');
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
    throw missingParam('tiers', 'A tiered price needs `tiers` and `tiers_mode`.');
  if ((params.unit_amount ?? params.unit_amount_decimal ?? transform) !== undefined)
    throw badParam('`unit_amount` and `transform_quantity` cannot be combined with `tiers`.', 'tiers');
  for (const [index, { up_to: last }] of tiers.entries()) {
    const before = index === 0 ? 0 : tiers[index - 1]?.up_to;
    if (before == null || (last ?? Number.POSITIVE_INFINITY) <= before)
      throw badParam('Each tier must end after the tier before it.', `tiers[${index}][up_to]`);
  }
  if (tiers.at(-1)?.up_to !== null) throw badParam('The last tier must end at `inf`.', 'tiers');
  return tiers.map(({ up_to, ...tier }) => {
    const flat = unitAmounts(tier.flat_amount ?? tier.flat_amount_decimal ?? null);
    return {
      flat_amount: flat.unit_amount,
      flat_amount_decimal: flat.unit_amount_decimal,
      ...unitAmounts(tier.unit_amount ?? tier.unit_amount_decimal ?? null),
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
  store.update('price.updated', store.prices, holder, { lookup_key: null });
}
