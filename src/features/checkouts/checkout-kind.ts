import type { Checkout } from '#core/model/checkout.ts';
import type { DescribedEvent } from '#engine/events/event.ts';
import { objectKind } from '#engine/events/outbox/object-kind.ts';
import { erasedMetadata } from '#engine/events/outbox/personal-data.ts';
import { type CheckoutView, checkoutView } from './checkout-fields.ts';

export const checkoutEvents = {
  objectType: 'checkout',
  shownBy: 'GET /checkouts/{id}',
  meanings: {
    'checkout.created':
      'A checkout was created. If it is completed already when Till records it, `checkout.completed` follows.',
    'checkout.updated':
      'A checkout changed in another way, such as its amount by a code, or its payment arrived later.',
    'checkout.completed':
      'A buyer completed a checkout. `data` names the subscription, the payment or the card that results.',
    'checkout.expired': 'A checkout expired, by a request or because its time was over.',
  },
} as const;

type CheckoutEventType = keyof typeof checkoutEvents.meanings;

export const checkoutKind = objectKind({
  events: checkoutEvents,
  table: 'checkouts',
  show: (row: Checkout) => ({
    id: row.id,
    customerId: row.customerId,
    view: checkoutView(row),
    erased: row.metadata === null ? Object.keys(erasedMetadata) : [],
    ids: [row.id, row.processorCheckoutSessionId],
  }),
  typeOf: checkoutEventType,
  afterCreation: checkoutBeginning,
});

function checkoutEventType(before: CheckoutView, after: CheckoutView): CheckoutEventType {
  if (before.status === after.status) return 'checkout.updated';
  return after.status === 'completed' ? 'checkout.completed' : 'checkout.expired';
}

/** The event that follows the creation of a checkout that was completed before Till recorded it. */
function checkoutBeginning({ status }: CheckoutView): DescribedEvent<CheckoutEventType> | undefined {
  return status === 'completed' ? { type: 'checkout.completed', previous: { status: 'open' } } : undefined;
}
