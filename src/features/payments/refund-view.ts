import type { Refund } from '#core/model/refund.ts';

export type RefundView = ReturnType<typeof refundView>;

/** A refund as the API shows it. */
export function refundView(refund: Refund) {
  return {
    id: refund.id,
    processorRefundId: refund.processorRefundId ?? '',
    paymentId: refund.paymentId,
    amount: refund.amount,
    currency: refund.currency,
    status: refund.status,
    reason: refund.reason,
    kind: refund.kind,
    createdAt: refund.createdAt.toISOString(),
    updatedAt: refund.updatedAt.toISOString(),
  };
}
