import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { BalanceTransaction, Charge, Dispute } from '../wire/objects.ts';
import { wrongState } from '../wire/wire-error.ts';
import { addBalanceTransaction } from './balance-transaction.ts';
import { testCardByLast4 } from './test-cards.ts';

/** The merchant has until the end of the ninth day to respond, as with most cards. */
const responseDays = 9;
/** An inquiry that does not become a chargeback closes after this time. */
const inquirySeconds = 120 * 86_400;
/** The processor's fee for a chargeback, in the smallest unit. */
const feeAmount = 1_500;
const daySeconds = 86_400;

/** Whether the cardholder disputes the charge, which happens right after the payment. */
export function willBeDisputed(charge: Charge): boolean {
  return charge.captured && !charge.disputed && !charge.refunded && disputeOf(charge) !== undefined;
}

export function createDispute(store: Store, before: Charge): void {
  const kind = disputeOf(before);
  if (kind === undefined) return;
  const isInquiry = kind === 'inquiry';
  const now = store.worldNow();
  const charge = store.change(store.charges, before, { disputed: true });
  const network = charge.payment_method_details?.card?.brand ?? 'visa';
  const dispute = store.record('charge.dispute.created', store.disputes, {
    ...store.blank(store.disputes, 'dispute', now),
    amount: charge.amount - charge.amount_refunded,
    balance_transactions: [],
    charge: charge.id,
    currency: charge.currency,
    enhanced_eligibility_types: [],
    evidence: noEvidence,
    evidence_details: {
      due_by: responseDue(now),
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
      submission_method: 'not_submitted',
    },
    intended_submission_method: null,
    is_charge_refundable: isInquiry,
    metadata: {},
    payment_intent: charge.payment_intent,
    payment_method_details: {
      type: 'card',
      card: {
        brand: network,
        case_type: isInquiry ? 'inquiry' : 'chargeback',
        network,
        network_reason_code: kind === 'product_not_received' ? '13.1' : '10.4',
      },
    },
    reason: kind === 'product_not_received' ? 'product_not_received' : 'fraudulent',
    status: isInquiry ? 'warning_needs_response' : 'needs_response',
  });
  if (!isInquiry) withdraw(store, dispute);
}

function responseDue(now: number): number {
  return (Math.floor(now / daySeconds) + responseDays + 1) * daySeconds - 1;
}

/** Stores the evidence. Unless it is only a draft, sends it to the bank together with the evidence stored before. */
export function respond(
  store: Store,
  before: Dispute,
  response: {
    readonly evidence: Partial<Dispute['evidence']>;
    readonly metadata: Dispute['metadata'];
    readonly submits: boolean;
  },
): Dispute {
  const hasResponse = Object.keys(response.evidence).length > 0;
  const isOpen = before.status === 'needs_response' || before.status === 'warning_needs_response';
  if (hasResponse && !isOpen)
    throw wrongState(`This dispute is ${before.status}. It no longer takes evidence.`);
  const evidence = { ...before.evidence, ...response.evidence };
  const details = before.evidence_details;
  const hasEvidence = details.has_evidence || hasResponse;
  const sends = isOpen && hasEvidence && response.submits;
  return store.update('charge.dispute.updated', store.disputes, before, {
    evidence,
    evidence_details: {
      ...details,
      has_evidence: hasEvidence,
      submission_count: details.submission_count + (sends ? 1 : 0),
      submission_method: sends ? 'manual' : details.submission_method,
    },
    metadata: response.metadata,
    ...(sends
      ? { status: before.status === 'needs_response' ? 'under_review' : 'warning_under_review' }
      : {}),
  });
}

/** Accepts the dispute. */
export function closeDispute(store: Store, before: Dispute): Dispute {
  if (before.status === 'needs_response') return decide(store, before, { status: 'lost' });
  if (before.status === 'warning_needs_response') return decide(store, before, { status: 'warning_closed' });
  throw wrongState(`This dispute is ${before.status}, so it cannot be closed.`);
}

/** A full refund settles an inquiry. */
export function settleInquiry(store: Store, charge: Charge): void {
  for (const dispute of store.disputes.allWithin('charge', charge.id))
    if (dispute.status.startsWith('warning_') && dispute.status !== 'warning_closed')
      decide(store, dispute, { status: 'warning_closed' });
}

