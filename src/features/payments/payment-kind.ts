import type { Payment } from '#core/model/payment.ts';
import { isSameValue } from '#core/model/transition.ts';
import type { EventType } from '#engine/events/event.ts';
import { idsOf, objectKind } from '#engine/events/outbox/object-kind.ts';
import { belongingFields } from '#engine/events/outbox/personal-data.ts';
import { type PaymentView, paymentView } from './payment-view.ts';

export const paymentKind = objectKind({
  type: 'payment',
  table: 'payments',
  show: (row: Payment) => ({
    id: row.id,
    customerId: row.customerId,
    view: paymentView(row),
    erased: row.metadata === null ? belongingFields : [],
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
export function paymentEventType(before: PaymentView, after: PaymentView): EventType {
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
