import { customerView } from '../../customers/customer-view.ts';
import { invoiceView } from '../../invoices/invoice-view.ts';
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
import type { Queryable } from '../../platform/postgres.ts';
import { subscriptionView } from '../../subscriptions/subscription-view.ts';
import {
  invoiceEventType,
  paymentEventType,
  planEventType,
  refundEventType,
  subscriptionBeginning,
  subscriptionEventType,
} from './event-type.ts';
import { type ObjectKind, objectKind } from './object-kind.ts';
import { belongingFields, personalFields } from './personal-data.ts';

interface RowFinder<Row> {
  find(db: Queryable, ids: readonly string[]): Promise<readonly Row[]>;
}

interface KindParts {
  readonly customers: RowFinder<Customer>;
  readonly plans: RowFinder<Plan>;
  readonly payments: RowFinder<Payment>;
  readonly refunds: RowFinder<Refund>;
  readonly subscriptions: RowFinder<Subscription>;
  readonly invoices: RowFinder<Invoice>;
  /** Whether a subscription entitles its customer now. */
  readonly judge: (terms: EntitlementTerms) => Entitlement;
}

/** Every kind of object whose changes are events. */
export function objectKinds(parts: KindParts): readonly ObjectKind[] {
  return [
    customerKind(parts),
    planKind(parts),
    paymentKind(parts),
    refundKind(parts),
    subscriptionKind(parts),
    invoiceKind(parts),
  ];
}

function customerKind({ customers }: KindParts): ObjectKind {
  return objectKind({
    type: 'customer',
    table: 'customers',
    find: (db, ids) => customers.find(db, ids),
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
}

function planKind({ plans }: KindParts): ObjectKind {
  return objectKind({
    type: 'plan',
    table: 'plans',
    find: (db, ids) => plans.find(db, ids),
    show: (row: Plan) => ({
      id: row.id,
      customerId: null,
      view: planView(row),
      ids: [row.id, row.processorPriceId, row.processorProductId],
    }),
    typeOf: planEventType,
  });
}

function paymentKind({ payments }: KindParts): ObjectKind {
  return objectKind({
    type: 'payment',
    table: 'payments',
    find: (db, ids) => payments.find(db, ids),
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
}

/** A refund that the processor has not confirmed yet is a reservation, which the API does not show. */
function refundKind({ refunds }: KindParts): ObjectKind {
  return objectKind({
    type: 'refund',
    table: 'refunds',
    find: (db, ids) => refunds.find(db, ids),
    show: (row: Refund) => ({
      id: row.id,
      customerId: row.customerId,
      view: refundView(row),
      isVisible: row.processorRefundId !== null,
      ids: withoutNulls(row.id, row.processorRefundId),
    }),
    typeOf: refundEventType,
  });
}

function subscriptionKind({ subscriptions, judge }: KindParts): ObjectKind {
  return objectKind({
    type: 'subscription',
    table: 'subscriptions',
    find: (db, ids) => subscriptions.find(db, ids),
    show: (row: Subscription) => {
      const { entitled, reason, until } = judge(row);
      return {
        id: row.id,
        customerId: row.customerId,
        view: subscriptionView(row, entitled),
        erased: row.metadata === null ? belongingFields : [],
        changesAt: reason === 'grace' ? until : null,
        ids: [row.id, row.processorSubscriptionId, row.customerId],
      };
    },
    typeOf: subscriptionEventType,
    afterCreation: subscriptionBeginning,
  });
}

function invoiceKind({ invoices }: KindParts): ObjectKind {
  return objectKind({
    type: 'invoice',
    table: 'invoices',
    find: (db, ids) => invoices.find(db, ids),
    show: (row: Invoice) => ({
      id: row.id,
      customerId: row.customerId,
      view: invoiceView(row),
      ids: withoutNulls(row.id, row.processorInvoiceId, row.processorSubscriptionId, row.processorCustomerId),
    }),
    typeOf: invoiceEventType,
  });
}

function withoutNulls(...ids: readonly (string | null)[]): readonly string[] {
  return ids.filter((id) => id !== null);
}
