import type { AsOf, CustomerFacts } from '../processor-facts.ts';
import { WireObject } from './wire-object.ts';

export function mapCustomer(value: unknown, asOf: AsOf): CustomerFacts {
  const customer = WireObject.parse(value, 'customer').expectKind('customer');
  return {
    processorCustomerId: customer.text('id'),
    localId: customer.localId(),
    email: customer.freeTextOrNull('email'),
    name: optionalFreeText(customer, 'name'),
    phone: optionalFreeText(customer, 'phone'),
    deleted: customer.isDeleted(),
    createdAt: customer.moment('created'),
    asOf,
  };
}

/** The processor's own type has these two as fields that may be left out. */
function optionalFreeText(customer: WireObject, field: string): string | null {
  return customer.has(field) ? customer.freeTextOrNull(field) : null;
}
