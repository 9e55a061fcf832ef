import type { PaymentService } from '../../payments/payment-service.ts';
import { defineFamily } from './event-family.ts';

/** payment_intent.created, processing, requires_action, amount_capturable_updated, succeeded, payment_failed, canceled */
export function paymentEvents(payments: PaymentService) {
  return defineFamily({
    pick: (event) => (event.resource === 'payment' ? [event.payment] : undefined),
    keyOf: ({ processorPaymentIntentId }) => processorPaymentIntentId,
    apply: (tx, facts) => payments.apply(tx, facts, 'events'),
    ask: (key) => payments.ask(key),
  });
}
