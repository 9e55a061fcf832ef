import type { Customer } from '../customers/customer.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import {
  type CheckedCreation,
  type CreationWrite,
  type FoundClaim,
  parentOf,
} from '../idempotency/creation.ts';
import type { Transaction } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import { objectMissing } from '../processor/refused-write.ts';
import type { CardSetup } from './payment-method.ts';

export interface NewPaymentMethodRequest {
  readonly customerId: string;
}

export interface PaymentMethodParts {
  readonly customers: CustomerService;
  readonly processor: Processor;
}

/** What the call to the processor needs. */
type Prepared = Pick<Customer, 'processorCustomerId'>;

/**
 * The steps of preparing to save a payment method. Nothing is recorded but the claim: a replay looks the setup up at
 * the processor by the claim's id.
 */
export class PaymentMethodCreation
  implements CheckedCreation<NewPaymentMethodRequest, Prepared, CardSetup, CardSetup>
{
  readonly operation = 'payment_methods.create';
  readonly #parts: PaymentMethodParts;

  constructor(parts: PaymentMethodParts) {
    this.#parts = parts;
  }

  parentIdOf({ customerId }: NewPaymentMethodRequest): string {
    return customerId;
  }

  prepare({ customerId }: NewPaymentMethodRequest): Promise<Prepared> {
    return this.#parts.customers.read(customerId);
  }

  async call(
    { customerId }: NewPaymentMethodRequest,
    { processorCustomerId }: Prepared,
    write: CreationWrite,
  ): Promise<CardSetup> {
    const { customers, processor } = this.#parts;
    try {
      return await processor.paymentMethods.setUp({ ...write, processorCustomerId });
    } catch (error) {
      throw await customers.explainRefusal(error, customerId);
    }
  }

  async record(_tx: Transaction, _id: string, setup: CardSetup): Promise<CardSetup> {
    return setup;
  }

  async find(claim: FoundClaim): Promise<CardSetup | null> {
    const { customers, processor } = this.#parts;
    const customerId = parentOf(claim);
    const customer = await customers.findAny(customerId);
    if (customer === undefined) return null;
    const { processorCustomerId } = customer;
    const { resourceId: localId, attemptedAt: since } = claim;
    try {
      return await processor.paymentMethods.findSetup({ localId, since, processorCustomerId });
    } catch (error) {
      throw await customers.explainRefusal(error, customerId);
    }
  }

  async replay(_id: string, claim: FoundClaim): Promise<CardSetup> {
    const { customers } = this.#parts;
    const customer = await customers.read(parentOf(claim));
    const setup = await this.find(claim);
    if (setup !== null) return setup;
    // Fails if the processor does not know the customer either, and says so: that is the more useful hint.
    await customers.correct(customer);
    throw objectMissing('setup intent');
  }
}
