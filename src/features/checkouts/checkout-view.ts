import type { Checkout } from '#core/model/checkout.ts';

export type CheckoutView = ReturnType<typeof checkoutView>;

/** A checkout as the API shows it. The URL of its page is not part of it. */
export function checkoutView(checkout: Checkout) {
  return {
    id: checkout.id,
    processorCheckoutSessionId: checkout.processorCheckoutSessionId,
    customerId: checkout.customerId,
    mode: checkout.mode,
    status: checkout.status,
    paymentStatus: checkout.paymentStatus,
    planId: checkout.planId,
    quantity: checkout.quantity,
    addOns: [...checkout.addOns],
    trialPeriodDays: checkout.trialPeriodDays,
    amount: checkout.amount,
    currency: checkout.currency,
    subscriptionId: checkout.subscriptionId,
    paymentId: checkout.paymentId,
    paymentMethodId: checkout.paymentMethodId,
    expiresAt: checkout.expiresAt.toISOString(),
    completedAt: checkout.completedAt?.toISOString() ?? null,
    metadata: checkout.metadata ?? {},
    createdAt: checkout.createdAt.toISOString(),
    updatedAt: checkout.updatedAt.toISOString(),
  };
}
