import type { Customer } from '#core/model/customer.ts';
import { objectKind } from '#engine/events/outbox/object-kind.ts';
import { personalFields } from '#engine/events/outbox/personal-data.ts';
import { customerView } from './customer-view.ts';

export const customerKind = objectKind({
  type: 'customer',
  table: 'customers',
  show: (row: Customer) => ({
    id: row.id,
    customerId: row.id,
    view: customerView(row),
    isVisible: row.deletedAt === null,
    erased: row.deletedAt === null ? [] : personalFields,
    ids: [row.id, row.processorCustomerId],
  }),
  typeOf: (_before, _after, isVisible) => (isVisible ? 'customer.updated' : 'customer.deleted'),
});
