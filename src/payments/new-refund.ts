import { rowTime } from '../mirrors/facts.ts';
import { derivedId, idTime, isOurId } from '../platform/id.ts';
import type { Refund, RefundFacts } from './refund.ts';

/** The row of a refund, from what the processor says about it, wherever it was made. */
export function toRefund(facts: RefundFacts, paymentId: string, now: Date): Refund {
  const { localId, processorRefundId, createdAt } = facts;
  return {
    id: isOurId(localId) ? localId : derivedId('refund', processorRefundId, createdAt),
    processorRefundId,
    paymentId,
    amount: facts.amount,
    currency: facts.currency,
    status: facts.status === 'unknown' ? 'pending' : facts.status,
    reason: facts.reason,
    ...rowTime(facts.asOf),
    createdAt: isOurId(localId) ? idTime(localId) : createdAt,
    updatedAt: now,
    revision: 0,
  };
}

/** The processor's ids by our ids, for rows that may not carry the processor's id yet. */
export function reservedIds(
  groups: ReadonlyMap<string, readonly [RefundFacts, ...RefundFacts[]]>,
): ReadonlyMap<string, string> {
  const entries = [...groups.values()].flatMap(([{ localId, processorRefundId }]) =>
    isOurId(localId) ? [[localId, processorRefundId] as const] : [],
  );
  return new Map(entries);
}
