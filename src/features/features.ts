import { checkoutFeature } from './checkouts/checkout-feature.ts';
import { customerFeature } from './customers/customer-feature.ts';
import { invoiceFeature } from './invoices/invoice-feature.ts';
import { paymentMethodFeature } from './payment-methods/payment-method-feature.ts';
import { paymentFeature } from './payments/payment-feature.ts';
import { planFeature } from './plans/plan-feature.ts';
import { portalFeature } from './portal/portal-feature.ts';
import { subscriptionFeature } from './subscriptions/subscription-feature.ts';
import { usageFeature } from './usage/usage-feature.ts';

/** In the order in which people see them. */
export const features = [
  customerFeature,
  paymentMethodFeature,
  portalFeature,
  planFeature,
  paymentFeature,
  subscriptionFeature,
  usageFeature,
  invoiceFeature,
  checkoutFeature,
] as const;
