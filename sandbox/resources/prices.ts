import { createPrice } from '../billing/price.ts';
import { planOf } from '../billing/subscription-items.ts';
import { checkAmount, currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { Price } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  bool,
  clearable,
  integer,
  metadata,
  object,
  oneOf,
  type Parsed,
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

const priceParams = {
  currency: required(currency),
  unit_amount: integer(),
  active: bool,
  billing_scheme: oneOf('per_unit'),
  lookup_key: text(lookupKeyLengthMax),
  metadata,
  nickname: text(),
  product: text(),
  product_data: object({ ...productParams, id: text() }),
  recurring: object({
    interval: required(oneOf('day', 'week', 'month', 'year')),
    interval_count: integer(1, intervalCountMax.day),
    usage_type: oneOf('licensed'),
  }),
  tax_behavior: oneOf('exclusive', 'inclusive', 'unspecified'),
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
      metadata,
      nickname: clearable(text()),
      lookup_key: text(lookupKeyLengthMax),
      tax_behavior: priceParams.tax_behavior,
      transfer_lookup_key: bool,
    },
    (call, params) => {
      const { store } = call;
      const before = prices.existing(call);
      claimLookupKey(store, params, before.id);
      const after = store.change(store.prices, before, {
        active: params.active ?? before.active,
        metadata: applyMetadata(before.metadata, params.metadata),
        nickname: params.nickname === undefined ? before.nickname : params.nickname,
        lookup_key: params.lookup_key ?? before.lookup_key,
        tax_behavior: params.tax_behavior ?? before.tax_behavior,
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

function priceFrom(store: Store, params: Parsed<typeof priceParams>): Price {
  const { recurring } = params;
  if (params.unit_amount === undefined)
    throw badParam('Missing required param: unit_amount.', 'unit_amount', 'parameter_missing');
  checkAmount(params.unit_amount, params.currency, 'unit_amount');
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
  return createPrice(store, { ...params, product: product.id, unitAmount: params.unit_amount });
}

/** A lookup key belongs to one price. It moves to another price only on request. */
function claimLookupKey(
  store: Store,
  params: { readonly lookup_key: string | undefined; readonly transfer_lookup_key: boolean | undefined },
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
