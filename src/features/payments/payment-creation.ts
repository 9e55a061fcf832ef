import type { Customer } from '#core/model/customer.ts';
import type { Payment } from '#core/model/payment.ts';
import { type Cause, currentCause, runWithCauses } from '#core/platform/cause.ts';
import { SharedStatement } from '#core/platform/shared-statement.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import type { CheckedOperation } from '#engine/idempotency/operation.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { applyResponse, correct } from '#engine/mirrors/refresh.ts';
import { explainMethodRefusal } from '#processor/explain-method-refusal.ts';
import { objectMissing } from '#processor/port/attempt.ts';
import type { NewPayment, PaymentWithSecret } from '#processor/port/processor.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { type PaymentMirror, toPayment } from './payment-mirror.ts';
import type { PaymentStore } from './payment-store.ts';

export interface NewPaymentRequest extends Omit<NewPayment, 'processorCustomerId'> {
  readonly customerId: string;
}

export interface CreatedPayment {
  readonly payment: Payment;
  /** Passed on to the caller and never stored. */
  readonly clientSecret: string | null;
}

export interface PaymentContext extends MirrorContext {
  readonly idempotency: IdempotencyService;
  readonly store: PaymentStore;
  readonly mirror: PaymentMirror;
  readonly customers: CustomerService;
  readonly openCheckouts: CheckoutsOfPayments;
}

/** The checkouts in which payments are made. */
interface CheckoutsOfPayments {
  isOpen(checkoutId: string): Promise<boolean>;
  /** Expires it if it is open, which cancels its payment. Fails if the processor refuses. */
  expireIfOpen(checkoutId: string): Promise<void>;
}

/** A row to insert, and its request. */
interface NewRow {
  readonly payment: Payment;
  readonly cause: Cause | undefined;
}

/** The values that the call to the processor needs. */
type PreparedPayment = Pick<Customer, 'processorCustomerId'>;

export type PaymentCreation = CheckedOperation<
  NewPaymentRequest,
  PreparedPayment,
  PaymentWithSecret,
  CreatedPayment
>;

/** The steps of creating a payment. */
export function paymentCreation(context: PaymentContext): PaymentCreation {
  const { database, store, mirror, customers, processor, clock } = context;
  /** Inserts the rows of concurrent requests in one statement. Undefined for a row that already exists. */
  const inserting = new SharedStatement<NewRow, Payment | undefined>({
    run: (rows) => insertAll(mirror, rows),
    // The payment exists at the processor, so no row is refused. The limit on concurrent calls bounds the queue.
    waitingMax: Number.POSITIVE_INFINITY,
  });
  return {
    name: 'payments.create',
    parentIdOf: ({ customerId }) => customerId,
    prepare: ({ customerId }) => customers.read(customerId),
    call: async ({ customerId, ...values }, { processorCustomerId }, write) => {
      try {
        return await processor.payments.create({ ...write, processorCustomerId, ...values });
      } catch (error) {
        const method = { id: values.paymentMethodId, processorCustomerId };
        const explained = await customers.explainRefusal(error, customerId);
        throw await explainMethodRefusal(processor.paymentMethods, explained, method);
      }
    },
    insert: async (id, { payment, clientSecret }, { customerId }) => {
      // An earlier call created the payment, and it was disputed since. `record` also reads the dispute.
      if (payment.isDisputed === true) return undefined;
      const row = toPayment(id, payment, customerId, clock.now());
      const inserted = await inserting.add({ payment: row, cause: currentCause() });
      if (inserted === undefined) return undefined;
      mirror.countSucceeded([inserted]);
      return { payment: inserted, clientSecret };
    },
    record: async (tx, id, { payment, clientSecret }) => {
      // If a webhook created the row, the row and the response can each be newer.
      const { unsettled } = await mirror.apply(tx, [payment], 'events');
      const result = { payment: await store.read(tx, id), clientSecret };
      return { result, needsRefresh: unsettled.length > 0 };
    },
    refresh: async ({ payment, clientSecret }) => {
      await correct(mirror, payment.processorPaymentIntentId);
      return { payment: await store.read(database, payment.id), clientSecret };
    },
    idOf: ({ payment }) => payment.localId,
    find: (claim) => customers.findCreated(claim, (lookUp) => processor.payments.find(lookUp)),
    replay: (id) => readWithSecret(context, id),
  };
}

/** Reads the payment, and its client secret from the processor. Null if nothing is left to confirm. */
export async function readWithSecret(
  { database, store, mirror, processor }: PaymentContext,
  id: string,
): Promise<CreatedPayment> {
  const payment = await store.read(database, id);
  if (payment.intentStatus === 'succeeded' || payment.intentStatus === 'canceled')
    return { payment, clientSecret: null };
  const current = await processor.payments.read(payment.processorPaymentIntentId);
  if (current === null) throw objectMissing('payment');
  await applyResponse(database, mirror, current.payment, payment);
  return { payment: await store.read(database, id), clientSecret: current.clientSecret };
}

async function insertAll(
  mirror: PaymentMirror,
  rows: readonly NewRow[],
): Promise<readonly (Payment | undefined)[]> {
  const causes = new Map(rows.map(({ payment, cause }) => [payment.id, cause]));
  const payments = rows.map(({ payment }) => payment);
  const inserted = await runWithCauses(
    ([id = '']) => causes.get(id),
    () => mirror.insertCreated(payments),
  );
  const created = new Map(inserted.map((row) => [row.id, row]));
  return payments.map(({ id }) => created.get(id));
}
