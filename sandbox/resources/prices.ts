import { newId } from '../ids.ts';
import { checkNotTooLarge, currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { Price } from '../wire/objects.ts';
import { createdParam, cursorOf, listOf, listParams, type Operation, operation } from '../wire/operation.ts';
import {
  applyMetadata,
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
import { badParam, missing } from '../wire/wire-error.ts';
import { createProduct, existingProduct, productParams } from './products.ts';
import { searchOperation } from './search.ts';

/** Three years: the longest period that the processor bills. */
const intervalCountMax = { day: 1_095, week: 156, month: 36, year: 3 } as const;

const priceParams = {
  currency: required(currency),
  unit_amount: integer(),
  active: bool,
  billing_scheme: oneOf('per_unit'),
  lookup_key: text(200),
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
};

export const priceOperations: readonly Operation[] = [
  operation({ name: 'prices.create', method: 'POST', path: 'prices' }, priceParams, ({ store }, params) =>
    createPrice(store, params),
  ),
  operation({ name: 'prices.retrieve', method: 'GET', path: 'prices/*' }, {}, ({ store, ids: [id = ''] }) =>
    existingPrice(store, id, 'id'),
  ),
  operation(
    { name: 'prices.update', method: 'POST', path: 'prices/*' },
    {
      active: bool,
      metadata,
      nickname: clearable(text()),
      lookup_key: text(200),
      tax_behavior: priceParams.tax_behavior,
    },
    ({ store, ids: [id = ''] }, params) => {
      const before = existingPrice(store, id, 'id');
      const after = store.change(store.prices, before, {
        active: params.active ?? before.active,
        metadata: applyMetadata(before.metadata, params.metadata),
        nickname: params.nickname === undefined ? before.nickname : params.nickname,
        lookup_key: params.lookup_key ?? before.lookup_key,
        tax_behavior: params.tax_behavior ?? before.tax_behavior,
      });
      store.emitUpdated('price.updated', before, after);
      return after;
    },
  ),
  operation(
    { name: 'prices.list', method: 'GET', path: 'prices' },
    {
      ...listParams,
      ...createdParam,
      active: bool,
      product: text(),
      currency,
      type: oneOf('one_time', 'recurring'),
    },
    ({ store }, params) =>
      listOf(
        '/v1/prices',
        store.prices.list({
          ...cursorOf(params, (id) => store.prices.get(id) !== undefined),
          created: params.created,
          within: params.product === undefined ? undefined : { index: 'product', key: params.product },
          where: (price) =>
            (params.active ?? price.active) === price.active &&
            (params.currency ?? price.currency) === price.currency &&
            (params.type ?? price.type) === price.type,
        }),
      ),
  ),
  searchOperation('prices', (store) => store.prices),
];

export function existingPrice(store: Store, id: string, param = 'price'): Price {
  const price = store.prices.get(id);
  if (price === undefined) throw missing('price', id, param);
  return price;
}

function createPrice(store: Store, params: Parsed<typeof priceParams>): Price {
  const { recurring } = params;
  if (params.unit_amount === undefined)
    throw badParam('Missing required param: unit_amount.', 'unit_amount', 'parameter_missing');
  checkNotTooLarge(params.unit_amount, params.currency, 'unit_amount');
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
      ? existingProduct(store, params.product ?? '')
      : createProduct(store, params.product_data);
  const price = store.put(store.prices, {
    id: newId('price_'),
    object: 'price',
    active: params.active ?? true,
    billing_scheme: 'per_unit',
    created: store.now(),
    currency: params.currency,
    custom_unit_amount: null,
    livemode: false,
    lookup_key: params.lookup_key ?? null,
    metadata: applyMetadata({}, params.metadata),
    nickname: params.nickname ?? null,
    product: product.id,
    recurring:
      recurring === undefined
        ? null
        : {
            interval: recurring.interval,
            interval_count: recurring.interval_count ?? 1,
            meter: null,
            trial_period_days: null,
            usage_type: 'licensed',
          },
    tax_behavior: params.tax_behavior ?? 'unspecified',
    tiers_mode: null,
    transform_quantity: null,
    type: recurring === undefined ? 'one_time' : 'recurring',
    unit_amount: params.unit_amount,
    unit_amount_decimal: String(params.unit_amount),
  });
  store.emit('price.created', price);
  return price;
}
