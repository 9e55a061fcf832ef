import type { DisputeFacts } from '#core/model/dispute.ts';
import type { Applied } from '#core/model/facts.ts';
import type { RefundFacts } from '#core/model/refund.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { noRevisions } from '#engine/mirrors/refresh.ts';
import { ifFound, mapItems, withLocalId } from '#engine/sync/adopted-facts.ts';
import { rowsOf, type Stage, stageOf } from '#engine/sync/import-stage.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { DisputeMirror } from './dispute-mirror.ts';
import type { PaymentMirror } from './payment-mirror.ts';
import type { RefundMirror } from './refund-mirror.ts';

interface ImportContext {
  readonly processor: Processor;
  readonly mirrors: {
    readonly payments: PaymentMirror;
    readonly refunds: RefundMirror;
    readonly disputes: DisputeMirror;
  };
}

export function refundStage({ processor, mirrors }: ImportContext): Stage<RefundFacts> {
  return {
    ...stageOf(
      mirroredList(mirrors.refunds, processor.refunds),
      rowsOf(mirrors.refunds, 'processorRefundId'),
    ),
    refuse: ({ processorPaymentIntentId, processorCustomerId }) => {
      if (processorPaymentIntentId === null) return 'It refunds a charge that belongs to no payment intent.';
      return processorCustomerId === null ? paymentWithoutCustomer : undefined;
    },
  };
}

/** A payment shows its newest dispute. */
export function disputeStage({ processor, mirrors }: ImportContext): Stage<DisputeFacts> {
  const findRows: Stage<DisputeFacts>['findRows'] = async (db, keys) => {
    const payments = await mirrors.payments.findByKeys(db, keys);
    const disputed = payments.filter(({ dispute }) => dispute !== null);
    return new Set(disputed.map(({ processorPaymentIntentId }) => processorPaymentIntentId));
  };
  return {
    ...stageOf(mirroredList(mirrors.disputes, processor.disputes), findRows),
    idOf: ({ processorDisputeId }) => processorDisputeId,
    refuse: ({ processorCustomerId }) => (processorCustomerId === null ? paymentWithoutCustomer : undefined),
    // The payment may be newer than the list of payments.
    apply: async (tx, facts) => refreshIgnored(await mirrors.disputes.apply(tx, facts, noRevisions)),
  };
}

export function adoptingRefunds({ refunds }: Processor): Pick<Processor, 'refunds'> {
  return {
    refunds: {
      ...refunds,
      read: async (id) => ifFound(await refunds.read(id), adoptRefund),
      list: (place) => mapItems(refunds.list(place), adoptRefund),
    },
  };
}

const paymentWithoutCustomer = 'Its payment has no customer.';

function refreshIgnored(applied: Applied): Applied {
  return { ...applied, unsettled: [...applied.unsettled, ...applied.ignored] };
}

function adoptRefund(facts: RefundFacts): RefundFacts {
  return withLocalId(facts, 'refund', facts.processorRefundId);
}
