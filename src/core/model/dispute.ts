import { isDeepStrictEqual } from 'node:util';
import { type AsOf, judge, laterOf, type Origin, type Taken } from './facts.ts';

/** What the processor says about a dispute. */
interface DisputeValues {
  /** An open set: `needs_response`, `won`, `lost`, `warning_needs_response` and others. */
  readonly status: string;
  readonly amount: number;
  /** It can differ from the currency of the payment. */
  readonly currency: string;
  readonly reason: string | null;
}

/** A dispute of a payment, in a response or an event. */
export interface Dispute extends DisputeValues {
  readonly processorDisputeId: string;
  readonly createdAt: Date;
  readonly evidenceDueBy: Date | null;
  readonly asOf: AsOf;
}

/** An event about a dispute. It does not say whether the payment belongs to Till. */
export interface DisputeFacts extends Dispute {
  readonly processorPaymentIntentId: string;
  /** The customer of the payment. Only lists show it. */
  readonly processorCustomerId?: string | null;
}

/** An event about a dispute that does not name the payment intent. */
export interface UnlinkedDisputeFacts {
  readonly processorDisputeId: string;
}

/** A dispute as a payment's row stores it, in one JSON column. Times are ISO 8601 texts. */
export interface StoredDispute extends DisputeValues {
  readonly processorDisputeId: string;
  readonly createdAt: string;
  readonly evidenceDueBy: string | null;
  readonly asOf: { readonly earliest: string; readonly latest: string };
}

interface DisputedRow {
  readonly dispute: StoredDispute | null;
  readonly updatedAt: Date;
}

/**
 * Decides whether the row shows the dispute. A row shows the dispute that was created last. If two were created in the
 * same second, it shows the one with the greater id, so that no read is needed. Events about one dispute are ordered by
 * their times. No status is final: an inquiry that was closed can still become a chargeback.
 */
export function takeDispute<Row extends DisputedRow>(
  row: Row,
  dispute: Dispute,
  origin: Origin,
  now: Date,
): Taken<Row> {
  const stored = row.dispute;
  if (stored === null || stored.processorDisputeId !== dispute.processorDisputeId) {
    if (stored !== null && !isLater(dispute, stored)) return { verdict: 'keep', row };
    return { verdict: 'take', row: { ...row, dispute: toStored(dispute, dispute.asOf), updatedAt: now } };
  }
  const rowAsOf = { earliest: new Date(stored.asOf.earliest), latest: new Date(stored.asOf.latest) };
  const taken = toStored(dispute, laterOf(rowAsOf, dispute.asOf));
  const isSame = isDeepStrictEqual({ ...stored, asOf: null }, { ...taken, asOf: null });
  return {
    verdict: judge({ rule: 'if newer', origin, isSame, rowAsOf, factsAsOf: dispute.asOf }),
    row: { ...row, dispute: taken, updatedAt: isSame ? row.updatedAt : now },
  };
}

/** What a response about a payment says about its disputes. */
export interface DisputesOfPayment {
  /** Undefined in events. */
  readonly isDisputed?: boolean;
  /** Undefined if they were not read. Reading them is a separate call, which only a disputed payment needs. */
  readonly disputes?: readonly Dispute[];
}

/**
 * Like `takeDispute`, for a response about the payment. A row without the dispute that the response reports needs a
 * refresh.
 */
export function takeDisputes<Row extends DisputedRow>(
  row: Row,
  { isDisputed = false, disputes }: DisputesOfPayment,
  origin: Origin,
  now: Date,
): Taken<Row> {
  if (disputes === undefined)
    return { verdict: isDisputed && row.dispute === null ? 'refresh' : 'keep', row };
  const [newest] = disputes.toSorted((a, b) => (isLater(a, b) ? -1 : 1));
  return newest === undefined ? { verdict: 'keep', row } : takeDispute(row, newest, origin, now);
}

interface Created {
  readonly processorDisputeId: string;
  readonly createdAt: Date | string;
}

function isLater(a: Created, b: Created): boolean {
  const [aAt, bAt] = [new Date(a.createdAt).getTime(), new Date(b.createdAt).getTime()];
  return aAt === bAt ? a.processorDisputeId > b.processorDisputeId : aAt > bAt;
}

function toStored(dispute: Dispute, { earliest, latest }: AsOf): StoredDispute {
  const { processorDisputeId, createdAt, status, amount, currency, reason, evidenceDueBy } = dispute;
  return {
    processorDisputeId,
    createdAt: createdAt.toISOString(),
    status,
    amount,
    currency,
    reason,
    evidenceDueBy: evidenceDueBy?.toISOString() ?? null,
    asOf: { earliest: earliest.toISOString(), latest: latest.toISOString() },
  };
}
