import type { EventReading, EventRule } from '#engine/sync/event-rule.ts';
import type { PaymentMirror } from './payment-mirror.ts';

/** Payments, charges, disputes and refunds share the rows of payments. */
const subjects = ['payment', 'charge', 'dispute', 'refund'] as const;

export function paymentRule(payments: PaymentMirror, countFailedPayment: () => void): EventRule {
  return {
    sharedRows: {
      subjects,
      lock: async (tx, about) => {
        const keys = subjects
          .flatMap((subject) => about(subject))
          .flatMap(({ processorPaymentIntentId }) => processorPaymentIntentId ?? []);
        await payments.lock(tx, [...new Set(keys)]);
      },
    },
    missedBefore: { subject: 'payment', targetOf: (key) => ({ subject: 'refundedPayment', key }) },
    counterOf: (reading) => (isFailedPayment(reading) ? countFailedPayment : undefined),
  };
}

/** Whether the event reports a failed attempt to pay a payment with a Till id, which was created through the API. */
function isFailedPayment({ event, subject, facts }: EventReading): boolean {
  return (
    event.type === 'payment_intent.payment_failed' &&
    subject === 'payment' &&
    facts.some(({ localId }) => localId !== null)
  );
}
