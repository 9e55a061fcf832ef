import { eraseOwned } from '#engine/mirrors/erased-store.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { CheckoutMirror } from '#features/checkouts/checkout-mirror.ts';
import { CheckoutStore } from '#features/checkouts/checkout-store.ts';
import { CustomerMirror } from '#features/customers/customer-mirror.ts';
import { CustomerStore } from '#features/customers/customer-store.ts';
import { ExternalIdStore } from '#features/customers/external-id-store.ts';
import { LostCustomers } from '#features/customers/lost-customers.ts';
import { ownedRows } from '#features/features.ts';
import { InvoiceMirror } from '#features/invoices/invoice-mirror.ts';
import { InvoiceStore } from '#features/invoices/invoice-store.ts';
import type { Mirrors } from '#features/mirrors.ts';
import { DisputeMirror } from '#features/payments/dispute-mirror.ts';
import { InvoicePaymentMirror } from '#features/payments/invoice-payment-mirror.ts';
import { PaymentMirror } from '#features/payments/payment-mirror.ts';
import { PaymentStore } from '#features/payments/payment-store.ts';
import { RefundMirror } from '#features/payments/refund-mirror.ts';
import { RefundStore } from '#features/payments/refund-store.ts';
import { SubscriptionCharges } from '#features/payments/subscription-charges.ts';
import { PlanMirror } from '#features/plans/plan-mirror.ts';
import { PlanStore } from '#features/plans/plan-store.ts';
import { SubscriptionMirror } from '#features/subscriptions/subscription-mirror.ts';
import { GroupReservationStore, SubscriptionStore } from '#features/subscriptions/subscription-store.ts';

export type Stores = ReturnType<typeof composeStores>;

export function composeStores() {
  return {
    customers: new CustomerStore(),
    externalIds: new ExternalIdStore(),
    plans: new PlanStore(),
    payments: new PaymentStore(),
    refunds: new RefundStore(),
    subscriptions: new SubscriptionStore(),
    groups: new GroupReservationStore(),
    invoices: new InvoiceStore(),
    checkouts: new CheckoutStore(),
  };
}

/** The mirrors of one processor. Several sets of mirrors can work on the same rows. */
export function composeMirrors(context: MirrorContext, stores: Stores) {
  const customers = new CustomerMirror(
    context,
    (tx, recovered) => invoices.attach(tx, recovered),
    (tx, customerIds) => eraseOwned(tx, ownedRows, customerIds),
  );
  const lostCustomers = new LostCustomers(context, customers);
  const plans = new PlanMirror(context);
  const shared = { ...context, customers, lostCustomers, plans };
  const subscriptions = new SubscriptionMirror(context, customers, lostCustomers, plans);
  const invoices = new InvoiceMirror(context, customers, lostCustomers);
  const subscriptionCharges = new SubscriptionCharges(context, invoices, subscriptions);
  const payments = new PaymentMirror({
    ...shared,
    subscriptionCharges,
    store: stores.payments,
    onCheckoutsPaid: (tx, checkoutIds) => checkouts.markPaid(tx, checkoutIds),
  });
  const refunds = new RefundMirror(context, payments);
  const invoicePayments = new InvoicePaymentMirror(context, payments, subscriptionCharges);
  const disputes = new DisputeMirror(context, payments);
  const checkouts = new CheckoutMirror({
    ...shared,
    ...{ subscriptions, invoices, payments },
    store: stores.checkouts,
    grouping: {
      groups: stores.groups,
      store: stores.subscriptions,
      plans: { findAll: (tx, ids) => stores.plans.find(tx, ids) },
    },
  });
  const mirrors: Mirrors = {
    ...{ customers, plans, payments, invoicePayments, disputes, refunds, subscriptions, invoices, checkouts },
  };
  return { mirrors, lostCustomers };
}
