import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { Charge, Refund } from '../wire/objects.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { addBalanceTransaction } from './balance-transaction.ts';
import { settleInquiry } from './dispute.ts';
import { checkRound, display } from './money.ts';
import { testCardByLast4 } from './test-cards.ts';

export interface NewRefund {
  readonly amount: number | undefined;
  readonly reason: Refund['reason'];
  readonly metadata: Record<string, string>;
}

/** Refunds up to the amount that is left of the charge. */
export function createRefund(store: Store, charge: Charge, input: NewRefund): Refund {
  if (!charge.paid || !charge.captured)
    throw wrongState(
      `Charge ${charge.id} has not been captured, so it cannot be refunded.`,
      'charge_not_refundable',
    );
  if (charge.refunded)
    throw wrongState(`Charge ${charge.id} has already been refunded.`, 'charge_already_refunded');
  if (store.disputes.allWithin('charge', charge.id).some((dispute) => !dispute.is_charge_refundable))
    throw wrongState(`Charge ${charge.id} has been charged back; cannot issue a refund.`, 'charge_disputed');
  const left = charge.amount - charge.amount_refunded;
  const amount = input.amount ?? left;
  if (amount < 1) throw badParam('Invalid positive integer', 'amount', 'parameter_invalid_integer');
  if (amount > left)
    throw wrongState(
      `Cannot refund ${display(amount, charge.currency)}. Only ${display(left, charge.currency)} of the charge is left.`,
      undefined,
      { param: 'amount' },
    );
  // The whole remaining amount can always be refunded.
  if (amount !== left) checkRound(amount, charge.currency, 'amount');
  const refund = putRefund(store, charge, amount, input);
  const refunded = changeRefunded(store, charge, amount);
  store.emitUpdated('charge.refunded', charge, refunded);
  if (refunded.refunded) settleInquiry(store, refunded);
  return refund;
}

/** Refunds what was authorized and is not captured: all of it, or the rest of a partial capture. No money moves. */
export function releaseAuthorization(store: Store, charge: Charge, amount = charge.amount): void {
  putRefund(store, { ...charge, captured: false }, amount, { reason: null, metadata: {} });
  const refunded = changeRefunded(store, charge, amount);
  store.emitUpdated('charge.refunded', charge, refunded);
}

function putRefund(
  store: Store,
  charge: Charge,
  amount: number,
  input: Pick<NewRefund, 'reason' | 'metadata'>,
): Refund {
  const id = store.refunds.newId();
  const isPending = charge.captured && behaviourOf(charge) === 'pending_first';
  return store.record('refund.created', store.refunds, {
    id,
    object: 'refund',
    amount,
    balance_transaction:
      isPending || !charge.captured ? null : refundTransaction(store, { ...charge, id, amount }, -1),
    charge: charge.id,
    created: store.worldNow(),
    currency: charge.currency,
    customer: charge.customer,
    ...nulls('customer_account receipt_number source_transfer_reversal transfer_reversal'),
    metadata: input.metadata,
    payment_intent: charge.payment_intent,
    payment_method: charge.payment_method,
    reason: input.reason,
    status: isPending ? 'pending' : 'succeeded',
    ...(isPending && { pending_reason: 'processing' as const }),
  });
}

/** The processor documents no exact delay. A minute is long enough to observe the pending state. */
const settlesAfterSeconds = 60;

/** When the refund's status changes without a request, or null. */
export function refundDueAt(refund: Refund, _doneUntil: number, store: Store): number | null {
  const charge = store.charges.get(refund.charge);
  const behaviour = charge === undefined ? undefined : behaviourOf(charge);
  const changes =
    charge?.captured === true &&
    ((behaviour === 'pending_first' && refund.status === 'pending') ||
      (behaviour === 'fails_later' && refund.status === 'succeeded'));
  return changes ? refund.created + settlesAfterSeconds : null;
}

export function settleRefund(store: Store, refund: Refund): void {
  const charge = store.charges.get(refund.charge);
  if (charge === undefined) return;
  if (refund.status === 'pending') {
    const { pending_reason: _, ...rest } = refund;
    const settled = store.put(store.refunds, {
      ...rest,
      balance_transaction: refundTransaction(store, refund, -1),
      status: 'succeeded',
    });
    store.emitUpdated('refund.updated', refund, settled);
    store.emitUpdated('charge.refund.updated', refund, settled);
    return;
  }
  const failed = store.change(store.refunds, refund, {
    status: 'failed',
    failure_balance_transaction: refundTransaction(store, refund, 1),
    failure_reason: 'expired_or_canceled_card',
  });
  changeRefunded(store, charge, -refund.amount);
  store.emit('refund.failed', failed);
  store.emitUpdated('refund.updated', refund, failed);
  store.emitUpdated('charge.refund.updated', refund, failed);
}

/** The id of the balance transaction for a refund, or for the return of a failed one. */
function refundTransaction(
  store: Store,
  { id, amount, currency }: Pick<Refund, 'id' | 'amount' | 'currency'>,
  sign: -1 | 1,
): string {
  return addBalanceTransaction(store, {
    amount: sign * amount,
    currency,
    description: sign === -1 ? 'REFUND FOR CHARGE' : 'REFUND FAILURE FOR CHARGE',
    reportingCategory: sign === -1 ? 'refund' : 'refund_failure',
    source: id,
    type: sign === -1 ? 'refund' : 'refund_failure',
  }).id;
}

function changeRefunded(store: Store, charge: Charge, byAmount: number): Charge {
  const refunded = charge.amount_refunded + byAmount;
  return store.change(store.charges, charge, {
    amount_refunded: refunded,
    refunded: refunded === charge.amount,
  });
}

function behaviourOf(charge: Charge) {
  return testCardByLast4(charge.payment_method_details?.card?.last4 ?? undefined)?.refund;
}
