import type { Store } from '../state/store.ts';
import type { Customer } from '../wire/objects.ts';
import { missing } from '../wire/wire-error.ts';

/** The customer that a parameter names. A deleted customer counts as missing. */
export function existingCustomer(store: Store, id: string, param = 'customer'): Customer {
  const customer = store.customers.get(id);
  if (customer === undefined || customer.deleted) throw missing('customer', id, param);
  return customer;
}
