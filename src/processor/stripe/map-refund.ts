import { refundReasons, refundStatuses } from '../../payments/refund.ts';
import type { AsOf, RefundFacts } from '../processor-facts.ts';
import { WireObject } from './wire-object.ts';

export function mapRefund(value: unknown, asOf: AsOf): RefundFacts {
  const refund = WireObject.parse(value, 'refund').expectKind('refund');
  const reason = refund.textOrNull('reason');
  return {
    processorRefundId: refund.text('id'),
    localId: refund.localId(),
    processorPaymentIntentId: refund.referenceOrNull('payment_intent'),
    amount: refund.amount('amount', 1),
    currency: refund.currency('currency'),
    status: refund.oneOf('status', refundStatuses),
    // The processor has reasons of its own (an expired authorisation) that no caller of Till can give.
    reason: refundReasons.find((known) => known === reason) ?? null,
    createdAt: refund.moment('created'),
    asOf,
  };
}
