import type { Subscription } from '#core/model/subscription.ts';
import type { Discount, PendingChange } from '#core/model/subscription-terms.ts';

export type SubscriptionView = ReturnType<typeof subscriptionView>;

/** A subscription as the API shows it. */
export function subscriptionView(subscription: Subscription, entitled: boolean) {
  const { discount, pendingChange } = subscription;
  return {
    id: subscription.id,
    processorSubscriptionId: subscription.processorSubscriptionId,
    customerId: subscription.customerId,
    planId: subscription.planId,
    quantity: subscription.quantity,
    addOns: [...subscription.addOns],
    otherItems: [...subscription.otherItems],
    status: subscription.status,
    entitled,
    currentPeriodStart: subscription.currentPeriodStart?.toISOString() ?? null,
    currentPeriodEnd: subscription.currentPeriodEnd?.toISOString() ?? null,
    trialEnd: subscription.trialEnd?.toISOString() ?? null,
    cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
    cancelAt: subscription.cancelAt?.toISOString() ?? null,
    canceledAt: subscription.canceledAt?.toISOString() ?? null,
    endedAt: subscription.endedAt?.toISOString() ?? null,
    cancellationReason: subscription.cancellationReason,
    latestInvoiceId: subscription.latestInvoiceId,
    defaultPaymentMethodId: subscription.defaultPaymentMethodId,
    discount: discount === null ? null : discountView(discount),
    pendingChange: pendingChange === null ? null : pendingChangeView(pendingChange),
    metadata: subscription.metadata ?? {},
    createdAt: subscription.createdAt.toISOString(),
    updatedAt: subscription.updatedAt.toISOString(),
  };
}

function discountView({ code, percentOff, amountOff, currency, endsAt }: Discount) {
  return { code, percentOff, amountOff, currency, endsAt };
}

function pendingChangeView({ planId, quantity, addOns = [], at }: PendingChange) {
  return { planId, quantity, addOns: [...addOns], at };
}
