import { randomUUID } from 'node:crypto';
import type { Customer } from '#core/model/customer.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import {
  type AttachablePaymentMethod,
  type CardSetup,
  followsDefault,
  isInUse,
  isPaymentMethodId,
  needsDefault,
  needsScheduledDefault,
  type PaymentMethodUse,
  paymentMethodInUse,
  paymentMethodNotFound,
} from '#core/model/payment-method.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import { inLanes } from '#core/platform/lanes.ts';
import type { OperationResult } from '#engine/idempotency/operation.ts';
import { notReached, objectMissing } from '#processor/port/attempt.ts';
import type { Refused } from '#processor/port/processor.ts';
import {
  type NewPaymentMethodRequest,
  type PaymentMethodContext,
  type PaymentMethodCreation,
  paymentMethodCreation,
} from './payment-method-creation.ts';

/** Concurrent changes of subscriptions: enough to finish in seconds, few enough to leave room for other requests. */
const concurrentChangesMax = 5;

export interface SavedPaymentMethod extends AttachablePaymentMethod {
  readonly isDefault: boolean;
}

/** The saved payment methods of customers. Only the processor stores them. */
export class PaymentMethodService {
  /** The sweeper also uses it. */
  readonly creation: PaymentMethodCreation;
  readonly #context: PaymentMethodContext;

  constructor(context: PaymentMethodContext) {
    this.#context = context;
    this.creation = paymentMethodCreation(context);
  }

  create(
    request: NewPaymentMethodRequest,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<CardSetup>> {
    return this.#context.idempotency.run(this.creation, request, key);
  }

  /** Newest first. */
  async list(customerId: string): Promise<readonly SavedPaymentMethod[]> {
    const { customers, processor } = this.#context;
    const customer = await customers.read(customerId);
    try {
      const [methods, customerDefault] = await Promise.all([
        processor.paymentMethods.list(customer.processorCustomerId),
        this.#readDefault(customer),
      ]);
      return methods.map((method) => ({ ...method, isDefault: method.id === customerDefault }));
    } catch (error) {
      throw await customers.explainRefusal(error, customerId);
    }
  }

  /**
   * Sets the default of the subscriptions first, and of the customer last: a payment method that is shown as the
   * default is the default everywhere. Skips subscriptions that have it, so that repeating a request that failed
   * halfway makes progress. All rows show the new default before the response.
   */
  async setDefault(customerId: string, paymentMethodId: string): Promise<SavedPaymentMethod> {
    const customer = await this.#context.customers.read(customerId);
    const method = await this.#read(customer, paymentMethodId);
    const { uses, customerDefault } = await this.#readUses(customer);
    const following = uses.filter(followsDefault);
    const changed = following.filter((use) => needsDefault(use, method.id));
    // All calls end before the response, so that none of them runs after the caller's next request.
    await inLanes(changed, concurrentChangesMax, (use) => this.#setInTurn(customer, method, use));
    // The processor may have had the default already, from a change that no event has shown yet.
    const keys = following.map(({ processorSubscriptionId }) => processorSubscriptionId);
    await this.#context.subscriptions.correctMethods(keys, method.id);
    if (customerDefault !== method.id) await this.#setOfCustomer(customer, method);
    return { ...method, isDefault: true };
  }

  async remove(customerId: string, paymentMethodId: string): Promise<void> {
    const { customers, processor } = this.#context;
    const customer = await customers.read(customerId);
    const method = await this.#read(customer, paymentMethodId);
    const { uses, customerDefault } = await this.#readUses(customer);
    if (isInUse(method.id, customerDefault, uses)) throw paymentMethodInUse();
    const attempt = await processor.paymentMethods.detach({
      paymentMethodId: method.id,
      idempotencyKey: randomUUID(),
    });
    if (attempt.outcome !== 'done') throw await this.#explain(attempt, customer, method);
  }

  /** Fails with `not_found` if it belongs to another customer. */
  async #read(customer: Customer, paymentMethodId: string): Promise<AttachablePaymentMethod> {
    const { customers, processor } = this.#context;
    if (!isPaymentMethodId(paymentMethodId)) throw paymentMethodNotFound();
    const method = await processor.paymentMethods.read(paymentMethodId);
    if (method?.processorCustomerId === customer.processorCustomerId) return method;
    // Fails if the processor has deleted the customer, or if the secret key belongs to another account.
    await customers.correct(customer);
    throw paymentMethodNotFound();
  }

  async #readUses(customer: Customer) {
    const [uses, customerDefault] = await Promise.all([
      this.#context.processor.paymentMethods.listUses(customer.processorCustomerId),
      this.#readDefault(customer),
    ]);
    return { uses, customerDefault };
  }

  async #readDefault(customer: Customer): Promise<string | null> {
    const { customers, processor } = this.#context;
    const read = await processor.paymentMethods.readDefault(customer.processorCustomerId);
    if (read !== 'unknown') return read.paymentMethodId;
    // Fails if the customer is deleted or unknown. Otherwise the processor has contradicted itself.
    await customers.correct(customer);
    throw objectMissing('customer');
  }

  async #setOfCustomer(customer: Customer, method: AttachablePaymentMethod): Promise<void> {
    const attempt = await this.#context.processor.paymentMethods.setDefault({
      processorCustomerId: customer.processorCustomerId,
      paymentMethodId: method.id,
      idempotencyKey: randomUUID(),
    });
    if (attempt.outcome !== 'done') throw await this.#explain(attempt, customer, method);
  }

  /** Another request may have changed the subscription before its turn came. */
  #setInTurn(
    customer: Customer,
    method: AttachablePaymentMethod,
    { processorSubscriptionId }: PaymentMethodUse,
  ): Promise<void> {
    return this.#context.subscriptions.inTurn(processorSubscriptionId, async () => {
      const use = await this.#readUse(customer, processorSubscriptionId);
      const isNeeded = use !== undefined && needsDefault(use, method.id);
      return isNeeded ? this.#setOfSubscription(customer, method, use) : null;
    });
  }

  async #readUse(customer: Customer, processorSubscriptionId: string): Promise<PaymentMethodUse | undefined> {
    const uses = await this.#context.processor.paymentMethods.listUses(customer.processorCustomerId);
    return uses.find((use) => use.processorSubscriptionId === processorSubscriptionId);
  }

  async #setOfSubscription(
    customer: Customer,
    method: AttachablePaymentMethod,
    use: PaymentMethodUse,
  ): Promise<SubscriptionFacts | null> {
    const { processorSubscriptionId } = use;
    const attempt = await this.#context.processor.paymentMethods.setDefaultOfSubscription({
      processorSubscriptionId,
      paymentMethodId: method.id,
      isPlanned: needsScheduledDefault(use, method.id),
      // A new processor key each time, because setting the same default again has no further effect.
      idempotencyKey: randomUUID(),
    });
    if (attempt.outcome === 'done') return attempt.value;
    const failure = await this.#explain(attempt, customer, method);
    // A subscription that has ended since it was listed needs no default.
    const current = await this.#readUse(customer, processorSubscriptionId);
    if (current !== undefined && needsDefault(current, method.id)) throw failure;
    return null;
  }

  /**
   * The failure to report after the processor refused a change. Throws if the customer or the payment method is gone.
   */
  async #explain(refused: Refused, customer: Customer, method: AttachablePaymentMethod): Promise<Error> {
    await this.#read(customer, method.id);
    return notReached(refused, 'payment method', 'unchanged');
  }
}
