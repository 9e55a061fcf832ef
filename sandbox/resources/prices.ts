import { planOf } from '../billing/subscription-life.ts';
import { checkNotTooLarge, currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { Price } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
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
import { badParam } from '../wire/wire-error.ts';
import { createProduct, productParams } from './products.ts';
import { Resource } from './resource.ts';

/** Three years, the processor's longest billing period. */
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

const prices = new Resource('prices', (store) => store.prices);

export const priceOperations: readonly Operation[] = [
  prices.operation('create', 'POST', priceParams, ({ store }, params) => createPrice(store, params)),
  prices.retrieve(),
  prices.operation(
    'update',
    'POST *',
    {
      active: bool,
      metadata,
      nickname: clearable(text()),
      lookup_key: text(200),
      tax_behavior: priceParams.tax_behavior,
    },
    (call, params) => {
      const { store } = call;
      const before = prices.existing(call);
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
    { active: bool, product: text(), currency, type: oneOf('one_time', 'recurring') },
    {
      within: ({ product }) => ({ product }),
      equal: ['active', 'currency', 'type'],
    },
  ),
  prices.search(),
];

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
      ? existing(store.products, params.product ?? '', 'product')
      : createProduct(store, params.product_data);
  const price = store.put(store.prices, {
    id: store.prices.newId(),
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
  if (price.recurring !== null) store.emit('plan.created', planOf(price));
  store.emit('price.created', price);
  return price;
}
