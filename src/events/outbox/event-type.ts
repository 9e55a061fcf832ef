import type { CheckoutView } from '../../checkouts/checkout-view.ts';
import type { InvoiceView } from '../../invoices/invoice-view.ts';
import { isSameValue } from '../../model/transition.ts';
import type { PaymentView } from '../../payments/payment-view.ts';
import type { RefundView } from '../../payments/refund-view.ts';
import type { PlanView } from '../../plans/plan-view.ts';
import type { SubscriptionView } from '../../subscriptions/subscription-view.ts';
import type { DescribedEvent, EventType } from '../event.ts';

/**
 * A change has one event. If several types fit, the first one in the function below applies. The exceptions are a
 * subscription that is entitled, and a checkout that is completed, from its creation.
 */

export function planEventType(before: PlanView, after: PlanView): EventType {
  return before.active && !after.active ? 'plan.archived' : 'plan.updated';
}

/** A partial refund has the same type as a full one. The status of the payment distinguishes them. */
export function paymentEventType(before: PaymentView, after: PaymentView): EventType {
  const becomes = (status: PaymentView['status']) => before.status !== status && after.status === status;
  if (before.dispute === null && after.dispute !== null) return 'payment.disputed';
  if (after.amountRefunded > before.amountRefunded) return 'payment.refunded';
  if (becomes('canceled')) return 'payment.canceled';
  // A failed refund turns a refunded payment back into a successful one.
  if (becomes('succeeded') && before.status !== 'refunded') return 'payment.succeeded';
  const hasNewFailure = !isSameValue(before.failure, after.failure) || isTryOver(before, after);
  if (after.failure !== null && hasNewFailure) return 'payment.failed';
  return 'payment.updated';
}

/**
 * An attempt was in progress, and now another payment method is needed: it failed, even if for the same reason as
 * before.
 */
function isTryOver(before: PaymentView, after: PaymentView): boolean {
  const wasTried = before.status === 'requires_action' || before.status === 'processing';
  return wasTried && after.status === 'requires_payment_method';
}

export function refundEventType(before: RefundView, after: RefundView): EventType {
  return before.status !== 'failed' && after.status === 'failed' ? 'refund.failed' : 'refund.updated';
}

/** A canceled subscription does not entitle its customer, so `canceled` comes before `unentitled`. */
export function subscriptionEventType(before: SubscriptionView, after: SubscriptionView): EventType {
  if (before.status !== 'canceled' && after.status === 'canceled') return 'subscription.canceled';
  if (!before.entitled && after.entitled) return 'subscription.entitled';
  if (before.entitled && !after.entitled) return 'subscription.unentitled';
  return 'subscription.updated';
}

/**
 * The event that follows the creation of a subscription that is entitled from the start, for example by a trial, a
 * saved card or an import. So an application that provisions on `subscription.entitled` gets it for every subscription.
 */
export function subscriptionBeginning({ entitled }: SubscriptionView): DescribedEvent | undefined {
  return entitled ? { type: 'subscription.entitled', previous: { entitled: false } } : undefined;
}

/**
 * The processor counts its attempts to collect an invoice. If the count rises and the invoice is unpaid, one has
 * failed.
 */
export function invoiceEventType(before: InvoiceView, after: InvoiceView): EventType {
  if (before.status !== 'paid' && after.status === 'paid') return 'invoice.paid';
  const isTriedAgain = after.attemptCount > before.attemptCount;
  const isUnpaid = after.status === 'open' || after.status === 'uncollectible';
  return isTriedAgain && isUnpaid ? 'invoice.payment_failed' : 'invoice.updated';
}

export function checkoutEventType(before: CheckoutView, after: CheckoutView): EventType {
  if (before.status === after.status) return 'checkout.updated';
  return after.status === 'completed' ? 'checkout.completed' : 'checkout.expired';
}

/** The event that follows the creation of a checkout that was completed before Till recorded it. */
export function checkoutBeginning({ status }: CheckoutView): DescribedEvent | undefined {
  return status === 'completed' ? { type: 'checkout.completed', previous: { status: 'open' } } : undefined;
}
