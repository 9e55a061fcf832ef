import { CheckoutMirror } from '../checkouts/checkout-mirror.ts';
import { CheckoutStore } from '../checkouts/checkout-store.ts';
import { CustomerMirror } from '../customers/customer-mirror.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { CustomerStore } from '../customers/customer-store.ts';
import { ExternalIdStore } from '../customers/external-id-store.ts';
import { LostCustomers } from '../customers/lost-customers.ts';
import type { Mirrors } from '../features/mirrors.ts';
import { adoptingProcessor } from '../import/adopting-processor.ts';
import { Import } from '../import/import.ts';
import { ImportStore } from '../import/import-store.ts';
import { InvoiceMirror } from '../invoices/invoice-mirror.ts';
import { InvoiceStore } from '../invoices/invoice-store.ts';
import type { MirrorParts } from '../mirrors/mirror.ts';
import { DisputeMirror } from '../payments/dispute-mirror.ts';
import { InvoicePaymentMirror } from '../payments/invoice-payment-mirror.ts';
import { PaymentMirror } from '../payments/payment-mirror.ts';
import { PaymentStore } from '../payments/payment-store.ts';
import { RefundMirror } from '../payments/refund-mirror.ts';
import { RefundStore } from '../payments/refund-store.ts';
import { SubscriptionCharges } from '../payments/subscription-charges.ts';
import { PlanMirror } from '../plans/plan-mirror.ts';
import type { PlanService } from '../plans/plan-service.ts';
import { PlanStore } from '../plans/plan-store.ts';
import type { OwnerLock } from '../platform/owner-lock.ts';
import type { PlatformParts } from '../platform/parts.ts';
import type { EntitlementService } from '../subscriptions/entitlements/entitlement-service.ts';
import { GroupReservationStore } from '../subscriptions/group-reservation-store.ts';
import { SubscriptionMirror } from '../subscriptions/subscription-mirror.ts';
import { SubscriptionStore } from '../subscriptions/subscription-store.ts';
import { Job } from '../sync/job.ts';
import type { Inbox } from '../webhooks/inbox.ts';

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
