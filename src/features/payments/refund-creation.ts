import { Failure, requireFound } from '#core/errors.ts';
import { formatAmount } from '#core/model/format-amount.ts';
import { amountLeft, type Payment } from '#core/model/payment.ts';
import type { Refund, RefundFacts, RefundReason } from '#core/model/refund.ts';
import { refuseIfNotRound } from '#core/model/round-amount.ts';
import { idTime } from '#core/platform/id.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { parentOf } from '#engine/idempotency/claim.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import { lookUpOf, ofSameRequest, type ReservingOperation } from '#engine/idempotency/operation.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { untilSettled } from '#engine/mirrors/refresh.ts';
import { notRefunded, objectMissing } from '#processor/port/attempt.ts';
import type { PaymentService } from './payment-service.ts';
import type { PaymentStore } from './payment-store.ts';
import type { RefundMirror } from './refund-mirror.ts';
import type { RefundStore } from './refund-store.ts';

export interface NewRefundRequest {
  readonly paymentId: string;
  /** Null for the full remaining amount. */
  readonly amount: number | null;
  readonly reason: RefundReason | null;
}

export interface RefundedPayment {
  readonly payment: Payment;
  readonly refund: Refund;
}

/** The payment, and the amount that is reserved for the refund. */
interface Reserved {
  readonly payment: Payment;
  readonly amount: number;
}

export interface RefundContext extends MirrorContext {
  readonly idempotency: IdempotencyService;
  readonly store: RefundStore;
  readonly mirror: RefundMirror;
  readonly payments: PaymentService;
  readonly paymentStore: PaymentStore;
}

export type RefundCreation = ReservingOperation<NewRefundRequest, Reserved, RefundFacts, RefundedPayment>;

/**
 * The steps of creating a refund. The amount is reserved under the payment's lock before the call, so that concurrent
 * refunds never exceed the amount received.
 */
export function refundCreation(context: RefundContext): RefundCreation {
  const { database, store, mirror, payments, paymentStore, processor, clock } = context;
  const read = async (db: Queryable, id: string) => {
    const refund = await store.read(db, id);
    return { payment: await paymentStore.read(db, refund.paymentId), refund };
  };
  return {
    name: 'refunds.create',
    parentIdOf: ({ paymentId }) => paymentId,
    reserve: (tx, id, request) => reserveAmount(context, tx, id, request),
    call: async ({ reason }, { payment, amount }, write) => {
      const { processorPaymentIntentId } = payment;
      const attempt = await processor.refunds.create({ ...write, processorPaymentIntentId, amount, reason });
      if (attempt.outcome === 'done') {
        if (!write.isRepeated && !attempt.isReplayed) return attempt.value;
        // The refund may have failed since.
        const current = await processor.refunds.read(attempt.value.processorRefundId);
        if (current === null) throw objectMissing('refund');
        return current;
      }
      // First, because this fails if the processor does not know the payment. In that case a missing refund would prove
      // nothing.
      const corrected = await payments.correct(payment);
      // An earlier call whose response was lost may have created the refund.
      const lookUp = lookUpOf({ mark: write.mark, attemptedAt: clock.now() });
      const found = await processor.refunds.find({ ...lookUp, processorPaymentIntentId });
      const ours = ofSameRequest(write, found);
      if (ours !== null) return ours;
      // The payment was refunded elsewhere, or is not paid: correct the rows, then explain the refusal.
      await untilSettled(() => mirror.ofPayments.refresh(processorPaymentIntentId));
      const { amountRefunded, amountReserved } = await payments.read(payment.id);
      const others = { amountRefunded, amountReserved: amountReserved - amount };
      refuseIfTooMuch({ ...corrected, ...others }, amount);
      throw notRefunded(attempt);
    },
    record: async (tx, id, facts) => {
      await mirror.apply(tx, [facts], 'events');
      return { result: await read(tx, id) };
    },
    idOf: ({ localId }) => localId,
    find: async (claim) => {
      const { processorPaymentIntentId } = await payments.read(parentOf(claim));
      const found = await processor.refunds.find({ ...lookUpOf(claim), processorPaymentIntentId });
      return ofSameRequest(claim, found);
    },
    release: async (tx, claim) => {
      const payment = await paymentStore.lock(tx, parentOf(claim));
      await store.removeReservation(tx, claim.resourceId);
      if (payment !== undefined) await paymentStore.addUpRefunds(tx, [payment], clock.now());
    },
    replay: (id) => read(database, id),
  };
}

async function reserveAmount(
  { store, paymentStore, clock }: RefundContext,
  tx: Transaction,
  id: string,
  request: NewRefundRequest,
): Promise<Reserved> {
  const payment = requireFound('payment', await paymentStore.lock(tx, request.paymentId));
  const [reserved] = await store.find(tx, [id]);
  if (reserved !== undefined) return { payment, amount: reserved.amount };
  refuseIfNotRound(request.amount, payment.currency);
  const amount = request.amount ?? amountLeft(payment);
  refuseIfTooMuch(payment, amount);
  const now = clock.now();
  const refund: Refund = {
    id,
    processorRefundId: null,
    paymentId: payment.id,
    customerId: payment.customerId,
    amount,
    currency: payment.currency,
    status: 'pending',
    reason: request.reason,
    kind: 'refund',
    processorAsOf: payment.processorAsOf,
    processorAsOfLatest: payment.processorAsOfLatest,
    createdAt: idTime(id),
    updatedAt: now,
    revision: 0,
  };
  await store.insert(tx, [refund]);
  await paymentStore.addUpRefunds(tx, [payment], now);
  return { payment, amount };
}

function refuseIfTooMuch(payment: Payment, amount: number): void {
  if (payment.intentStatus !== 'succeeded') {
    throw new Failure(
      'payment_not_refundable',
      `The payment is ${payment.intentStatus}. You can only refund a payment that has succeeded.`,
    );
  }
  const left = amountLeft(payment);
  const isInProgress = payment.amountReserved > 0 && (left === 0 || amount > left);
  if (isInProgress) {
    throw new Failure(
      'refund_in_flight',
      `A refund of ${formatAmount(payment.amountReserved, payment.currency)} is still pending. ` +
        'Retry later, or repeat this request with the same idempotency key.',
      { retryAfterSeconds: 60 },
    );
  }
  if (left === 0)
    throw new Failure(
      'payment_not_refundable',
      'The payment is already refunded in full. List its refunds to see them.',
    );
  if (amount > left) {
    throw new Failure(
      'refund_exceeds_remaining',
      `Only ${formatAmount(left, payment.currency)} of the payment remains. Send an amount of at most ${left}.`,
    );
  }
}
