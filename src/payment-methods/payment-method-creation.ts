import type { CustomerService } from '../customers/customer-service.ts';
import {
  type CheckedOperation,
  type FoundClaim,
  type OperationWrite,
  parentOf,
  type Recorded,
} from '../idempotency/operation.ts';
import type { Customer } from '../model/customer.ts';
import type { CardSetup } from '../model/payment-method.ts';
import type { Transaction } from '../platform/postgres.ts';
import { objectMissing } from '../processor/port/attempt.ts';
import type { Processor } from '../processor/port/processor.ts';

export interface NewPaymentMethodRequest {
  readonly customerId: string;
}

export interface PaymentMethodParts {
  readonly customers: CustomerService;
  readonly processor: Processor;
}

/** What the call to the processor needs. */
type PreparedSetup = Pick<Customer, 'processorCustomerId'>;

/**
 * The steps of preparing to save a payment method. Only the claim is recorded: a replay looks the setup up at the
 * processor, by the mark of the claim.
 */
export class PaymentMethodCreation
  implements CheckedOperation<NewPaymentMethodRequest, PreparedSetup, CardSetup, CardSetup>
{
  readonly name = 'payment_methods.create';
  readonly #parts: PaymentMethodParts;

  constructor(parts: PaymentMethodParts) {
    this.#parts = parts;
  }

  parentIdOf({ customerId }: NewPaymentMethodRequest): string {
    return customerId;
  }

  prepare({ customerId }: NewPaymentMethodRequest): Promise<PreparedSetup> {
    return this.#parts.customers.read(customerId);
  }

  async call(
    { customerId }: NewPaymentMethodRequest,
    { processorCustomerId }: PreparedSetup,
    write: OperationWrite,
  ): Promise<CardSetup> {
    const { customers, processor } = this.#parts;
    try {
      return await processor.paymentMethods.setUp({ ...write, processorCustomerId });
    } catch (error) {
      throw await customers.explainRefusal(error, customerId);
    }
  }

  async record(_tx: Transaction, _id: string, setup: CardSetup): Promise<Recorded<CardSetup>> {
    return { result: setup };
  }

  find(claim: FoundClaim): Promise<CardSetup | null> {
    const { customers, processor } = this.#parts;
    return customers.findCreated(claim, (lookUp) => processor.paymentMethods.findSetup(lookUp));
  }

  async replay(_id: string, claim: FoundClaim): Promise<CardSetup> {
    const { customers } = this.#parts;
    const customer = await customers.read(parentOf(claim));
    const setup = await this.find(claim);
    if (setup !== null) return setup;
    // Fails if the processor does not know the customer either: that failure tells the caller more.
    await customers.correct(customer);
    throw objectMissing('setup intent');
  }
}
