import type { Operation } from '../wire/operation.ts';
import { accountOperations } from './account.ts';
import { checkoutSessionOperations } from './checkout-sessions.ts';
import { confirmationTokenOperations } from './confirmation-tokens.ts';
import { couponOperations } from './coupons.ts';
import { customerOperations } from './customers.ts';
import { disputeOperations } from './disputes.ts';
import { emptyListOperations } from './empty-lists.ts';
import { eventOperations } from './events.ts';
import { invoiceItemOperations } from './invoice-items.ts';
import { invoiceOperations } from './invoices.ts';
import { meterOperations } from './meters.ts';
import { paymentIntentOperations } from './payment-intents.ts';
import { paymentMethodOperations } from './payment-methods.ts';
import { portalConfigurationOperations } from './portal-configurations.ts';
import { portalSessionOperations } from './portal-sessions.ts';
import { priceOperations } from './prices.ts';
import { productOperations } from './products.ts';
import { promotionCodeOperations } from './promotion-codes.ts';
import { readOnlyOperations } from './read-only.ts';
import { refundOperations } from './refunds.ts';
import { setupIntentOperations } from './setup-intents.ts';
import { subscriptionItemOperations } from './subscription-items.ts';
import { subscriptionScheduleOperations } from './subscription-schedules.ts';
import { subscriptionOperations } from './subscriptions.ts';
import { taxIdOperations } from './tax-ids.ts';
import { taxRateOperations } from './tax-rates.ts';
import { testClockOperations } from './test-clocks.ts';
import { tokenOperations } from './tokens.ts';
import { webhookEndpointOperations } from './webhook-endpoints.ts';

/** All operations of the wire API. */
export const operations: readonly Operation[] = [
  ...accountOperations,
  ...checkoutSessionOperations,
  ...confirmationTokenOperations,
  ...couponOperations,
  ...customerOperations,
  ...disputeOperations,
  ...emptyListOperations,
  ...eventOperations,
  ...invoiceItemOperations,
  ...invoiceOperations,
  ...meterOperations,
  ...paymentIntentOperations,
  ...paymentMethodOperations,
  ...portalConfigurationOperations,
  ...portalSessionOperations,
  ...priceOperations,
  ...productOperations,
  ...promotionCodeOperations,
  ...readOnlyOperations,
  ...refundOperations,
  ...setupIntentOperations,
  ...subscriptionItemOperations,
  ...subscriptionOperations,
  ...subscriptionScheduleOperations,
  ...taxIdOperations,
  ...taxRateOperations,
  ...testClockOperations,
  ...tokenOperations,
  ...webhookEndpointOperations,
];
