import type { Metrics } from '#core/platform/metrics.ts';
import { erasedMetadata } from '#engine/events/outbox/personal-data.ts';
import type { Feature } from '#engine/feature.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import type { ResyncScope, UnlistedObjects } from '#engine/sync/compared-list.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { InvoiceMirror } from '../invoices/invoice-mirror.ts';
import { registerCaptureRoutes } from './capture-routes.ts';
import type { DisputeMirror } from './dispute-mirror.ts';
import type { InvoicePaymentMirror } from './invoice-payment-mirror.ts';
import { adoptingPayments, chargeStage, paymentStage } from './payment-import.ts';
import { paymentEvents, paymentKind } from './payment-kind.ts';
import type { PaymentMirror } from './payment-mirror.ts';
import { countedPayments, paymentTotals } from './payment-overview.ts';
import { registerPaymentRoutes } from './payment-routes.ts';
import { paymentRule } from './payment-rule.ts';
import { paymentSources, refundSources } from './payment-search.ts';
import type { PaymentService } from './payment-service.ts';
import { ownedPayments, type PaymentStore, paymentList } from './payment-store.ts';
import { registerPaymentUpdateRoutes } from './payment-update-routes.ts';
import { adoptingRefunds, disputeStage, refundStage } from './refund-import.ts';
import { refundEvents, refundKind } from './refund-kind.ts';
import type { RefundMirror } from './refund-mirror.ts';
import { countedRefunds, refundTotals } from './refund-overview.ts';
import { registerRefundRoutes } from './refund-routes.ts';
import type { RefundService } from './refund-service.ts';
import type { RefundStore } from './refund-store.ts';

interface Context {
  readonly stores: { readonly payments: PaymentStore; readonly refunds: RefundStore };
  readonly processor: Processor;
  readonly mirrors: {
    readonly payments: PaymentMirror;
    readonly invoicePayments: InvoicePaymentMirror;
    readonly disputes: DisputeMirror;
    readonly refunds: RefundMirror;
    readonly invoices: InvoiceMirror;
  };
  readonly metrics: Pick<Metrics, 'paymentsFailed'>;
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
  events: [paymentEvents, refundEvents],
  kinds: () => [paymentKind, refundKind],
  subjects: ({ mirrors: { payments, invoicePayments, disputes, refunds } }) => ({
    payment: payments,
    charge: payments.ofCharges,
    invoicePayment: invoicePayments,
    dispute: disputes,
    unlinkedDispute: disputes.unlinked,
    refund: refunds,
    refundedPayment: refunds.ofPayments,
  }),
  owned: [ownedPayments],
  erased: { payment: erasedMetadata },
  rules: ({ mirrors, metrics }) => [paymentRule(mirrors.payments, () => metrics.paymentsFailed.inc())],
  search: {
    payment: ({ stores }) => paymentSources(stores.payments),
    refund: ({ stores }) => refundSources(stores.refunds),
  },
  lists: {
    payment: {
      // Some of the payments were charged by subscriptions.
      after: ['invoice'],
      open: ({ processor, mirrors }) => mirroredList(mirrors.payments, processor.payments),
      count: async ({ payments }, customerId) =>
        (await payments.list({ limit: 1, filters: { customerId, source: 'all' } })).total,
      isOfCustomer: true,
      unlisted: refundsAndDisputes,
    },
    refund: {
      after: ['payment'],
      open: ({ processor, mirrors }) => mirroredList(mirrors.refunds, processor.refunds),
      count: ({ refunds }) => refunds.count(),
    },
    dispute: {
      after: ['payment'],
      open: ({ processor, mirrors }) => mirroredList(mirrors.disputes, processor.disputes),
      count: ({ mirrors }) => mirrors.disputes.count(),
    },
  },
  imports: {
    charge: { after: ['invoice'], open: chargeStage },
    payment: {
      after: ['charge'],
      open: (context, { chargesKnownUntil }) => paymentStage(context, chargesKnownUntil),
    },
    refund: { after: ['payment'], open: refundStage },
    dispute: { after: ['payment'], open: disputeStage },
  },
  adopting: (processor) => ({ ...adoptingPayments(processor), ...adoptingRefunds(processor) }),
  staleMirrors: ({ mirrors }) => [mirrors.payments],
  counted: ({ stores }) => [countedPayments(stores.payments), countedRefunds(stores.refunds)],
  totals: { ...paymentTotals, ...refundTotals },
  countedLists: [paymentList],
};

/** The processor does not list the refunds and disputes of one customer. */
async function* refundsAndDisputes(
  { payments, mirrors }: Context,
  { customerId }: ResyncScope,
): AsyncIterable<UnlistedObjects> {
  let cursor: string | undefined;
  if (customerId === undefined) return;
  do {
    const page = await payments.list({ cursor, limit: 100, filters: { customerId, source: 'all' } });
    yield { mirror: mirrors.refunds.ofPayments, keys: page.data.map((row) => mirrors.payments.keyOf(row)) };
    const disputed = page.data.filter(({ dispute }) => dispute !== null);
    yield { mirror: mirrors.disputes, keys: disputed.map((row) => mirrors.payments.keyOf(row)) };
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
