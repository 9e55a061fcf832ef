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
