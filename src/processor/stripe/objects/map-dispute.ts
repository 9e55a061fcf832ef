import type { DisputeFacts, UnlinkedDisputeFacts } from '#core/model/dispute.ts';
import type { AsOf } from '#core/model/facts.ts';
import { WireObject } from '../wire/wire-object.ts';
import { customerOfPayment } from './map-payment.ts';

/**
 * A dispute in an event or a response. Unlinked if it does not name its payment intent: the disputed charge has none,
 * or an older API version shows only the charge.
 */
export function mapDispute(value: unknown, asOf: AsOf): DisputeFacts | UnlinkedDisputeFacts {
  const dispute = WireObject.parse(value, 'dispute').expectKind('dispute');
  const processorDisputeId = dispute.id();
  const processorPaymentIntentId = paymentIntentOf(dispute);
  if (processorPaymentIntentId === null) return { processorDisputeId };
  return {
    processorDisputeId,
    processorPaymentIntentId,
    ...customerOfPayment(dispute),
    status: dispute.shortText('status'),
    amount: dispute.amount('amount'),
    currency: dispute.currency('currency'),
    reason: dispute.optional('shortText', 'reason'),
    evidenceDueBy: dispute.optional('object', 'evidence_details')?.optional('moment', 'due_by') ?? null,
    // Required, because it decides which dispute of a payment is the newest.
    createdAt: dispute.moment('created'),
    asOf,
  };
}

export function isLinked(facts: DisputeFacts | UnlinkedDisputeFacts): facts is DisputeFacts {
  return 'processorPaymentIntentId' in facts;
}

/** Both references may be null, an id, or the object itself, which names the payment intent. */
function paymentIntentOf(dispute: WireObject): string | null {
  const shown = dispute.optional('reference', 'payment_intent');
  return shown ?? dispute.optional('object', 'charge')?.optional('reference', 'payment_intent') ?? null;
}