/** When the dispute changes without a request, or null. */
export function disputeDueAt(dispute: Dispute): number | null {
  switch (dispute.status) {
    case 'needs_response':
      return dispute.evidence_details.due_by;
    case 'under_review':
      return verdictOf(dispute) === null ? null : dispute.created;
    case 'warning_needs_response':
    case 'warning_under_review':
      return verdictOf(dispute) === null ? dispute.created + inquirySeconds : dispute.created;
    default:
      return null;
  }
}

export function disputeFallsDue(store: Store, dispute: Dispute): void {
  const verdict = verdictOf(dispute);
  if (dispute.status === 'needs_response')
    decide(store, dispute, {
      status: 'lost',
      evidence_details: { ...dispute.evidence_details, past_due: true },
    });
  else if (dispute.status !== 'under_review' && verdict === 'escalated') escalate(store, dispute);
  else if (dispute.status !== 'under_review') decide(store, dispute, { status: 'warning_closed' });
  else if (verdict === 'won') reinstate(store, decide(store, dispute, { status: 'won' }));
  else decide(store, dispute, { status: 'lost' });
}

/** The processor's test values for evidence decide how the bank rules. Other evidence stays under review. */
const verdicts: ReadonlyMap<string, 'escalated' | 'lost' | 'won'> = new Map([
  ['winning_evidence', 'won'],
  ['losing_evidence', 'lost'],
  ['escalate_inquiry_evidence', 'escalated'],
]);

function verdictOf({ status, evidence: { uncategorized_text: text } }: Dispute) {
  if (status !== 'under_review' && status !== 'warning_under_review') return null;
  const verdict = verdicts.get(text ?? '') ?? null;
  return verdict === 'escalated' && status === 'under_review' ? null : verdict;
}

function decide(store: Store, before: Dispute, outcome: Partial<Dispute>): Dispute {
  return store.update('charge.dispute.closed', store.disputes, before, {
    ...outcome,
    is_charge_refundable: outcome.status !== 'lost',
  });
}

/** Turns an inquiry into a chargeback, which accepts new evidence. */
function escalate(store: Store, before: Dispute): void {
  const details = before.payment_method_details;
  const after = store.update('charge.dispute.updated', store.disputes, before, {
    evidence: noEvidence,
    evidence_details: {
      ...before.evidence_details,
      due_by: responseDue(store.worldNow()),
      has_evidence: false,
    },
    is_charge_refundable: false,
    status: 'needs_response',
    ...(details?.card !== undefined && {
      payment_method_details: { ...details, card: { ...details.card, case_type: 'chargeback' } },
    }),
  });
  withdraw(store, after);
}

function withdraw(store: Store, before: Dispute): void {
  store.update('charge.dispute.funds_withdrawn', store.disputes, before, {
    balance_transactions: [balanceTransaction(store, before, -1)],
  });
}

function reinstate(store: Store, before: Dispute): void {
  store.update('charge.dispute.funds_reinstated', store.disputes, before, {
    balance_transactions: [...before.balance_transactions, balanceTransaction(store, before, 1)],
  });
}

function balanceTransaction(
  store: Store,
  { id, amount, currency, charge }: Dispute,
  sign: -1 | 1,
): BalanceTransaction {
  const isWithdrawal = sign === -1;
  return addBalanceTransaction(store, {
    amount: sign * amount,
    currency,
    description: `Chargeback ${isWithdrawal ? 'withdrawal' : 'reversal'} for ${charge}`,
    fee: { amount: -sign * feeAmount, description: 'Dispute fee' },
    reportingCategory: isWithdrawal ? 'dispute' : 'dispute_reversal',
    source: id,
    type: 'adjustment',
  });
}

function disputeOf(charge: Charge) {
  return testCardByLast4(charge.payment_method_details?.card?.last4 ?? undefined)?.dispute;
}

export const evidenceFields = [
  'access_activity_log billing_address cancellation_policy cancellation_policy_disclosure',
  'cancellation_rebuttal customer_communication customer_email_address customer_name customer_purchase_ip',
  'customer_signature duplicate_charge_documentation duplicate_charge_explanation duplicate_charge_id',
  'product_description receipt refund_policy refund_policy_disclosure refund_refusal_explanation',
  'service_date service_documentation shipping_address shipping_carrier shipping_date',
  'shipping_documentation shipping_tracking_number uncategorized_file uncategorized_text',
] as const;

/** Objects are immutable, so all disputes share this value. */
const noEvidence: Dispute['evidence'] = {
  ...nulls(...evidenceFields),
  enhanced_evidence: {},
};
