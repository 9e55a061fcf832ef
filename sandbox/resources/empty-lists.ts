import { existingCustomer } from '../payments/customer.ts';
import { Collection } from '../state/collection.ts';
import type { WireObject } from '../wire/objects.ts';
import { operation } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { listPage, pageParams } from './listing.ts';
import { Resource } from './resource.ts';

interface EmptyKind {
  /** The path of the list. */
  readonly name: string;
  /** The name in "No such …" errors. */
  readonly noun: string;
  readonly filters?: p.Fields;
}

/**
 * Kinds of objects that the sandbox cannot create. Their lists are empty, as in an account that has none. Clients that
 * copy a whole account read all of these lists.
 */
const emptyKinds: readonly EmptyKind[] = [
  { name: 'credit_notes', noun: 'credit note', filters: { customer: p.text(), invoice: p.text() } },
  {
    name: 'entitlements/features',
    noun: 'feature',
    filters: { archived: p.bool, lookup_key: p.text() },
  },
  {
    name: 'entitlements/active_entitlements',
    noun: 'active entitlement',
    filters: { customer: p.required(p.text()) },
  },
  { name: 'payment_links', noun: 'payment link', filters: { active: p.bool } },
  {
    name: 'payouts',
    noun: 'payout',
    filters: { arrival_date: p.range, destination: p.text(), status: p.text() },
  },
  { name: 'quotes', noun: 'quote', filters: { customer: p.text(), status: p.text(), test_clock: p.text() } },
  {
    name: 'radar/early_fraud_warnings',
    noun: 'early fraud warning',
    filters: { charge: p.text(), payment_intent: p.text() },
  },
  { name: 'reviews', noun: 'review' },
  { name: 'transfers', noun: 'transfer', filters: { destination: p.text(), transfer_group: p.text() } },
];

/** The lists below a customer. */
const ofCustomers = ['balance_transactions', 'sources'] as const;

const nothing = new Collection<WireObject>({ name: 'nothing', noun: 'object', idPrefix: '' });

export const emptyListOperations = [
  ...emptyKinds.flatMap(({ name, noun, filters = {} }) => {
    const collection = new Collection<WireObject>({ name, noun, idPrefix: '' });
    const kind = new Resource(name, () => collection);
    // A path with a namespace has no route for a single object. The response is a 404 too.
    return name.includes('/') ? [kind.list(filters)] : [kind.list(filters), kind.retrieve()];
  }),
  ...ofCustomers.map((list) =>
    operation(
      { name: `customers.list_${list}`, method: 'GET', path: `customers/*/${list}` },
      { ...pageParams, ...(list === 'sources' && { object: p.text() }) },
      ({ store, id }, params) => {
        existingCustomer(store, id, 'id');
        return listPage(`/v1/customers/${id}/${list}`, nothing, params, {});
      },
    ),
  ),
];
