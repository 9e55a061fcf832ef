import type { Checkout } from '#core/model/checkout.ts';
import type { DescribedEvent, EventType } from '#engine/events/event.ts';
import { objectKind } from '#engine/events/outbox/object-kind.ts';
import { belongingFields } from '#engine/events/outbox/personal-data.ts';
import { type CheckoutView, checkoutView } from './checkout-view.ts';

export const checkoutKind = objectKind({
  type: 'checkout',
  table: 'checkouts',
  show: (row: Checkout) => ({
    id: row.id,
    customerId: row.customerId,
    view: checkoutView(row),
    erased: row.metadata === null ? belongingFields : [],
    ids: [row.id, row.processorCheckoutSessionId],
  }),
  typeOf: checkoutEventType,
  afterCreation: checkoutBeginning,
});

function checkoutEventType(before: CheckoutView, after: CheckoutView): EventType {
  if (before.status === after.status) return 'checkout.updated';
  return after.status === 'completed' ? 'checkout.completed' : 'checkout.expired';
}

/** The event that follows the creation of a checkout that was completed before Till recorded it. */
function checkoutBeginning({ status }: CheckoutView): DescribedEvent | undefined {
  return status === 'completed' ? { type: 'checkout.completed', previous: { status: 'open' } } : undefined;
}
