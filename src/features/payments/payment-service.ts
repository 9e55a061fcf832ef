import { randomUUID } from 'node:crypto';
import { Failure, requireFound } from '#core/errors.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import { isMetadataChangeIgnored } from '#core/model/metadata.ts';
import type { Payment, PaymentChange, PaymentFacts } from '#core/model/payment.ts';
import { SharedReads } from '#core/platform/shared-statement.ts';
import type { OperationResult } from '#engine/idempotency/operation.ts';
import { applyChange, correct } from '#engine/mirrors/refresh.ts';
import { type UpdateOperation, updateSteps } from '#engine/mirrors/update-operation.ts';
import { notReached } from '#processor/port/attempt.ts';
import { type CaptureRequest, type PaymentCapture, paymentCapture } from './payment-capture.ts';
import {
  type CreatedPayment,
  type NewPaymentRequest,
  type PaymentContext,
  type PaymentCreation,
  paymentCreation,
  readWithSecret,
} from './payment-creation.ts';

/** The processor refuses to cancel a payment in these states. */
const uncancelable: readonly Payment['intentStatus'][] = ['succeeded', 'processing'];

export class PaymentService {
  /** The sweeper also uses it. */
  readonly creation: PaymentCreation;
  /** The sweeper also uses it. */
  readonly captures: PaymentCapture;
  /** The sweeper also uses it. */
  readonly updating: PaymentUpdate;
  readonly #context: PaymentContext;
  readonly #reads: SharedReads<Payment>;

  constructor(context: PaymentContext) {
    this.#context = context;
    this.creation = paymentCreation(context);
    this.captures = paymentCapture(context);
    this.updating = paymentUpdate(context);
    this.#reads = new SharedReads((ids) => context.store.find(context.database, ids));
  }

  create(
    request: NewPaymentRequest,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<CreatedPayment>> {
    return this.#context.idempotency.run(this.creation, request, key);
  }

  async capture(request: CaptureRequest, key: IdempotencyKey | undefined): Promise<OperationResult<Payment>> {
    const { id } = await this.read(request.paymentId);
    return this.#context.idempotency.run(this.captures, { ...request, paymentId: id }, key);
  }

  async update(
    id: string,
    change: PaymentChange,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<Payment>> {
    // An empty change without an idempotency key needs no claim.
    if (key === undefined && Object.keys(change).length === 0)
      return { result: await this.read(id), replayed: false };
    return this.#context.idempotency.run(this.updating, { id, change }, key);
  }

  /** Reads the client secret again, which is never stored. Null if nothing is left to confirm. */
  async readClientSecret(id: string): Promise<string | null> {
    const payment = await this.read(id);
    const { checkoutId } = payment;
    // The buyer pays on the page of the checkout.
    if (checkoutId !== null && (await this.#context.openCheckouts.isOpen(checkoutId))) return null;
    return (await readWithSecret(this.#context, payment.id)).clientSecret;
  }

  async read(id: string): Promise<Payment> {
    return requireFound('payment', await this.#reads.read(id));
  }

  list(request: ListRequest): Promise<ListPage<Payment>> {
    const { database, store } = this.#context;
    return database.read((db) => store.list(db, request));
  }

  async cancel(id: string): Promise<Payment> {
    const { database, mirror, processor } = this.#context;
    const payment = await this.#readToCancel(id);
    if (payment.status === 'canceled') return payment;
    if (payment.intentStatus === 'succeeded') throw notCancelable(payment.status);
    if (payment.processorInvoiceId !== null) throw chargedForInvoice();
    const { processorPaymentIntentId } = payment;
    // Every request has its own processor key, because canceling a second time has no further effect.
    const attempt = await processor.payments.cancel({
      processorPaymentIntentId,
      idempotencyKey: randomUUID(),
    });
    if (attempt.outcome === 'done') await applyChange(database, mirror, attempt.value, payment);
    else await correct(mirror, processorPaymentIntentId);
    const corrected = await this.read(id);
    if (corrected.status === 'canceled') return corrected;
    throw uncancelable.includes(corrected.intentStatus)
      ? notCancelable(corrected.status)
      : notReached(attempt, 'payment', corrected.status);
  }

  /** The processor cancels the payment of an open checkout only together with the checkout. */
  async #readToCancel(id: string): Promise<Payment> {
    const payment = await this.read(id);
    const { checkoutId, status } = payment;
    if (checkoutId === null || status === 'canceled') return payment;
    if (!(await this.#context.openCheckouts.isOpen(checkoutId))) return payment;
    await this.#context.openCheckouts.expireIfOpen(checkoutId);
    return this.correct(payment);
  }

  /** Refreshes the row. Fails if the processor does not know the payment. */
  async correct({ id, processorPaymentIntentId }: Payment): Promise<Payment> {
    await correct(this.#context.mirror, processorPaymentIntentId);
    return this.read(id);
  }
}

/** The processor refuses too: an invoice is collected until it is voided. */
function chargedForInvoice(): Failure {
  return new Failure(
    'payment_not_cancelable',
    'The payment pays an invoice of a subscription. Cancel the subscription instead.',
  );
}

function notCancelable(status: string): Failure {
  return new Failure(
    'payment_not_cancelable',
    `The payment is ${status}. You can only cancel a payment that is still open.`,
  );
}

type PaymentUpdate = UpdateOperation<Payment, PaymentChange, PaymentFacts>;

/** The steps of changing a payment. */
function paymentUpdate({
  database,
  store,
  mirror,
  customers,
  processor,
}: Pick<PaymentContext, 'database' | 'store' | 'mirror' | 'customers' | 'processor'>): PaymentUpdate {
  return {
    ...updateSteps<Payment, PaymentChange, PaymentFacts>({
      name: 'payments.update',
      resource: 'payment',
      ...{ database, mirror, partMirror: mirror, keyOf: mirror.keyOf },
      findRow: (db, id) => store.read(db, id),
      send: ({ processorPaymentIntentId }, change, idempotencyKey) =>
        processor.payments.update({ ...change, processorPaymentIntentId, idempotencyKey }),
      read: async ({ processorPaymentIntentId }) =>
        (await processor.payments.read(processorPaymentIntentId))?.payment ?? null,
      isIgnored: (payment, change, { metadata }) =>
        isMetadataChangeIgnored(payment.metadata ?? {}, change.metadata ?? {}, metadata ?? {}),
    }),
    prepare: async ({ id, change }) => {
      const payment = await store.read(database, id);
      await customers.refuseMetadataChange(payment, change.metadata ?? {});
      return payment;
    },
  };
}
