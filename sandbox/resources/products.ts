import { addCurrencies, createPrice, currencyOption } from '../billing/price.ts';
import { checkAmount, currency } from '../payments/money.ts';
import { statementDescriptor } from '../payments/statement-descriptor.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { CurrencyOption, Price, Product } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam, missing, missingParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** Credits are negative. */
export const signed = p.integer(-Number.MAX_SAFE_INTEGER);

export const interval = p.required(p.oneOf('day', 'week', 'month', 'year'));
export const taxBehavior = p.oneOf('exclusive', 'inclusive', 'unspecified');

/** The amounts of the price in other currencies. */
export const currencyOptions: p.Parser<Readonly<Record<string, CurrencyOption>>> = (node, path) => {
  if (typeof node === 'string') throw badParam('Invalid object', path);
  return Object.fromEntries(
    [...node].map(([code, option]) => {
      const at = `${path}[${currency(code, path)}]`;
      const { unit_amount: unit, unit_amount_decimal: fraction, tax_behavior } = optionParser(option, at);
      if (unit === undefined && fraction === undefined) throw missingParam(`${at}[unit_amount]`);
      return [code.toLowerCase(), currencyOption(unit ?? fraction ?? null, tax_behavior)];
    }),
  );
};

const optionParser = p.object({
  unit_amount: p.integer(),
  unit_amount_decimal: p.decimal,
  tax_behavior: taxBehavior,
});

export const inlinePriceParams = {
  currency: p.required(currency),
  metadata: p.metadata,
  recurring: p.object({
    interval,
    interval_count: p.integer(1, 1_095),
  }),
  tax_behavior: taxBehavior,
  unit_amount: signed,
  unit_amount_decimal: p.decimal,
};
/** A price that is created together with what it is for. */
const { recurring, ...oneTime } = inlinePriceParams;
export const oneTimePriceParams = { ...oneTime, product: p.required(p.text()) };
export const recurringPriceParams = { ...oneTimePriceParams, recurring: p.required(recurring) };

/** Creates the price. Unless it stays in use, it is for this purpose only, and is inactive from the start. */
export function inlinePrice(
  store: Store,
  data: p.Parsed<typeof oneTimePriceParams> & Partial<p.Parsed<typeof inlinePriceParams>>,
  path: string,
  isActive = false,
): Price {
  const unitAmount = data.unit_amount ?? data.unit_amount_decimal;
  const param = `${path}[unit_amount]`;
  if (unitAmount === undefined) throw missingParam(param);
  checkAmount(Math.abs(data.unit_amount ?? 0), data.currency, param);
  const product = store.products.existing(data.product, `${path}[product]`).id;
  return createPrice(store, { ...data, product, unitAmount, active: isActive });
}

/** The processor's own limits. */
const imagesMax = 8;
const featuresMax = 15;
const idsMax = 100;

const changeable = {
  name: p.text(),
  active: p.bool,
  ...p.each(p.clearable(p.text()), 'description tax_code unit_label url'),
  images: p.clearable(p.array(p.text(), imagesMax)),
  marketing_features: p.clearable(p.array(p.object({ name: p.required(p.text()) }), featuresMax)),
  metadata: p.metadata,
  shippable: p.bool,
  statement_descriptor: statementDescriptor,
};
export const productParams = { ...changeable, name: p.required(p.text()), id: p.text() };

const products = new Resource('products', (store) => store.products);

export const productOperations = [
  products.create(
    {
      ...productParams,
      default_price_data: p.object({ ...inlinePriceParams, currency_options: currencyOptions }),
      type: p.text(),
    },
    ({ store }, { default_price_data: price, type: _, ...params }) => {
      const product = createProduct(store, params);
      if (price === undefined) return product;
      const { id } = inlinePrice(store, { ...price, product: product.id }, 'default_price_data', true);
      if (price.currency_options !== undefined) addCurrencies(store, id, price.currency_options);
      return store.change(store.products, product, { default_price: id });
    },
  ),
  products.retrieve(),
  products.update({ ...changeable, default_price: p.text() }, ({ store, id }, before, params) => {
    if (params.default_price !== undefined && store.prices.get(params.default_price)?.product !== id)
      throw missing('price', params.default_price, 'default_price');
    return store.update('product.updated', store.products, before, {
      ...fieldsFrom(before, params),
      ...p.present({ default_price: params.default_price }),
      updated: store.now(),
    });
  }),
  products.delete((store, product) => {
    if (store.prices.allWithin('product', product.id).length > 0)
      throw wrongState('This product has prices, so it cannot be deleted.');
    store.remove(store.products, product.id);
    store.emit('product.deleted', product);
  }),
  products.list(
    { active: p.bool, ids: p.array(p.text(), idsMax), shippable: p.bool, url: p.text() },
    { handled: ['ids'], where: ({ id }, { ids }) => ids === undefined || ids.includes(id) },
  ),
  products.search(),
];

function fieldsFrom(
  before: Pick<Product, 'metadata'>,
  { images, marketing_features: features, metadata: change, ...params }: Partial<p.Parsed<typeof changeable>>,
) {
  return {
    ...p.present(params),
    ...(images !== undefined && { images: [...(images ?? [])] }),
    ...(features !== undefined && { marketing_features: [...(features ?? [])] }),
    metadata: p.applyMetadata(before.metadata, change),
  };
}

export function createProduct(
  store: Store,
  { id, name, ...params }: Partial<p.Parsed<typeof productParams>> & { readonly name: string },
): Product {
  if (id !== undefined && store.products.get(id) !== undefined)
    throw wrongState('Product already exists.', 'resource_already_exists', { param: 'id' });
  const now = store.now();
  return store.record('product.created', store.products, {
    id: id ?? store.products.newId(),
    object: 'product',
    active: true,
    created: now,
    ...nulls(
      'default_price description package_dimensions shippable statement_descriptor tax_code tax_details',
      'unit_label url',
    ),
    images: [],
    livemode: false,
    marketing_features: [],
    name,
    type: 'service',
    updated: now,
    ...fieldsFrom({ metadata: {} }, params),
  });
}
