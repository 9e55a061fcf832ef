import { asOfRow, laterOf, type OwnFacts, rowTime } from '../mirrors/facts.ts';
import { judge, type Origin, type TransitionTable, type Verdict } from '../mirrors/transition.ts';

export const refundStatuses = ['pending', 'requires_action', 'succeeded', 'failed', 'canceled'] as const;

export type RefundStatus = (typeof refundStatuses)[number];

/** Why money was given back, as a caller may say it. */
export const refundReasons = ['duplicate', 'fraudulent', 'requested_by_customer'] as const;

export type RefundReason = (typeof refundReasons)[number];

export interface Refund {
  readonly id: string;
  /** Null while it is reserved and the processor has not been heard of it yet. */
  readonly processorRefundId: string | null;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: RefundStatus;
  readonly reason: RefundReason | null;
  readonly processorAsOf: Date;
  readonly processorAsOfLatest: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Rises with every change of the row. */
  readonly revision: number;
}

export interface RefundFacts extends OwnFacts {
  readonly processorRefundId: string;
  /** Null for the refund of a charge that belongs to no payment intent, and so to no payment that Till made. */
  readonly processorPaymentIntentId: string | null;
  readonly amount: number;
  readonly currency: string;
  /** `unknown`, in a response only: null, or a word that Till does not know. The refund exists and counts all the same. */
  readonly status: RefundStatus | 'unknown';
  /** Null where none was given, or one that only the processor itself gives. */
  readonly reason: RefundReason | null;
}

/** A payment of which something was refunded. What it was has to be read from the processor. */
export interface RefundedPaymentFacts {
  readonly processorPaymentIntentId: string;
}

const open = {
  pending: 'if newer',
  requires_action: 'if newer',
  succeeded: 'if newer',
  failed: 'always',
  canceled: 'always',
} as const;

const final = {
  pending: 'never',
  requires_action: 'never',
  succeeded: 'never',
  failed: 'never',
  canceled: 'never',
} as const;

/** From what stands (rows) to what arrives (columns). Succeeded is not the end: a bank may send the money back. */
export const refundTransitions: TransitionTable<RefundStatus> = {
  pending: open,
  requires_action: open,
  succeeded: open,
  failed: final,
  canceled: final,
};

/** What a refund becomes when the processor says this of it. */
export function takeRefundFacts(
  refund: Refund,
  facts: RefundFacts,
  origin: Origin,
  now: Date,
): { readonly verdict: Verdict; readonly row: Refund } {
  // The row keeps its status if Till does not know the new one. For a reservation that is pending.
  const isUnknown = facts.status === 'unknown';
  const status = facts.status === 'unknown' ? refund.status : facts.status;
  const isSame =
    refund.processorRefundId === facts.processorRefundId &&
    refund.status === status &&
    refund.amount === facts.amount;
  // The first that is heard of a reservation always counts.
  const isFirst = refund.processorRefundId === null;
  const verdict = judge({
    rule: isFirst ? 'always' : refundTransitions[refund.status][status],
    origin,
    isSame,
    rowAsOf: asOfRow(refund),
    factsAsOf: facts.asOf,
  });
  const asOf = isFirst ? facts.asOf : laterOf(asOfRow(refund), facts.asOf);
  return {
    verdict,
    row: {
      ...refund,
      processorRefundId: facts.processorRefundId,
      status,
      amount: facts.amount,
      currency: facts.currency,
      // So that any status that Till knows wins over the one that it could not read.
      ...rowTime(isUnknown ? asOfRow(refund) : asOf),
      updatedAt: isSame ? refund.updatedAt : now,
    },
  };
}
