import { isSameValue } from '#core/model/facts.ts';
import type { Payment } from '#core/model/payment.ts';
import { idsOf, objectKind } from '#engine/events/outbox/object-kind.ts';
import { erasedMetadata } from '#engine/events/outbox/personal-data.ts';
import { type PaymentView, paymentView } from './payment-fields.ts';

export const paymentEvents = {
  objectType: 'payment',
  shownBy: 'GET /payments/{id}',
  meanings: {
    'payment.created':
      'A payment was created, by a request or by the renewal of a subscription. It may be paid already.',
    'payment.updated':
      'A payment changed in another way, such as its metadata, or it waits for the customer.',
    'payment.succeeded': 'A payment was paid.',
    'payment.failed': 'An attempt to pay failed. `data.failure` says why.',
    'payment.canceled': 'A payment was canceled, or its authorisation expired.',
    'payment.refunded': 'A payment was refunded, in full or in part.',
    'payment.disputed': 'The cardholder disputes a payment. `data.dispute` shows it.',
  },
} as const;

type PaymentEventType = keyof typeof paymentEvents.meanings;

export const paymentKind = objectKind({
  events: paymentEvents,
  table: 'payments',
  show: (row: Payment) => ({
    id: row.id,
    customerId: row.customerId,
    view: paymentView(row),
    erased: row.metadata === null ? Object.keys(erasedMetadata) : [],
    ids: idsOf(
      row.id,
      row.processorPaymentIntentId,
      row.processorInvoiceId,
      row.processorSubscriptionId,
      row.customerId,
    ),
  }),
  typeOf: paymentEventType,
});

/** A partial refund has the same type as a full one. The status of the payment distinguishes them. */
export function paymentEventType(before: PaymentView, after: PaymentView): PaymentEventType {
  const becomes = (status: PaymentView['status']) => before.status !== status && after.status === status;
  if (before.dispute === null && after.dispute !== null) return 'payment.disputed';
  if (after.amountRefunded > before.amountRefunded) return 'payment.refunded';
  if (becomes('canceled')) return 'payment.canceled';
  // A failed refund turns a refunded payment back into a successful one.
  if (becomes('succeeded') && before.status !== 'refunded') return 'payment.succeeded';
  const hasNewFailure = !isSameValue(before.failure, after.failure) || isTryOver(before, after);
  if (after.failure !== null && hasNewFailure) return 'payment.failed';
  return 'payment.updated';
}

/**
 * The attempt that was in progress has failed if another payment method is needed now, even if the reason is the same
 * as before.
 */
function isTryOver(before: PaymentView, after: PaymentView): boolean {
  const wasTried = before.status === 'requires_action' || before.status === 'processing';
  return wasTried && after.status === 'requires_payment_method';
}
