import type { AsOf } from '#core/model/facts.ts';
import { type RefundFacts, refundReasons, refundStatuses } from '#core/model/refund.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import { WireObject } from '../wire/wire-object.ts';
import { customerOfPayment } from './map-payment.ts';

/** A refund in an event. An unknown status makes the event fail, so that a later release can replay it. */
export function mapRefund(value: unknown, asOf: AsOf): RefundFacts {
  const refund = WireObject.parse(value, 'refund').expectKind('refund');
  return { ...factsOf(refund, asOf), status: refund.oneOf('status', refundStatuses) };
}

/**
 * A refund in a response. It exists, so it must be recorded even if its status is null or unknown to Till. `warn` gets
 * the reason why the status could not be read.
 */
export function mapRefundResponse(value: unknown, asOf: AsOf, warn: (reason: string) => void): RefundFacts {
  const refund = WireObject.parse(value, 'refund').expectKind('refund');
  const facts = factsOf(refund, asOf);
  try {
    return { ...facts, status: refund.oneOf('status', refundStatuses) };
  } catch (error) {
    if (!(error instanceof UnmappableError)) throw error;
    warn(error.message);
    return { ...facts, status: 'unknown' };
  }
}

function factsOf(refund: WireObject, asOf: AsOf): Omit<RefundFacts, 'status'> {
  const reason = refund.optionalText('reason');
  return {
    processorRefundId: refund.text('id'),
    localId: refund.localId(),
    processorPaymentIntentId: refund.referenceOrNull('payment_intent'),
    ...customerOfPayment(refund),
    amount: refund.amount('amount', 1),
    currency: refund.currency('currency'),
    // The processor has its own reasons (an expired authorisation) that no caller of Till can give.
    reason: refundReasons.find((known) => known === reason) ?? null,
    createdAt: refund.createdAt(asOf.earliest),
    asOf,
  };
}
