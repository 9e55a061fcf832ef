import type { EventType } from './event.ts';

/** When each type of event happens. docs/reference/events.md is generated from this list. */
export const eventMeanings: Readonly<Record<EventType, string>> = {
  'customer.created': 'A customer was created, or Till recovered one that was lost.',
  'customer.updated': 'A value of a customer changed, in Till or at the processor.',
  'customer.deleted': 'A customer was deleted. `data` has no personal data any more.',
  'plan.created': 'A plan was created.',
  'plan.updated':
    'The name, the features, the group or the metadata of a plan changed, or it is active again.',
  'plan.archived': 'A plan was archived, in Till or at the processor.',
  'payment.created':
    'A payment was created, by a request or by the renewal of a subscription. It may be paid already.',
  'payment.updated': 'A payment changed in another way, such as its metadata, or it waits for the customer.',
  'payment.succeeded': 'A payment was paid.',
  'payment.failed': 'An attempt to pay failed. `data.failure` says why.',
  'payment.canceled': 'A payment was canceled, or its authorisation expired.',
  'payment.refunded': 'A payment was refunded, in full or in part.',
  'payment.disputed': 'The cardholder disputes a payment. `data.dispute` shows it.',
  'refund.created':
    'A refund was created, in Till or at the processor. A release of an amount that was not captured has no event.',
  'refund.updated': 'The status or another value of a refund changed.',
  'refund.failed': 'A refund failed. The amount counts as paid again.',
  'subscription.created':
    'A subscription was created. If it entitles its customer already, `subscription.entitled` follows.',
  'subscription.updated':
    'A subscription changed in another way, such as its plan, its period or a planned change.',
  'subscription.entitled':
    'A subscription starts to entitle its customer. This also follows the creation of one that entitles from the start.',
  'subscription.unentitled':
    'A subscription no longer entitles its customer, for example because its grace period ended.',
  'subscription.canceled': 'A subscription ended.',
  'invoice.created': 'An invoice was created. It may be paid already.',
  'invoice.updated': 'An invoice changed in another way, such as becoming open, void or uncollectible.',
  'invoice.paid': 'An invoice was paid.',
  'invoice.payment_failed': 'An attempt to collect an invoice failed, and it is still unpaid.',
  'checkout.created':
    'A checkout was created. If it is completed already when Till records it, `checkout.completed` follows.',
  'checkout.updated':
    'A checkout changed in another way, such as its amount by a code, or its payment arrived later.',
  'checkout.completed':
    'A buyer completed a checkout. `data` names the subscription, the payment or the card that results.',
  'checkout.expired': 'A checkout expired, by a request or because its time was over.',
  'usage.limit_reached':
    'The customer has used up the limit of a meter. Once for each window. `data` is `{ meter, used, limit, periodStart, periodEnd }`, and not the meter.',
};
