import type { AsOf } from '../../../mirrors/facts.ts';
import type { PaymentFacts } from '../../../payments/payment.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';

/** The processor's statuses of a payment intent, and what Till calls them. */
const statuses = {
  requires_payment_method: 'requires_payment_method',
  requires_confirmation: 'requires_confirmation',
  requires_action: 'requires_action',
  // The spec has no word for money that is held and not yet taken: something is left to do.
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

/** Nothing has arrived before a payment succeeds, so only then must the response say how much. */
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
