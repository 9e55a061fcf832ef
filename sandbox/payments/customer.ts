import type { Collection } from '../state/collection.ts';
import type { Store } from '../state/store.ts';
import type { Customer, WireObject } from '../wire/objects.ts';
import { missing } from '../wire/wire-error.ts';

/** Changes the customer, if it still exists, and emits an event if anything differs. */
export function updateCustomer(
  store: Store,
  id: string | null,
  changes: Pick<Partial<Customer>, 'balance' | 'currency' | 'delinquent'>,
): void {
  const before = livingCustomer(store, id);
  if (before === null) return;
  const { balance, currency = before.currency, delinquent = before.delinquent } = changes;
  if (
    (balance ?? before.balance) === before.balance &&
    currency === before.currency &&
    delinquent === before.delinquent
  )
    return;
  store.update('customer.updated', store.customers, before, changes);
}

/** Null if there is no such customer, or if it is deleted. */
export function livingCustomer(store: Store, id: string | null | undefined): Customer | null {
  const customer = store.customers.get(id);
  return customer === undefined || customer.deleted ? null : customer;
}

/** The customer with the id in a parameter. A deleted customer counts as missing. */
export function existingCustomer(store: Store, id: string, param = 'customer'): Customer {
  const customer = livingCustomer(store, id);
  if (customer === null) throw missing('customer', id, param);
  return customer;
}

/** The object of the customer in the path, by the second id in the path. */
export function ofCustomer<T extends WireObject & { readonly customer: string | null }>(
  { store, id, childId = '' }: { readonly store: Store; readonly id: string; readonly childId?: string },
  collection: Collection<T>,
): T {
  existingCustomer(store, id, 'id');
  const child = collection.get(childId);
  if (child?.customer !== id) throw missing(collection.noun, childId, 'id');
  return child;
}
