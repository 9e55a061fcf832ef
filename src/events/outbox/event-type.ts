import type { InvoiceView } from '../../invoices/invoice-view.ts';
import type { PaymentView } from '../../payments/payment-view.ts';
import type { RefundView } from '../../payments/refund-view.ts';
import type { PlanView } from '../../plans/plan-view.ts';
import type { SubscriptionView } from '../../subscriptions/subscription-view.ts';
import type { DescribedEvent, EventType } from '../event.ts';

/**
 * A change has one event. If several types fit, it is the one that comes first in its function. The one exception is a
 * subscription that begins entitled.
 */

export function planEventType(before: PlanView, after: PlanView): EventType {
  return before.active && !after.active ? 'plan.archived' : 'plan.updated';
}

/** A refund counts whether it is partial or not. The status of the payment says which. */
export function paymentEventType(before: PaymentView, after: PaymentView): EventType {
  const becomes = (status: PaymentView['status']) => before.status !== status && after.status === status;
  if (before.dispute === null && after.dispute !== null) return 'payment.disputed';
  if (after.amountRefunded > before.amountRefunded) return 'payment.refunded';
  if (becomes('canceled')) return 'payment.canceled';
  // A refund that failed makes a refunded payment a successful one again.
  if (becomes('succeeded') && before.status !== 'refunded') return 'payment.succeeded';
  if (after.failure !== null && (!isSameFailure(before, after) || isTryOver(before, after)))
    return 'payment.failed';
  return 'payment.updated';
}

/** A try was in progress, and another payment method is needed: it has failed, also if for the same reason as before. */
function isTryOver(before: PaymentView, after: PaymentView): boolean {
  const wasTried = before.status === 'requires_action' || before.status === 'processing';
  return wasTried && after.status === 'requires_payment_method';
}

function isSameFailure({ failure: before }: PaymentView, { failure: after }: PaymentView): boolean {
  return (
    before?.code === after?.code &&
    before?.declineCode === after?.declineCode &&
    before?.message === after?.message
  );
}

export function refundEventType(before: RefundView, after: RefundView): EventType {
  return before.status !== 'failed' && after.status === 'failed' ? 'refund.failed' : 'refund.updated';
}

/** A subscription that is canceled entitles to nothing, so `canceled` comes before `unentitled`. */
export function subscriptionEventType(before: SubscriptionView, after: SubscriptionView): EventType {
  if (before.status !== 'canceled' && after.status === 'canceled') return 'subscription.canceled';
  if (!before.entitled && after.entitled) return 'subscription.entitled';
  if (before.entitled && !after.entitled) return 'subscription.unentitled';
  return 'subscription.updated';
}

/**
 * What follows the creation of a subscription that entitles its customer from the beginning: a trial, a saved card, an
 * import. So an application that provisions on `subscription.entitled` gets it for every subscription.
 */
export function subscriptionBeginning({ entitled }: SubscriptionView): DescribedEvent | undefined {
  return entitled ? { type: 'subscription.entitled', previous: { entitled: false } } : undefined;
}

/** The processor counts its attempts to collect an invoice. One more on an invoice that is still not paid has failed. */
export function invoiceEventType(before: InvoiceView, after: InvoiceView): EventType {
  if (before.status !== 'paid' && after.status === 'paid') return 'invoice.paid';
  const isTriedAgain = after.attemptCount > before.attemptCount;
  const isUnpaid = after.status === 'open' || after.status === 'uncollectible';
  return isTriedAgain && isUnpaid ? 'invoice.payment_failed' : 'invoice.updated';
}
