import type { AsOf } from '../../../mirrors/facts.ts';
import type { PaymentFacts } from '../../../payments/payment.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';

/** Maps the processor's payment intent statuses to Till's. */
const statuses = {
  requires_payment_method: 'requires_payment_method',
  requires_confirmation: 'requires_confirmation',
  requires_action: 'requires_action',
  // The spec has no status for an authorised payment that is not captured yet: there is still something to do.
  requires_capture: 'requires_action',
  processing: 'processing',
  succeeded: 'succeeded',
  canceled: 'canceled',
} as const satisfies Record<string, PaymentFacts['status']>;

export function mapPayment(value: unknown, asOf: AsOf): PaymentFacts {
  const intent = WireObject.parse(value, 'payment_intent').expectKind('payment_intent');
  const status = intent.translate('status', statuses);
  return {
    processorPaymentIntentId: intent.text('id'),
    localId: intent.localId(),
    processorCustomerId: intent.referenceOrNull('customer'),
    amount: intent.amount('amount'),
    amountReceived: amountReceivedOf(intent, status),
    currency: intent.currency('currency'),
    status,
    createdAt: intent.createdAt(asOf.earliest),
    asOf,
  };
}

/** Before a payment succeeds nothing is received, so the amount is required only then. */
function amountReceivedOf(intent: WireObject, status: PaymentFacts['status']): number {
  if (status === 'succeeded') return intent.amount('amount_received');
  return ifReadable(() => intent.amount('amount_received')) ?? 0;
}

/** Statuses in which a frontend still has something to confirm. */
const confirmable: readonly string[] = [
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
];

/** Null once nothing is left to confirm, although the processor keeps showing the secret. */
export function clientSecretOfPayment(value: unknown): string | null {
  const intent = WireObject.parse(value, 'payment_intent');
  return confirmable.includes(intent.text('status')) ? intent.optionalText('client_secret') : null;
}
