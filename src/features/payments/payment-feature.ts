import type { Payment } from '#core/model/payment.ts';
import type { Refund } from '#core/model/refund.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import { erasedMetadata } from '#engine/events/outbox/personal-data.ts';
import type { Feature } from '#engine/feature.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byAmounts, byIds, byKey, byLast4, type SearchSource } from '#engine/search/search-source.ts';
import type { ResyncScope, UnlistedObjects } from '#engine/sync/compared-list.ts';
import type { EventReading, EventRule } from '#engine/sync/event-rule.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { InvoiceMirror } from '../invoices/invoice-mirror.ts';
import type { DisputeMirror } from './dispute-mirror.ts';
import type { InvoicePaymentMirror } from './invoice-payment-mirror.ts';
import { adoptingPayments, chargeStage, paymentStage } from './payment-import.ts';
import { paymentEvents, paymentKind } from './payment-kind.ts';
import type { PaymentMirror } from './payment-mirror.ts';
import { countedPayments, paymentTotals } from './payment-overview.ts';
import { registerPaymentRoutes } from './payment-routes.ts';
import type { PaymentService } from './payment-service.ts';
import { ownedPayments, type PaymentStore, paymentList } from './payment-store.ts';
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

/** Payments, charges, disputes and refunds share the rows of payments. */
const subjects = ['payment', 'charge', 'dispute', 'refund'] as const;

function paymentRule(payments: PaymentMirror, countFailedPayment: () => void): EventRule {
  return {
    sharedRows: {
      subjects,
      lock: async (tx, about) => {
        const keys = subjects
          .flatMap((subject) => about(subject))
          .flatMap(({ processorPaymentIntentId }) => processorPaymentIntentId ?? []);
        await payments.lock(tx, [...new Set(keys)]);
      },
    },
    missedBefore: { subject: 'payment', targetOf: (key) => ({ subject: 'refundedPayment', key }) },
    counterOf: (reading) => (isFailedPayment(reading) ? countFailedPayment : undefined),
  };
}

/** Whether the event reports a failed attempt to pay a payment with a Till id, which was created through the API. */
function isFailedPayment({ event, subject, facts }: EventReading): boolean {
  return (
    event.type === 'payment_intent.payment_failed' &&
    subject === 'payment' &&
    facts.some(({ localId }) => localId !== null)
  );
}

function paymentSources(store: PaymentStore): readonly SearchSource[] {
  return [
    byIds(store, showPayment),
    byKey((...by) => store.findByChargeId(...by), showPayment),
    byLast4((...by) => store.findByLast4(...by), showPayment),
    byAmounts((...by) => store.findByAmounts(...by), showPayment),
  ];
}

function refundSources(store: RefundStore): readonly SearchSource[] {
  return [byIds(store, showRefund)];
}

function showPayment(row: Payment): Found {
  const { id, customerId, status, amount, currency, createdAt } = row;
  const label = row.processorPaymentIntentId;
  const shown = { objectType: 'payment', objectId: id, customerId, label };
  const personalLabel = row.description;
  return { ...nothing, ...shown, personalLabel, status, amount, currency, createdAt };
}

/** A refund that the processor has not confirmed yet is a reservation, which the API does not show. */
function showRefund(row: Refund): Found | undefined {
  const { id, customerId, paymentId, status, amount, currency, createdAt, processorRefundId } = row;
  if (processorRefundId === null) return undefined;
  const shown = {
    objectType: 'refund',
    objectId: id,
    customerId,
    paymentId,
    label: processorRefundId,
  };
  return { ...nothing, ...shown, status, amount, currency, createdAt };
}
