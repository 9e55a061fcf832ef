import {
  type CheckedOperation,
  type FoundClaim,
  type OperationWrite,
  parentOf,
  type Recorded,
} from '../idempotency/operation.ts';
import { applyInTransaction, correct } from '../mirrors/refresh.ts';
import { isMetadataChangeIgnored } from '../model/metadata.ts';
import { foundPayment, type Payment, type PaymentChange, type PaymentFacts } from '../model/payment.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { notReached, objectMissing } from '../processor/refused-write.ts';
import type { PaymentParts } from './payment-creation.ts';

export interface PaymentUpdateRequest {
  readonly paymentId: string;
  readonly change: PaymentChange;
}

/** The processor's response, and the row before the request. */
interface Made {
  /** Null if there was nothing to change. */
  readonly facts: PaymentFacts | null;
  readonly payment: Payment;
}

type UpdateParts = Pick<PaymentParts, 'database' | 'store' | 'mirror' | 'customers' | 'processor'>;

/** The steps of changing a payment. */
export class PaymentUpdate implements CheckedOperation<PaymentUpdateRequest, Payment, Made, Payment> {
  readonly name = 'payments.update';
  readonly isChange = true;
  readonly #parts: UpdateParts;

  constructor(parts: UpdateParts) {
    this.#parts = parts;
  }

  parentIdOf({ paymentId }: PaymentUpdateRequest): string {
    return paymentId;
  }

  async prepare({ paymentId, change }: PaymentUpdateRequest): Promise<Payment> {
    const payment = await this.#find(this.#parts.database, paymentId);
    await this.#parts.customers.refuseMetadataChange(payment, change.metadata ?? {});
    return payment;
  }

  async call(
    { change }: PaymentUpdateRequest,
    payment: Payment,
    { idempotencyKey, isRepeated }: OperationWrite,
  ): Promise<Made> {
    const { processor, mirror } = this.#parts;
    if (Object.keys(change).length === 0) return { facts: null, payment };
    const { processorPaymentIntentId } = payment;
    const attempt = await processor.payments.update({ ...change, processorPaymentIntentId, idempotencyKey });
    if (attempt.outcome !== 'done') {
      await correct(mirror, processorPaymentIntentId);
      throw notReached(attempt, 'payment', 'unchanged');
    }
    const { metadata } = attempt.value;
    if (isRepeated || attempt.isReplayed || metadata === null)
      return { facts: await this.#read(payment), payment };
    if (isMetadataChangeIgnored(payment.metadata ?? {}, change.metadata ?? {}, metadata))
      throw notReached(attempt, 'payment', 'unchanged');
    return { facts: attempt.value, payment };
  }

  async record(tx: Transaction, _id: string, { facts, payment }: Made): Promise<Recorded<Payment>> {
    const applied = facts && (await applyInTransaction(tx, this.#parts.mirror, facts, payment));
    return { result: await this.#find(tx, payment.id), ...applied };
  }

  async refresh({ id, processorPaymentIntentId }: Payment): Promise<Payment> {
    const { mirror, database } = this.#parts;
    await correct(mirror, processorPaymentIntentId);
    return this.#find(database, id);
  }

  /** Nothing at the processor shows whether a change was made. Making it again has the same effect. */
  async find(): Promise<null> {
    return null;
  }

  /** The first request may have died before it could refresh a row that had changed meanwhile. */
  async replay(_id: string, claim: FoundClaim): Promise<Payment> {
    return this.refresh(await this.#find(this.#parts.database, parentOf(claim)));
  }

  async #find(db: Queryable, id: string): Promise<Payment> {
    return foundPayment((await this.#parts.store.find(db, [id]))[0]);
  }

  async #read({ processorPaymentIntentId }: Payment): Promise<PaymentFacts> {
    const present = await this.#parts.processor.payments.read(processorPaymentIntentId);
    if (present === null) throw objectMissing('payment');
    return present.payment;
  }
}
