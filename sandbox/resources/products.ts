import { statementDescriptor } from '../payments/statement-descriptor.ts';
import type { Store } from '../state/store.ts';
import type { Product } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  bool,
  clearable,
  metadata,
  object,
  type Parsed,
  present,
  required,
  text,
} from '../wire/params.ts';
import { missing, wrongState } from '../wire/wire-error.ts';
import { inlinePrice, inlinePriceParams } from './inline-price.ts';
import { Resource } from './resource.ts';

/** The processor's own limits. */
const imagesMax = 8;
const featuresMax = 15;
const idsMax = 100;

const changeable = {
  name: text(),
  active: bool,
  description: clearable(text()),
  images: clearable(array(text(), imagesMax)),
  marketing_features: clearable(array(object({ name: required(text()) }), featuresMax)),
  metadata,
  shippable: bool,
  statement_descriptor: statementDescriptor,
  tax_code: clearable(text()),
  unit_label: clearable(text()),
  url: clearable(text()),
};
export const productParams = { ...changeable, name: required(text()), id: text() };

const products = new Resource('products', (store) => store.products);

export const productOperations: readonly Operation[] = [
  products.operation(
    'create',
    'POST',
    { ...productParams, default_price_data: object(inlinePriceParams), type: text() },
    ({ store }, { default_price_data: price, type: _, ...params }) => {
      const product = createProduct(store, params);
      if (price === undefined) return product;
      const { id } = inlinePrice(store, { ...price, product: product.id }, 'default_price_data', true);
      return store.change(store.products, product, { default_price: id });
    },
  ),
  products.retrieve(),
  products.operation('update', 'POST *', { ...changeable, default_price: text() }, (call, params) => {
    const { store, id } = call;
    const before = products.existing(call);
    if (params.default_price !== undefined && store.prices.get(params.default_price)?.product !== id)
      throw missing('price', params.default_price, 'default_price');
    const after = store.change(store.products, before, {
      ...fieldsFrom(before, params),
      ...present({ default_price: params.default_price }),
      updated: store.now(),
    });
    store.emitUpdated('product.updated', before, after);
    return after;
  }),
  products.delete((store, product) => {
    if (store.prices.allWithin('product', product.id).length > 0)
      throw wrongState('This product has prices, so it cannot be deleted.');
    store.remove(store.products, product.id);
    store.emit('product.deleted', product);
  }),
  products.list(
    { active: bool, ids: array(text(), idsMax), shippable: bool, url: text() },
    {
      equal: ['active', 'shippable', 'url'],
      where:
        (_store, { ids }) =>
        ({ id }) =>
          ids === undefined || ids.includes(id),
    },
  ),
  products.search(),
];

function fieldsFrom(
  before: Pick<Product, 'metadata'>,
  { images, marketing_features: features, metadata: change, ...params }: Partial<Parsed<typeof changeable>>,
) {
  return {
    ...present(params),
    ...(images === undefined ? {} : { images: [...(images ?? [])] }),
    ...(features === undefined ? {} : { marketing_features: [...(features ?? [])] }),
    metadata: applyMetadata(before.metadata, change),
  };
}

export function createProduct(
  store: Store,
  { id, name, ...params }: Partial<Parsed<typeof productParams>> & { readonly name: string },
): Product {
  if (id !== undefined && store.products.get(id) !== undefined)
    throw wrongState('Product already exists.', 'resource_already_exists', { param: 'id' });
  const now = store.now();
  const product = store.put(store.products, {
    id: id ?? store.products.newId(),
    object: 'product',
    active: true,
    created: now,
    default_price: null,
    description: null,
    images: [],
    livemode: false,
    marketing_features: [],
    name,
    package_dimensions: null,
    shippable: null,
    statement_descriptor: null,
    tax_code: null,
    tax_details: null,
    type: 'service',
    unit_label: null,
    updated: now,
    url: null,
    ...fieldsFrom({ metadata: {} }, params),
  });
  store.emit('product.created', product);
  return product;
}
