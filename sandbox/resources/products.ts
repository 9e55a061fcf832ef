import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { Product } from '../wire/objects.ts';
import { createdParam, cursorOf, listOf, listParams, type Operation, operation } from '../wire/operation.ts';
import {
  applyMetadata,
  bool,
  clearable,
  type MetadataChange,
  metadata,
  required,
  text,
} from '../wire/params.ts';
import { missing, wrongState } from '../wire/wire-error.ts';
import { searchOperation } from './search.ts';

export const productParams = {
  name: required(text()),
  active: bool,
  metadata,
  statement_descriptor: text(22),
  tax_code: text(),
  unit_label: text(),
};

export const productOperations: readonly Operation[] = [
  operation(
    { name: 'products.create', method: 'POST', path: 'products' },
    { ...productParams, description: clearable(text()), url: clearable(text()), id: text() },
    ({ store }, params) => {
      if (params.id !== undefined && store.products.get(params.id) !== undefined)
        throw wrongState(`Product already exists.`, 'resource_already_exists', { param: 'id' });
      return createProduct(store, params);
    },
  ),
  operation(
    { name: 'products.retrieve', method: 'GET', path: 'products/*' },
    {},
    ({ store, ids: [id = ''] }) => existingProduct(store, id, 'id'),
  ),
  operation(
    { name: 'products.update', method: 'POST', path: 'products/*' },
    {
      name: text(),
      active: bool,
      metadata,
      description: clearable(text()),
      url: clearable(text()),
      unit_label: clearable(text()),
      default_price: text(),
    },
    ({ store, ids: [id = ''] }, params) => {
      const before = existingProduct(store, id, 'id');
      if (params.default_price !== undefined && store.prices.get(params.default_price)?.product !== id)
        throw missing('price', params.default_price, 'default_price');
      const changed: Product = {
        ...before,
        name: params.name ?? before.name,
        active: params.active ?? before.active,
        default_price: params.default_price ?? before.default_price ?? null,
        description: params.description === undefined ? before.description : params.description,
        url: params.url === undefined ? before.url : params.url,
        unit_label: params.unit_label === undefined ? (before.unit_label ?? null) : params.unit_label,
        metadata: applyMetadata(before.metadata, params.metadata),
        updated: store.now(),
      };
      const after = store.put(store.products, changed);
      store.emitUpdated('product.updated', before, after);
      return after;
    },
  ),
  operation(
    { name: 'products.delete', method: 'DELETE', path: 'products/*' },
    {},
    ({ store, ids: [id = ''] }) => {
      const product = existingProduct(store, id, 'id');
      if (store.prices.allWithin('product', id).length > 0)
        throw wrongState('A product that has prices cannot be deleted.');
      store.remove(store.products, id);
      store.emit('product.deleted', product);
      return { id, object: 'product', deleted: true };
    },
  ),
  operation(
    { name: 'products.list', method: 'GET', path: 'products' },
    { ...listParams, ...createdParam, active: bool },
    ({ store }, params) =>
      listOf(
        '/v1/products',
        store.products.list({
          ...cursorOf(params, (id) => store.products.get(id) !== undefined),
          created: params.created,
          where: ({ active }) => params.active === undefined || params.active === active,
        }),
      ),
  ),
  searchOperation('products', (store) => store.products),
];

export function existingProduct(store: Store, id: string, param = 'product'): Product {
  const product = store.products.get(id);
  if (product === undefined) throw missing('product', id, param);
  return product;
}

export function createProduct(
  store: Store,
  made: {
    readonly name: string;
    readonly id?: string | undefined;
    readonly active?: boolean | undefined;
    readonly description?: string | null | undefined;
    readonly metadata?: MetadataChange | undefined;
    readonly statement_descriptor?: string | undefined;
    readonly tax_code?: string | undefined;
    readonly unit_label?: string | undefined;
    readonly url?: string | null | undefined;
  },
): Product {
  const now = store.now();
  const product = store.put(store.products, {
    id: made.id ?? newId('prod_', 14),
    object: 'product',
    active: made.active ?? true,
    created: now,
    default_price: null,
    description: made.description ?? null,
    images: [],
    livemode: false,
    marketing_features: [],
    metadata: applyMetadata({}, made.metadata),
    name: made.name,
    package_dimensions: null,
    shippable: null,
    statement_descriptor: made.statement_descriptor ?? null,
    tax_code: made.tax_code ?? null,
    tax_details: null,
    type: 'service',
    unit_label: made.unit_label ?? null,
    updated: now,
    url: made.url ?? null,
  });
  store.emit('product.created', product);
  return product;
}
