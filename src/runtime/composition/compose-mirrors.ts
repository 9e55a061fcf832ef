import type { OwnerLock } from '#core/platform/owner-lock.ts';
import type { PlatformParts } from '#core/platform/parts.ts';
import type { MirrorParts } from '#engine/mirrors/mirror.ts';
import { Job } from '#engine/sync/job.ts';
import type { Inbox } from '#engine/webhooks/inbox.ts';
import { CheckoutMirror } from '#features/checkouts/checkout-mirror.ts';
import { CheckoutStore } from '#features/checkouts/checkout-store.ts';
import { CustomerMirror } from '#features/customers/customer-mirror.ts';
import type { CustomerService } from '#features/customers/customer-service.ts';
import { CustomerStore } from '#features/customers/customer-store.ts';
import { ExternalIdStore } from '#features/customers/external-id-store.ts';
import { LostCustomers } from '#features/customers/lost-customers.ts';
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
import type { PlanService } from '#features/plans/plan-service.ts';
import { PlanStore } from '#features/plans/plan-store.ts';
import type { EntitlementService } from '#features/subscriptions/entitlements/entitlement-service.ts';
import { GroupReservationStore } from '#features/subscriptions/group-reservation-store.ts';
import { SubscriptionMirror } from '#features/subscriptions/subscription-mirror.ts';
import { SubscriptionStore } from '#features/subscriptions/subscription-store.ts';
import { adoptingProcessor } from '#operators/import/adopting-processor.ts';
import { Import } from '#operators/import/import.ts';
import { ImportStore } from '#operators/import/import-store.ts';

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

type ComposedParts = MirrorParts & Pick<PlatformParts, 'logger' | 'metrics'>;

/** The mirrors of one processor. Several sets of mirrors can work on the same rows. */
export function composeMirrors(parts: ComposedParts, stores: Stores) {
  const customers = new CustomerMirror({
    ...parts,
    store: stores.customers,
    externalIds: stores.externalIds,
    onRecovered: (tx, recovered) => invoices.attach(tx, recovered),
    eraseOwned: async (tx, customerIds) => {
      await stores.payments.eraseOwned(tx, customerIds);
      await stores.subscriptions.eraseOwned(tx, customerIds);
      await stores.checkouts.eraseOwned(tx, customerIds);
    },
  });
  const lostCustomers = new LostCustomers({ ...parts, mirror: customers });
  const plans = new PlanMirror({ ...parts, store: stores.plans });
  const shared = { ...parts, customers, lostCustomers, plans };
  const subscriptions = new SubscriptionMirror({ ...shared, store: stores.subscriptions });
  const invoices = new InvoiceMirror({ ...shared, store: stores.invoices });
  const subscriptionCharges = new SubscriptionCharges({ ...shared, subscriptions, invoices });
  const payments = new PaymentMirror({
    ...shared,
    subscriptionCharges,
    store: stores.payments,
    onCheckoutsPaid: (tx, checkoutIds) => checkouts.markPaid(tx, checkoutIds),
  });
  const refunds = new RefundMirror({
    ...shared,
    store: stores.refunds,
    payments,
    paymentStore: stores.payments,
  });
  const ofPayments = { ...parts, payments, paymentStore: stores.payments };
  const invoicePayments = new InvoicePaymentMirror({ ...ofPayments, subscriptionCharges });
  const disputes = new DisputeMirror(ofPayments);
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

/** An import works on the same rows, through mirrors that adopt every object. */
export function composeImport(
  parts: ComposedParts & { readonly ownerLock: OwnerLock },
  stores: Stores,
  services: {
    readonly customers: CustomerService;
    readonly plans: PlanService;
    readonly entitlements: EntitlementService;
    readonly inbox: Inbox;
  },
): Import {
  const processor = adoptingProcessor(parts.processor);
  const { mirrors } = composeMirrors({ ...parts, processor }, stores);
  const job = new Job('import', parts);
  const { customers, plans, entitlements, inbox } = services;
  const used = { customers, plans, entitlements, inbox, store: new ImportStore() };
  return new Import({ ...parts, ...used, job, processor, mirrors });
}
