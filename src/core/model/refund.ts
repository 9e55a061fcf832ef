import {
  asOfRow,
  type DatedRow,
  judge,
  laterOf,
  type Origin,
  type OwnFacts,
  type Rule,
  rowTime,
  ruleFor,
  type Taken,
} from './facts.ts';
import { isOpen, type Payment } from './payment.ts';

export const refundStatuses = ['pending', 'requires_action', 'succeeded', 'failed', 'canceled'] as const;

type RefundStatus = (typeof refundStatuses)[number];

/** The reasons that a caller can give for a refund. */
export const refundReasons = ['duplicate', 'fraudulent', 'requested_by_customer'] as const;

export type RefundReason = (typeof refundReasons)[number];

/**
 * `release`: an amount that was authorised and not captured. The processor may record it as a refund, although no one
 * received the money. It counts nowhere.
 */
export const refundKinds = ['refund', 'release'] as const;

export type RefundKind = (typeof refundKinds)[number];

/** The values of the list's parameter `kind`. */
export const listedKinds = [...refundKinds, 'all'] as const;

export interface Refund extends DatedRow {
  /** Null for a reservation, which the processor has not confirmed yet. */
  readonly processorRefundId: string | null;
  readonly paymentId: string;
  /** The customer of the payment. */
  readonly customerId: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: RefundStatus;
  readonly reason: RefundReason | null;
  readonly kind: RefundKind;
}

export interface RefundFacts extends OwnFacts {
  readonly processorRefundId: string;
  /** Null if the refunded charge has no payment intent. Then it belongs to no Till payment. */
  readonly processorPaymentIntentId: string | null;
  /** The customer of the payment. Only lists show it. */
  readonly processorCustomerId?: string | null;
  readonly amount: number;
  readonly currency: string;
  /** `unknown`, in responses only, if the status is null or new to Till. The refund still counts. */
  readonly status: RefundStatus | 'unknown';
  /** Null without a reason, or with one that only the processor can give. */
  readonly reason: RefundReason | null;
}

/** The evidence for the kind of a refund that has no row yet. */
interface KindEvidence {
  readonly payment: Pick<Payment, 'intentStatus' | 'amount' | 'amountReceived'>;
  /** Whether it was requested through Till. */
  readonly isOwn: boolean;
  /**
   * All refunds of the payment that Till did not request, newest first. The row of the payment is newer than this list.
   */
  readonly foreign?: readonly RefundFacts[] | undefined;
}

/**
 * The kind of a refund. No field of a refund shows it, but the end of its payment does: what is refunded of a canceled
 * payment was never captured, and a partial capture releases the rest with one refund, which comes before any other.
 * Undefined if that depends on the other refunds, and `foreign` is missing.
 */
export function kindOf(
  facts: RefundFacts,
  { payment, isOwn, foreign }: KindEvidence,
): RefundKind | undefined {
  if (isOwn) return 'refund';
  if (payment.intentStatus === 'canceled') return 'release';
  const uncaptured = payment.amount - payment.amountReceived;
  // No caller gives a reason for a release.
  const mayBeRest = ({ amount, reason }: RefundFacts) => amount === uncaptured && reason === null;
  if (!isOpen(payment) && !mayBeRest(facts)) return 'refund';
  if (foreign === undefined) return undefined;
  // A payment that is still open has released nothing.
  const rest = isOpen(payment) ? undefined : foreign.findLast(mayBeRest);
  return rest?.processorRefundId === facts.processorRefundId ? 'release' : 'refund';
}

/** A payment that was refunded. Its refunds have to be read from the processor. */
export interface RefundedPaymentFacts {
  readonly processorPaymentIntentId: string;
}

/** `succeeded` is not final: a bank may return the money. */
const finalStatuses: readonly RefundStatus[] = ['failed', 'canceled'];

function ruleOf(refund: Refund, to: RefundStatus): Rule {
  if (isReservation(refund)) return 'always';
  return finalStatuses.includes(refund.status) ? 'never' : ruleFor(refund.status, to, finalStatuses);
}

function isReservation({ processorRefundId }: Refund): boolean {
  return processorRefundId === null;
}

/** Decides whether the facts change the row, and returns the row with the facts applied. */
export function takeRefundFacts(
  refund: Refund,
  facts: RefundFacts,
  origin: Origin,
  now: Date,
): Taken<Refund> {
  // The row keeps its status if Till does not know the new one. The status of a reservation is pending.
  const isUnknown = facts.status === 'unknown';
  const status = facts.status === 'unknown' ? refund.status : facts.status;
  const isSame =
    refund.processorRefundId === facts.processorRefundId &&
    refund.status === status &&
    refund.amount === facts.amount;
  const verdict = judge({
    rule: ruleOf(refund, status),
    origin,
    isSame,
    rowAsOf: asOfRow(refund),
    factsAsOf: facts.asOf,
  });
  const asOf = isReservation(refund) ? facts.asOf : laterOf(asOfRow(refund), facts.asOf);
  return {
    verdict,
    row: {
      ...refund,
      processorRefundId: facts.processorRefundId,
      status,
      amount: facts.amount,
      currency: facts.currency,
      // An unknown status does not advance the time, so that any known status wins over it.
      ...rowTime(isUnknown ? asOfRow(refund) : asOf),
      updatedAt: isSame ? refund.updatedAt : now,
    },
  };
}
