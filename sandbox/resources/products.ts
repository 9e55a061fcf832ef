import { statementDescriptor } from '../payments/statement-descriptor.ts';
import type { Store } from '../state/store.ts';
import type { Product } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
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
import { Resource } from './resource.ts';

export const productParams = {
  name: required(text()),
  active: bool,
  metadata,
  statement_descriptor: statementDescriptor,
  tax_code: text(),
  unit_label: text(),
};

const products = new Resource('products', (store) => store.products);

export const productOperations: readonly Operation[] = [
  products.operation(
    'create',
    'POST',
    { ...productParams, description: clearable(text()), url: clearable(text()), id: text() },
    ({ store }, params) => {
      if (params.id !== undefined && store.products.get(params.id) !== undefined)
        throw wrongState(`Product already exists.`, 'resource_already_exists', { param: 'id' });
      return createProduct(store, params);
    },
  ),
  products.retrieve(),
  products.operation(
    'update',
    'POST *',
    {
      name: text(),
      active: bool,
      metadata,
      description: clearable(text()),
      url: clearable(text()),
      unit_label: clearable(text()),
      default_price: text(),
    },
    (call, params) => {
      const { store, id } = call;
      const before = products.existing(call);
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
  products.operation('delete', 'DELETE *', {}, (call) => {
    const { store, id } = call;
    const product = products.existing(call);
    if (store.prices.allWithin('product', id).length > 0)
      throw wrongState('This product has prices, so it cannot be deleted.');
    store.remove(store.products, id);
    store.emit('product.deleted', product);
    return { id, object: 'product', deleted: true };
  }),
  products.list(
    { active: bool },
    {
      equal: ['active'],
    },
  ),
  products.search(),
];

export function createProduct(
  store: Store,
  input: {
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
    id: input.id ?? store.products.newId(),
    object: 'product',
    active: input.active ?? true,
    created: now,
    default_price: null,
    description: input.description ?? null,
    images: [],
    livemode: false,
    marketing_features: [],
    metadata: applyMetadata({}, input.metadata),
    name: input.name,
    package_dimensions: null,
    shippable: null,
    statement_descriptor: input.statement_descriptor ?? null,
    tax_code: input.tax_code ?? null,
    tax_details: null,
    type: 'service',
    unit_label: input.unit_label ?? null,
    updated: now,
    url: input.url ?? null,
  });
  store.emit('product.created', product);
  return product;
}
