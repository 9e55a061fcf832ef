import type { PaymentService } from '../../payments/payment-service.ts';
import type { RefundService } from '../../payments/refund-service.ts';
import type { EventFacts } from '../../processor/event-facts.ts';
import { defineFamily } from './event-family.ts';

/** payment_intent.created, processing, requires_action, amount_capturable_updated, succeeded, payment_failed, canceled */
export function paymentEvents(payments: PaymentService, refunds: RefundService) {
  return defineFamily({
    pick: (event) => (event.resource === 'payment' ? [event.payment] : undefined),
    keyOf: ({ processorPaymentIntentId }) => processorPaymentIntentId,
    lock: async (tx, batch) => {
      const refunded = batch.flatMap(refundedIn);
      // Without any, `apply` locks the payments all at once itself.
      if (refunded.length > 0) await payments.lock(tx, [...refunded, ...batch.flatMap(paymentsIn)]);
    },
    apply: async (tx, facts) => {
      const { late, ...applied } = await payments.apply(tx, facts, 'events');
      return { ...applied, unsettled: [...applied.unsettled, ...late] };
    },
    refresh: async (key) => {
      const payment = await payments.refresh(key);
      if (payment.unsettled.length > 0 || payment.ignored.length > 0) return payment;
      const own = await refunds.refreshOfPayment(key);
      return { ...own, changed: [...payment.changed, ...own.changed] };
    },
  });
}

function paymentsIn(event: EventFacts): readonly string[] {
  return event.resource === 'payment' ? [event.payment.processorPaymentIntentId] : [];
}

/** Refunds lock the payment that they belong to. */
function refundedIn(event: EventFacts): readonly string[] {
  if (event.resource === 'refund') return namedIn([event.refund]);
  return event.resource === 'charge' && event.refunds !== 'unread' ? namedIn(event.refunds) : [];
}

function namedIn(
  refunds: readonly { readonly processorPaymentIntentId: string | null }[],
): readonly string[] {
  return refunds.flatMap(({ processorPaymentIntentId }) => processorPaymentIntentId ?? []);
}
