import type { Customer } from '../customers/customer.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { Failure, isDefiniteRefusal } from '../errors.ts';
import {
  type CheckedCreation,
  type CreationWrite,
  type FoundClaim,
  parentOf,
} from '../idempotency/creation.ts';
import { applyResponse, correct } from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import { SharedStatement } from '../platform/shared-statement.ts';
import type { PaymentWithSecret, Processor } from '../processor/processor.ts';
import { objectMissing } from '../processor/refused-write.ts';
import { foundPayment, type Payment } from './payment.ts';
import { type PaymentMirror, toPayment } from './payment-mirror.ts';
import type { PaymentStore } from './payment-store.ts';

export interface NewPaymentRequest {
  readonly customerId: string;
  readonly amount: number;
  readonly currency: string;
  readonly description?: string;
  readonly captureMethod?: 'manual';
  readonly paymentMethodId?: string;
  readonly offSession?: true;
  readonly savePaymentMethod?: true;
}

export interface CreatedPayment {
  readonly payment: Payment;
  /** Passed on to the caller and never stored. */
  readonly clientSecret: string | null;
  /** The row differs from the response, and only a refresh shows which is newer. */
  readonly isUnsettled?: true;
}

export interface PaymentParts {
  readonly database: Database;
  readonly store: PaymentStore;
  readonly mirror: PaymentMirror;
  readonly customers: CustomerService;
  readonly processor: Processor;
  readonly clock: Clock;
}

/** What the call to the processor needs. */
type Prepared = Pick<Customer, 'processorCustomerId'>;

/** The steps of creating a payment. */
export class PaymentCreation
  implements CheckedCreation<NewPaymentRequest, Prepared, PaymentWithSecret, CreatedPayment>
{
  readonly operation = 'payments.create';
  readonly #parts: PaymentParts;
  /** Inserts the rows of concurrent requests in one statement. Undefined for a row that already exists. */
  readonly #inserting: SharedStatement<Payment, Payment | undefined>;

  constructor(parts: PaymentParts) {
    this.#parts = parts;
    this.#inserting = new SharedStatement({
      run: async (payments) => {
        const inserted = await parts.store.insert(parts.database, payments);
        const made = new Map(inserted.map((row) => [row.id, row]));
        return payments.map(({ id }) => made.get(id));
      },
      // The payment exists at the processor, so no row is refused. The limit on concurrent calls bounds the queue.
      waitingMax: Number.POSITIVE_INFINITY,
    });
  }

  parentIdOf({ customerId }: NewPaymentRequest): string {
    return customerId;
  }

  prepare({ customerId }: NewPaymentRequest): Promise<Prepared> {
    return this.#parts.customers.read(customerId);
  }

  async call(
    { customerId, ...values }: NewPaymentRequest,
    { processorCustomerId }: Prepared,
    write: CreationWrite,
  ): Promise<PaymentWithSecret> {
    const { customers, processor } = this.#parts;
    try {
      return await processor.payments.create({ ...write, processorCustomerId, ...values });
    } catch (error) {
      if (isUnknownPaymentMethod(error)) throw paymentMethodNotFound(error);
      throw await customers.explainRefusal(error, customerId);
    }
  }

  async insert(
    id: string,
    { payment, clientSecret }: PaymentWithSecret,
    { customerId }: NewPaymentRequest,
  ): Promise<CreatedPayment | undefined> {
    const { clock, mirror } = this.#parts;
    const inserted = await this.#inserting.add(toPayment(id, payment, customerId, clock.now()));
    if (inserted === undefined) return undefined;
    mirror.countSucceeded([inserted]);
    return { payment: inserted, clientSecret };
  }

  async record(
    tx: Transaction,
    id: string,
    { payment, clientSecret }: PaymentWithSecret,
  ): Promise<CreatedPayment> {
    const { store, mirror } = this.#parts;
    const { unsettled } = await mirror.apply(tx, [payment], 'events');
    const recorded = { payment: foundPayment((await store.find(tx, [id]))[0]), clientSecret };
    return unsettled.length === 0 ? recorded : { ...recorded, isUnsettled: true };
  }

  /** If a webhook created the row, the row and the response can each be newer. */
  async refresh({ payment, isUnsettled }: CreatedPayment): Promise<void> {
    if (isUnsettled) await correct(this.#parts.mirror, payment.processorPaymentIntentId);
  }

  async find(claim: FoundClaim): Promise<PaymentWithSecret | null> {
    const { customers, processor } = this.#parts;
    const customerId = parentOf(claim);
    const customer = await customers.findAny(customerId);
    if (customer === undefined) return null;
    const { processorCustomerId } = customer;
    const { resourceId: localId, attemptedAt: since } = claim;
    try {
      return await processor.payments.find({ localId, since, processorCustomerId });
    } catch (error) {
      throw await customers.explainRefusal(error, customerId);
    }
  }

  async replay(id: string): Promise<CreatedPayment> {
    const { database, mirror, processor } = this.#parts;
    const payment = await this.#read(id);
    if (payment.intentStatus === 'succeeded' || payment.intentStatus === 'canceled') {
      return { payment, clientSecret: null };
    }
    const present = await processor.payments.read(payment.processorPaymentIntentId);
    if (present === null) throw objectMissing('payment');
    await applyResponse(database, mirror, present.payment, payment);
    return { payment: await this.#read(id), clientSecret: present.clientSecret };
  }

  async #read(id: string): Promise<Payment> {
    const { store, database } = this.#parts;
    return foundPayment((await store.find(database, [id]))[0]);
  }
}

/** The processor's codes for a payment method that does not exist, or that belongs to another customer. */
const unknownMethodCodes: readonly unknown[] = ['resource_missing', 'payment_method_unexpected_state'];

function isUnknownPaymentMethod(error: unknown): error is Failure {
  return (
    isDefiniteRefusal(error) &&
    error.extras.processorParam === 'payment_method' &&
    unknownMethodCodes.includes(error.extras.processorCode)
  );
}

function paymentMethodNotFound(cause: Failure): Failure {
  return new Failure(
    'not_found',
    'The customer has no payment method with this id. List the payment methods of the customer.',
    { effect: 'none', cause },
  );
}
