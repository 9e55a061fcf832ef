import type { CustomerFacts } from '../processor-facts.ts';
import { WireObject } from './wire-object.ts';

export function mapCustomer(value: unknown, eventTime?: Date): CustomerFacts {
  const customer = WireObject.parse(value, 'customer').expectKind('customer');
  const createdAt = customer.createdAt(eventTime);
  return {
    processorCustomerId: customer.text('id'),
    localId: customer.localId(),
    email: customer.optionalFreeText('email'),
    name: customer.optionalFreeText('name'),
    phone: customer.optionalFreeText('phone'),
    deleted: customer.isDeleted(),
    createdAt,
    asOf: eventTime ?? createdAt,
  };
}
