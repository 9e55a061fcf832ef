import type { Payment } from '#core/model/payment.ts';

export type PaymentView = ReturnType<typeof paymentView>;

/** A payment as the API shows it. */
export function paymentView(payment: Payment) {
  return {
    id: payment.id,
    processorPaymentIntentId: payment.processorPaymentIntentId,
    customerId: payment.customerId,
    amount: payment.amount,
    currency: payment.currency,
    status: payment.status,
    amountReceived: payment.amountReceived,
    amountRefunded: payment.amountRefunded,
    amountCapturable: payment.amountCapturable,
    captureBefore: payment.amountCapturable > 0 ? (payment.captureBefore?.toISOString() ?? null) : null,
    description: payment.description,
    metadata: payment.metadata ?? {},
    failure: payment.failure,
    paymentMethod: payment.paymentMethod,
    invoiceId: payment.invoiceId,
    subscriptionId: payment.subscriptionId,
    checkoutId: payment.checkoutId,
    dispute: disputeView(payment),
    createdAt: payment.createdAt.toISOString(),
    updatedAt: payment.updatedAt.toISOString(),
  };
}

/** The view has no currency of its own for the dispute, so an amount in another currency is not shown. */
function disputeView({ dispute, currency }: Payment) {
  if (dispute === null) return null;
  const { status, reason, evidenceDueBy } = dispute;
  return { status, amount: dispute.currency === currency ? dispute.amount : null, reason, evidenceDueBy };
}
