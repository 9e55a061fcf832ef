import { Failure, requireFound } from '#core/errors.ts';
import { formatAmount } from '#core/model/format-amount.ts';
import type { Payment, PaymentFacts } from '#core/model/payment.ts';
import { refuseIfNotRound } from '#core/model/round-amount.ts';
import { parentOf } from '#engine/idempotency/claim.ts';
import { type CheckedOperation, ofSameRequest } from '#engine/idempotency/operation.ts';
import { correct } from '#engine/mirrors/refresh.ts';
import { notReached, objectMissing } from '#processor/port/attempt.ts';
import type { PaymentContext } from './payment-creation.ts';

export interface CaptureRequest {
  readonly paymentId: string;
  /** Null for the whole authorised amount. */
  readonly amount: number | null;
}

export type PaymentCapture = CheckedOperation<CaptureRequest, Payment, PaymentFacts, Payment>;

/**
 * The steps of capturing a payment. The processor decides whether the payment can be captured, because the same request
 * may already have captured it. The payment then carries the mark of the capture.
 */
export function paymentCapture({ database, store, mirror, processor }: PaymentContext): PaymentCapture {
  return {
    name: 'payments.capture',
    parentIdOf: ({ paymentId }) => paymentId,
    prepare: async ({ paymentId, amount }) => {
      const payment = await store.read(database, paymentId);
      refuseIfNotRound(amount, payment.currency);
      return payment;
    },
    call: async ({ amount }, { id, processorPaymentIntentId }, write) => {
      const { mark, idempotencyKey, isRepeated } = write;
      const capture = { mark, processorPaymentIntentId, amount };
      const attempt = await processor.payments.capture({ ...capture, idempotencyKey });
      if (attempt.outcome === 'done') {
        if (!isRepeated && !attempt.isReplayed) return attempt.value;
        const current = await processor.payments.read(processorPaymentIntentId);
        if (current === null) throw objectMissing('payment');
        return current.payment;
      }
      // First, because this fails if the processor does not know the payment.
      await correct(mirror, processorPaymentIntentId);
      // An earlier call whose response was lost may have captured the payment.
      const ours = ofSameRequest({ mark }, await processor.payments.findCapture(capture));
      if (ours !== null) return ours;
      const corrected = await store.read(database, id);
      refuseIfTooMuch(corrected, amount);
      throw notReached(attempt, 'payment', corrected.status);
    },
    record: async (tx, _id, facts) => {
      // A captured payment is final, so its facts always win.
      const { unsettled } = await mirror.apply(tx, [facts], 'events');
      const [payment] = await store.findByKeys(tx, [mirror.keyOf(facts)]);
      return { result: requireFound('payment', payment), needsRefresh: unsettled.length > 0 };
    },
    refresh: async ({ id, processorPaymentIntentId }) => {
      await correct(mirror, processorPaymentIntentId);
      return store.read(database, id);
    },
    find: async (claim) => {
      const { processorPaymentIntentId } = await store.read(database, parentOf(claim));
      const { mark } = claim;
      return ofSameRequest(claim, await processor.payments.findCapture({ mark, processorPaymentIntentId }));
    },
    replay: (_id, claim) => store.read(database, parentOf(claim)),
  };
}

function refuseIfTooMuch({ amountCapturable, currency, status }: Payment, amount: number | null): void {
  if (amountCapturable === 0) {
    throw new Failure(
      'payment_not_capturable',
      `The payment is ${status}. You can only capture a payment that is authorised.`,
    );
  }
  if (amount !== null && amount > amountCapturable) {
    throw new Failure(
      'capture_exceeds_authorized',
      `Only ${formatAmount(amountCapturable, currency)} is authorised. Send an amount of at most ${amountCapturable}.`,
    );
  }
}
