import type { Customer } from '#core/model/customer.ts';
import type { CardSetup } from '#core/model/payment-method.ts';
import { parentOf } from '#engine/idempotency/claim.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import type { CheckedOperation, FoundClaim } from '#engine/idempotency/operation.ts';
import { objectMissing } from '#processor/port/attempt.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { SubscriptionService } from '../subscriptions/subscription-service.ts';

export interface NewPaymentMethodRequest {
  readonly customerId: string;
}

export interface PaymentMethodContext {
  readonly idempotency: IdempotencyService;
  readonly subscriptions: Pick<SubscriptionService, 'inTurn' | 'correctMethods'>;
  readonly customers: CustomerService;
  readonly processor: Processor;
}

/** The values that the call to the processor needs. */
type PreparedSetup = Pick<Customer, 'processorCustomerId'>;

export type PaymentMethodCreation = CheckedOperation<
  NewPaymentMethodRequest,
  PreparedSetup,
  CardSetup,
  CardSetup
>;

/**
 * The steps of preparing to save a payment method. Only the claim is recorded: a replay looks the setup up at the
 * processor, by the mark of the claim.
 */
export function paymentMethodCreation({ customers, processor }: PaymentMethodContext): PaymentMethodCreation {
  const find = (claim: FoundClaim) =>
    customers.findCreated(claim, (lookUp) => processor.paymentMethods.findSetup(lookUp));
  return {
    name: 'payment_methods.create',
    parentIdOf: ({ customerId }) => customerId,
    prepare: ({ customerId }) => customers.read(customerId),
    call: async ({ customerId }, { processorCustomerId }, write) => {
      try {
        return await processor.paymentMethods.setUp({ ...write, processorCustomerId });
      } catch (error) {
        throw await customers.explainRefusal(error, customerId);
      }
    },
    record: async (_tx, _id, setup) => ({ result: setup }),
    find,
    replay: async (_id, claim) => {
      const customer = await customers.read(parentOf(claim));
      const setup = await find(claim);
      if (setup !== null) return setup;
      // Fails if the processor does not know the customer: that failure is more helpful to the caller.
      await customers.correct(customer);
      throw objectMissing('setup intent');
    },
  };
}
