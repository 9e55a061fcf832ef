import type { Customer } from '#core/model/customer.ts';

/** A customer as the API shows it. */
export function customerView(customer: Customer) {
  return {
    id: customer.id,
    processorCustomerId: customer.processorCustomerId,
    email: customer.email ?? '',
    name: customer.name,
    phone: customer.phone,
    externalId: customer.externalId,
    metadata: customer.metadata,
    createdAt: customer.createdAt.toISOString(),
    updatedAt: customer.updatedAt.toISOString(),
  };
}
