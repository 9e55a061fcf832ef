import type { Operation } from '../wire/operation.ts';
import { accountOperations } from './account.ts';
import { balanceTransactionOperations } from './balance-transactions.ts';
import { chargeOperations } from './charges.ts';
import { customerOperations } from './customers.ts';
import { disputeOperations } from './disputes.ts';
import { eventOperations } from './events.ts';
import { invoicePaymentOperations } from './invoice-payments.ts';
import { invoiceOperations } from './invoices.ts';
import { paymentIntentOperations } from './payment-intents.ts';
import { paymentMethodOperations } from './payment-methods.ts';
import { priceOperations } from './prices.ts';
import { productOperations } from './products.ts';
import { refundOperations } from './refunds.ts';
import { setupIntentOperations } from './setup-intents.ts';
import { subscriptionOperations } from './subscriptions.ts';
import { testClockOperations } from './test-clocks.ts';
import { webhookEndpointOperations } from './webhook-endpoints.ts';

/** All operations of the wire API. */
export const operations: readonly Operation[] = [
  ...accountOperations,
  ...balanceTransactionOperations,
  ...chargeOperations,
  ...customerOperations,
  ...disputeOperations,
  ...eventOperations,
  ...invoiceOperations,
  ...invoicePaymentOperations,
  ...paymentIntentOperations,
  ...paymentMethodOperations,
  ...priceOperations,
  ...productOperations,
  ...refundOperations,
  ...setupIntentOperations,
  ...subscriptionOperations,
  ...testClockOperations,
  ...webhookEndpointOperations,
];
