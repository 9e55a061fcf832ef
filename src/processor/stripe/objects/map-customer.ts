import type { CustomerFacts } from '#core/model/customer.ts';
import type { AsOf } from '#core/model/facts.ts';
import { externalIdOf, metadataOf } from '../wire/wire-metadata.ts';
import { WireObject } from '../wire/wire-object.ts';

export function mapCustomer(value: unknown, asOf: AsOf): CustomerFacts {
  const customer = WireObject.parse(value, 'customer').expectKind('customer');
  return {
    processorCustomerId: customer.text('id'),
    localId: customer.localId(),
    email: customer.optionalFreeText('email'),
    name: customer.optionalFreeText('name'),
    phone: customer.optionalFreeText('phone'),
    externalId: externalIdOf(customer),
    metadata: metadataOf(customer),
    deleted: customer.isDeleted(),
    createdAt: customer.createdAt(asOf.earliest),
    asOf,
  };
}
