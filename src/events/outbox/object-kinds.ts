import { checkoutView } from '../../checkouts/checkout-view.ts';
import { customerView } from '../../customers/customer-view.ts';
import { invoiceView } from '../../invoices/invoice-view.ts';
import type { Checkout } from '../../model/checkout.ts';
import type { Customer } from '../../model/customer.ts';
import type { Entitlement, EntitlementTerms } from '../../model/entitlement.ts';
import type { Invoice } from '../../model/invoice.ts';
import type { Payment } from '../../model/payment.ts';
import type { Plan } from '../../model/plan.ts';
import type { Refund } from '../../model/refund.ts';
import type { Subscription } from '../../model/subscription.ts';
import { paymentView } from '../../payments/payment-view.ts';
import { refundView } from '../../payments/refund-view.ts';
import { planView } from '../../plans/plan-view.ts';
import { subscriptionView } from '../../subscriptions/subscription-view.ts';
import {
  checkoutBeginning,
  checkoutEventType,
  invoiceEventType,
  paymentEventType,
  planEventType,
  refundEventType,
  subscriptionBeginning,
  subscriptionEventType,
} from './event-type.ts';
import { type ObjectKind, objectKind } from './object-kind.ts';
import { belongingFields, personalFields, subscriptionFields } from './personal-data.ts';

/** Whether a subscription entitles its customer now. */
type Judge = (terms: EntitlementTerms) => Entitlement;

/** Every kind of object whose changes are events. */
export function objectKinds(judge: Judge): readonly ObjectKind[] {
  return [
    customerKind,
    planKind,
    paymentKind,
    refundKind,
    subscriptionKind(judge),
    invoiceKind,
    checkoutKind,
  ];
}

const customerKind = objectKind({
  type: 'customer',
  table: 'customers',
  show: (row: Customer) => ({
    id: row.id,
    customerId: row.id,
    view: customerView(row),
    isVisible: row.deletedAt === null,
    erased: row.deletedAt === null ? [] : personalFields,
    ids: [row.id, row.processorCustomerId],
  }),
  typeOf: (_before, _after, isVisible) => (isVisible ? 'customer.updated' : 'customer.deleted'),
});

const planKind = objectKind({
  type: 'plan',
  table: 'plans',
  show: (row: Plan) => ({
    id: row.id,
    customerId: null,
    view: planView(row),
    ids: [row.id, row.processorPriceId, row.processorProductId],
  }),
  typeOf: planEventType,
});

const paymentKind = objectKind({
  type: 'payment',
  table: 'payments',
  show: (row: Payment) => ({
    id: row.id,
    customerId: row.customerId,
    view: paymentView(row),
    erased: row.metadata === null ? belongingFields : [],
    ids: withoutNulls(
      row.id,
      row.processorPaymentIntentId,
      row.processorInvoiceId,
      row.processorSubscriptionId,
      row.customerId,
    ),
  }),
  typeOf: paymentEventType,
});

/** A reservation is not a refund yet, and what a release gives back was never received. */
const refundKind = objectKind({
  type: 'refund',
  table: 'refunds',
  show: (row: Refund) => ({
    id: row.id,
    customerId: row.customerId,
    view: refundView(row),
    isVisible: row.processorRefundId !== null && row.kind === 'refund',
    ids: withoutNulls(row.id, row.processorRefundId),
  }),
  typeOf: refundEventType,
});

function subscriptionKind(judge: Judge): ObjectKind {
  return objectKind({
    type: 'subscription',
    table: 'subscriptions',
    show: (row: Subscription, before) => {
      const { entitled, reason, until } = judge(row);
      const wasEntitled = mayBeInGrace(row) ? before?.isInGrace : undefined;
      return {
        id: row.id,
        customerId: row.customerId,
        view: subscriptionView(row, wasEntitled ?? entitled),
        erased: row.metadata === null ? subscriptionFields : [],
        graceEndsAt: reason === 'grace' ? until : null,
        ids: [row.id, row.processorSubscriptionId, row.customerId],
      };
    },
    mayBeInGrace,
    typeOf: subscriptionEventType,
    afterCreation: subscriptionBeginning,
  });
}

const invoiceKind = objectKind({
  type: 'invoice',
  table: 'invoices',
  show: (row: Invoice) => ({
    id: row.id,
    customerId: row.customerId,
    view: invoiceView(row),
    ids: withoutNulls(row.id, row.processorInvoiceId, row.processorSubscriptionId, row.processorCustomerId),
  }),
  typeOf: invoiceEventType,
});

const checkoutKind = objectKind({
  type: 'checkout',
  table: 'checkouts',
  show: (row: Checkout) => ({
    id: row.id,
    customerId: row.customerId,
    view: checkoutView(row),
    erased: row.metadata === null ? belongingFields : [],
    ids: [row.id, row.processorCheckoutSessionId],
  }),
  typeOf: checkoutEventType,
  afterCreation: checkoutBeginning,
});

function mayBeInGrace({ status }: Subscription): boolean {
  return status === 'past_due';
}

function withoutNulls(...ids: readonly (string | null)[]): readonly string[] {
  return ids.filter((id) => id !== null);
}
