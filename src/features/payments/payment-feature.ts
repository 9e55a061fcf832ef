import type { Feature } from '#engine/feature.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { registerCaptureRoutes } from './capture-routes.ts';
import { registerPaymentRoutes } from './payment-routes.ts';
import type { PaymentService } from './payment-service.ts';
import { registerPaymentUpdateRoutes } from './payment-update-routes.ts';
import { registerRefundRoutes } from './refund-routes.ts';
import type { RefundService } from './refund-service.ts';

interface Context {
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
};
