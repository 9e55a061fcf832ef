import { existingCustomer } from '../payments/customer.ts';
import { Collection } from '../state/collection.ts';
import type { WireObject } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';
import { bool, type Fields, range, required, text } from '../wire/params.ts';
import { listPage, pageParams } from './listing.ts';
import { Resource } from './resource.ts';

interface EmptyKind {
  /** The path of the list. */
  readonly name: string;
  /** The name in "No such …" errors. */
  readonly noun: string;
  readonly filters?: Fields;
}

/**
 * Kinds of objects that the sandbox cannot create. Their lists are empty, as in an account that has none. Clients that
 * copy a whole account read all of these lists.
 */
const emptyKinds: readonly EmptyKind[] = [
  { name: 'credit_notes', noun: 'credit note', filters: { customer: text(), invoice: text() } },
  {
    name: 'entitlements/features',
    noun: 'feature',
    filters: { archived: bool, lookup_key: text() },
  },
  {
    name: 'entitlements/active_entitlements',
    noun: 'active entitlement',
    filters: { customer: required(text()) },
  },
  { name: 'payment_links', noun: 'payment link', filters: { active: bool } },
  {
    name: 'payouts',
    noun: 'payout',
    filters: { arrival_date: range, destination: text(), status: text() },
  },
  { name: 'quotes', noun: 'quote', filters: { customer: text(), status: text(), test_clock: text() } },
  {
    name: 'radar/early_fraud_warnings',
    noun: 'early fraud warning',
    filters: { charge: text(), payment_intent: text() },
  },
  { name: 'reviews', noun: 'review' },
  { name: 'transfers', noun: 'transfer', filters: { destination: text(), transfer_group: text() } },
];

/** The lists below a customer. */
const ofCustomers = ['balance_transactions', 'sources'] as const;

const nothing = new Collection<WireObject>({ name: 'nothing', noun: 'object', idPrefix: '' });

export const emptyListOperations: readonly Operation[] = [
  ...emptyKinds.flatMap(({ name, noun, filters = {} }) => {
    const collection = new Collection<WireObject>({ name, noun, idPrefix: '' });
    const kind = new Resource(name, () => collection);
    // A path with a namespace has no route for a single object. The response is a 404 too.
    return name.includes('/') ? [kind.list(filters)] : [kind.list(filters), kind.retrieve()];
  }),
  ...ofCustomers.map((list) =>
    operation(
      { name: `customers.list_${list}`, method: 'GET', path: `customers/*/${list}` },
      { ...pageParams, ...(list === 'sources' ? { object: text() } : {}) },
      ({ store, id }, params) => {
        existingCustomer(store, id, 'id');
        return listPage(`/v1/customers/${id}/${list}`, nothing, params, {});
      },
    ),
  ),
];
