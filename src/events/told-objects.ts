import type { Customer } from '../customers/customer.ts';
import { customerView } from '../customers/customer-view.ts';
import type { Invoice } from '../invoices/invoice.ts';
import { invoiceView } from '../invoices/invoice-view.ts';
import type { Payment } from '../payments/payment.ts';
import { paymentView } from '../payments/payment-view.ts';
import type { Refund } from '../payments/refund.ts';
import { refundView } from '../payments/refund-view.ts';
import type { Plan } from '../plans/plan.ts';
import { planView } from '../plans/plan-view.ts';
import type { Queryable } from '../platform/postgres.ts';
import type { Entitlement, EntitlementTerms } from '../subscriptions/entitlement.ts';
import type { Subscription } from '../subscriptions/subscription.ts';
import { subscriptionView } from '../subscriptions/subscription-view.ts';
import {
  invoiceEventType,
  paymentEventType,
  planEventType,
  refundEventType,
  subscriptionEventType,
} from './most-telling-type.ts';
import { belongingFields, personalFields } from './personal-data.ts';
import { type ToldObject, told } from './told-object.ts';

interface Reader<Row> {
  find(db: Queryable, ids: readonly string[]): Promise<readonly Row[]>;
}

export interface ToldObjectParts {
  readonly customers: Reader<Customer>;
  readonly plans: Reader<Plan>;
  readonly payments: Reader<Payment>;
  readonly refunds: Reader<Refund>;
  readonly subscriptions: Reader<Subscription>;
  readonly invoices: Reader<Invoice>;
  /** Whether a subscription entitles its customer now. */
  readonly judge: (terms: EntitlementTerms) => Entitlement;
}

/** Every kind of object whose changes are told. */
export function toldObjects(parts: ToldObjectParts): readonly ToldObject[] {
  return [
    toldCustomers(parts),
    toldPlans(parts),
    toldPayments(parts),
    toldRefunds(parts),
    toldSubscriptions(parts),
    toldInvoices(parts),
  ];
}

function toldCustomers({ customers }: ToldObjectParts): ToldObject {
  return told({
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

function toldPlans({ plans }: ToldObjectParts): ToldObject {
  return told({
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

function toldPayments({ payments }: ToldObjectParts): ToldObject {
  return told({
    type: 'payment',
    table: 'payments',
    find: (db, ids) => payments.find(db, ids),
    show: (row: Payment) => ({
      id: row.id,
      customerId: row.customerId,
      view: paymentView(row),
      erased: row.metadata === null ? belongingFields : [],
      ids: present(
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
function toldRefunds({ refunds }: ToldObjectParts): ToldObject {
  return told({
    type: 'refund',
    table: 'refunds',
    find: (db, ids) => refunds.find(db, ids),
    show: (row: Refund) => ({
      id: row.id,
      customerId: row.customerId,
      view: refundView(row),
      isVisible: row.processorRefundId !== null,
      ids: present(row.id, row.processorRefundId),
    }),
    typeOf: refundEventType,
  });
}

function toldSubscriptions({ subscriptions, judge }: ToldObjectParts): ToldObject {
  return told({
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
  });
}

function toldInvoices({ invoices }: ToldObjectParts): ToldObject {
  return told({
    type: 'invoice',
    table: 'invoices',
    find: (db, ids) => invoices.find(db, ids),
    show: (row: Invoice) => ({
      id: row.id,
      customerId: row.customerId,
      view: invoiceView(row),
      ids: present(row.id, row.processorInvoiceId, row.processorSubscriptionId, row.processorCustomerId),
    }),
    typeOf: invoiceEventType,
  });
}

function present(...ids: readonly (string | null)[]): readonly string[] {
  return ids.filter((id) => id !== null);
}
