import type { CustomerFacts } from '../processor-facts.ts';
import { WireObject } from './wire-object.ts';

export function mapCustomer(value: unknown, eventTime?: Date): CustomerFacts {
  const customer = WireObject.parse(value, 'customer').expectKind('customer');
  const createdAt = customer.moment('created');
  return {
    processorCustomerId: customer.text('id'),
    localId: customer.localId(),
    email: customer.freeTextOrNull('email'),
    name: optionalFreeText(customer, 'name'),
    phone: optionalFreeText(customer, 'phone'),
    deleted: customer.isDeleted(),
    createdAt,
    asOf: eventTime ?? createdAt,
  };
}

/** The processor's own type has these two as fields that may be left out. */
function optionalFreeText(customer: WireObject, field: string): string | null {
  return customer.has(field) ? customer.freeTextOrNull(field) : null;
}
