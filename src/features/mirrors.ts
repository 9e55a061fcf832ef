import type { MirrorsBySubject } from '#engine/sync/mirrors-by-subject.ts';
import type { CheckoutMirror } from './checkouts/checkout-mirror.ts';
import type { CustomerMirror } from './customers/customer-mirror.ts';
import type { InvoiceMirror } from './invoices/invoice-mirror.ts';
import type { DisputeMirror } from './payments/dispute-mirror.ts';
import type { InvoicePaymentMirror } from './payments/invoice-payment-mirror.ts';
import type { PaymentMirror } from './payments/payment-mirror.ts';
import type { RefundMirror } from './payments/refund-mirror.ts';
import type { PlanMirror } from './plans/plan-mirror.ts';
import type { SubscriptionMirror } from './subscriptions/subscription-mirror.ts';

export interface Mirrors {
  readonly customers: CustomerMirror;
  readonly plans: PlanMirror;
  readonly payments: PaymentMirror;
  readonly invoicePayments: InvoicePaymentMirror;
  readonly disputes: DisputeMirror;
  readonly refunds: RefundMirror;
  readonly subscriptions: SubscriptionMirror;
  readonly invoices: InvoiceMirror;
  readonly checkouts: CheckoutMirror;
}

/** In the order in which every transaction locks the tables. */
export function mirrorsBySubject(mirrors: Mirrors): MirrorsBySubject {
  return {
    customer: mirrors.customers,
    product: mirrors.plans.products,
    price: mirrors.plans.prices,
    payment: mirrors.payments,
    charge: mirrors.payments.ofCharges,
    invoicePayment: mirrors.invoicePayments,
    dispute: mirrors.disputes,
    unlinkedDispute: mirrors.disputes.unlinked,
    refund: mirrors.refunds,
    refundedPayment: mirrors.refunds.ofPayments,
    subscription: mirrors.subscriptions,
    changedSubscription: mirrors.subscriptions.changed,
    expiredChange: mirrors.subscriptions.ofExpiredChanges,
    voidedInvoice: mirrors.subscriptions.ofVoidedInvoices,
    detachedMethod: mirrors.subscriptions.ofDetachedMethods,
    invoice: mirrors.invoices,
    checkout: mirrors.checkouts,
  };
}
