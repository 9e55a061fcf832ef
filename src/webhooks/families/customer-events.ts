import type { CustomerService } from '../../customers/customer-service.ts';
import { defineFamily } from './event-family.ts';

/** customer.created, updated, deleted */
export function customerEvents(customers: CustomerService) {
  return defineFamily({
    pick: (event) => (event.resource === 'customer' ? [event.customer] : undefined),
    keyOf: ({ processorCustomerId }) => processorCustomerId,
    apply: (tx, facts) => customers.apply(tx, facts, 'events'),
    refresh: (key) => customers.refresh(key),
  });
}
