import type { Customer } from '#core/model/customer.ts';
import { objectKind } from '#engine/events/outbox/object-kind.ts';
import { customerView } from './customer-fields.ts';

export const customerEvents = {
  objectType: 'customer',
  shownBy: 'GET /customers/{id}',
  meanings: {
    'customer.created': 'A customer was created, or Till recovered one that was lost.',
    'customer.updated': 'A value of a customer changed, in Till or at the processor.',
    'customer.deleted': 'A customer was deleted. `data` has no personal data any more.',
  },
} as const;

/** What the API shows in place of the personal data of a customer. */
export const erasedCustomer = { email: '', name: null, phone: null, externalId: null, metadata: {} };

export const customerKind = objectKind({
  events: customerEvents,
  table: 'customers',
  show: (row: Customer) => ({
    id: row.id,
    customerId: row.id,
    view: customerView(row),
    isVisible: row.deletedAt === null,
    erased: row.deletedAt === null ? [] : Object.keys(erasedCustomer),
    ids: [row.id, row.processorCustomerId],
  }),
  typeOf: (_before, _after, isVisible) => (isVisible ? 'customer.updated' : 'customer.deleted'),
});
