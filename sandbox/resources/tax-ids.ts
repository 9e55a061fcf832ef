import { existingCustomer, ofCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { TaxId } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam, missingParam } from '../wire/wire-error.ts';
import { customerList } from './listing.ts';
import { Resource } from './resource.ts';

const type: p.Parser<string> = (node, path) => {
  if (typeof node !== 'string' || !/^[a-z]{2}_[a-z_]{2,10}$/.test(node))
    throw badParam(`Invalid ${path}: must be a type such as eu_vat`, path);
  return node;
};

export const taxIdParams = { type: p.required(type), value: p.required(p.text()) };
const owner = p.object({ type: p.required(p.oneOf('customer', 'self')), customer: p.text() });

const customers = new Resource('customers', (store) => store.customers);
const taxIds = new Resource('tax_ids', (store) => store.taxIds);

/** Tax ids belong to customers. The account has none. */
export const taxIdOperations = [
  taxIds.create({ ...taxIdParams, owner }, ({ store }, { owner: of, ...params }) => {
    if (of?.customer === undefined) throw missingParam('owner[customer]');
    return createTaxId(store, existingCustomer(store, of.customer, 'owner[customer]').id, params);
  }),
  taxIds.retrieve(),
  taxIds.delete(deleteTaxId),
  taxIds.list(
    { owner },
    {
      hasCreated: false,
      handled: ['owner'],
      within: (params) => ({ customer: params.owner?.customer ?? '' }),
    },
  ),
  customers.operation('create_tax_id', 'POST */tax_ids', taxIdParams, ({ store, id }, params) =>
    createTaxId(store, existingCustomer(store, id, 'id').id, params),
  ),
  customerList('tax_ids', (store) => store.taxIds),
  customers.operation('retrieve_tax_id', 'GET */tax_ids/*', {}, (call) =>
    ofCustomer(call, call.store.taxIds),
  ),
  customers.operation('delete_tax_id', 'DELETE */tax_ids/*', {}, (call) => {
    const taxId = ofCustomer(call, call.store.taxIds);
    deleteTaxId(call.store, taxId);
    return { id: taxId.id, object: 'tax_id', deleted: true };
  }),
];

function deleteTaxId(store: Store, taxId: TaxId): void {
  store.remove(store.taxIds, taxId.id);
  store.emit('customer.tax_id.deleted', taxId);
}

/** The processor asks the authorities of these countries. */
const verifiedTypes = new Set(['au_abn', 'eu_vat', 'gb_vat']);

export function createTaxId(store: Store, customer: string, params: p.Parsed<typeof taxIdParams>): TaxId {
  const country = params.type.slice(0, 2).toUpperCase();
  return store.record('customer.tax_id.created', store.taxIds, {
    ...store.blank(store.taxIds, 'tax_id'),
    // The two letters of a European number name its country.
    country: country === 'EU' ? params.value.slice(0, 2).toUpperCase() : country,
    customer,
    customer_account: null,
    owner: { type: 'customer', customer, customer_account: null },
    ...params,
    verification: {
      ...nulls('verified_address verified_name'),
      status: verifiedTypes.has(params.type) ? 'verified' : 'unavailable',
    },
  });
}
