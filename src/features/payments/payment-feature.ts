import type { Metrics } from '#core/platform/metrics.ts';
import type { Feature } from '#engine/feature.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { registerCaptureRoutes } from './capture-routes.ts';
import type { DisputeMirror } from './dispute-mirror.ts';
import type { InvoicePaymentMirror } from './invoice-payment-mirror.ts';
import { paymentEvents, paymentKind } from './payment-kind.ts';
import type { PaymentMirror } from './payment-mirror.ts';
import { registerPaymentRoutes } from './payment-routes.ts';
import { paymentRule } from './payment-rule.ts';
import type { PaymentService } from './payment-service.ts';
import { registerPaymentUpdateRoutes } from './payment-update-routes.ts';
import { refundEvents, refundKind } from './refund-kind.ts';
import type { RefundMirror } from './refund-mirror.ts';
import { registerRefundRoutes } from './refund-routes.ts';
import type { RefundService } from './refund-service.ts';

interface Context {
  readonly mirrors: {
    readonly payments: PaymentMirror;
    readonly invoicePayments: InvoicePaymentMirror;
    readonly disputes: DisputeMirror;
    readonly refunds: RefundMirror;
  };
  readonly metrics: Pick<Metrics, 'paymentsFailed'>;
  readonly payments: PaymentService;
  readonly refunds: RefundService;
  readonly customers: CustomerService;
}

export const paymentFeature: Feature<Context> = {
  tags: [{ name: 'payments', description: 'One-time payments and their refunds.' }],
  routes: (app, { payments, refunds, customers }) => {
    registerPaymentRoutes(app, payments, customers);
    registerPaymentUpdateRoutes(app, payments);
    registerCaptureRoutes(app, payments);
    registerRefundRoutes(app, refunds, customers);
  },
  operations: ({ payments, refunds }) => [
    ...[payments.creation, payments.updating, payments.captures],
    refunds.creation,
  ],
  events: [paymentEvents, refundEvents],
  kinds: () => [paymentKind, refundKind],
  subjects: ({ mirrors: { payments, invoicePayments, disputes, refunds } }) => ({
    payment: payments,
    charge: payments.ofCharges,
    invoicePayment: invoicePayments,
    dispute: disputes,
    unlinkedDispute: disputes.unlinked,
    refund: refunds,
    refundedPayment: refunds.ofPayments,
  }),
  rules: ({ mirrors, metrics }) => [
    paymentRule({ payments: mirrors.payments, countFailedPayment: () => metrics.paymentsFailed.inc() }),
  ],
};
