import {
  type FoundClaim,
  type OperationWrite,
  parentOf,
  type Recorded,
  type ReleasedClaim,
  ReservationHeld,
  type ReservingOperation,
} from '../idempotency/operation.ts';
import { applyInTransaction, correct } from '../mirrors/refresh.ts';
import {
  type Customer,
  type CustomerChange,
  type CustomerFacts,
  customerNotFound,
  externalIdTaken,
  foundCustomer,
  isChangeIgnored,
} from '../model/customer.ts';
import { refuseTooManyKeys } from '../model/metadata.ts';
import type { Transaction } from '../platform/postgres.ts';
import { notReached, objectMissing } from '../processor/refused-write.ts';
import { type CustomerParts, reserveExternalId } from './customer-creation.ts';

export interface CustomerUpdateRequest {
  readonly customerId: string;
  readonly change: CustomerChange;
}

/** The processor's response, and the revision of the row before the request. */
interface Made {
  /** Null if there was nothing to change. */
  readonly facts: CustomerFacts | null;
  readonly customer: Customer;
}

/** The steps of changing a customer. A new external id is reserved before the call. */
export class CustomerUpdate implements ReservingOperation<CustomerUpdateRequest, Customer, Made, Customer> {
  readonly name = 'customers.update';
  readonly isChange = true;
  readonly #parts: CustomerParts;

  constructor(parts: CustomerParts) {
    this.#parts = parts;
  }

  parentIdOf({ customerId }: CustomerUpdateRequest): string {
    return customerId;
  }

  async reserve(
    tx: Transaction,
    id: string,
    { customerId, change }: CustomerUpdateRequest,
  ): Promise<Customer> {
    const { store } = this.#parts;
    const customer = foundCustomer((await store.findLive(tx, [customerId]))[0]);
    const { externalId = null, metadata = {} } = change;
    refuseTooManyKeys(customer.metadata, metadata);
    if (externalId === null || externalId === customer.externalId) return customer;
    const holder = await this.#reserveExternalId(tx, id, customerId, externalId);
    if (holder !== null) throw externalIdTaken(holder.id);
    return customer;
  }

  async call(
    { customerId, change }: CustomerUpdateRequest,
    customer: Customer,
    { idempotencyKey, isRepeated }: OperationWrite,
  ): Promise<Made> {
    const { processor, mirror, store, database } = this.#parts;
    if (Object.keys(change).length === 0) return { facts: null, customer };
    const { processorCustomerId } = customer;
    const attempt = await processor.customers.update({ ...change, processorCustomerId, idempotencyKey });
    if (attempt.outcome !== 'done') {
      // If the processor deleted the customer and the event has not arrived yet, the caller gets a 404.
      await correct(mirror, processorCustomerId);
      foundCustomer((await store.findLive(database, [customerId]))[0]);
      throw notReached(attempt, 'customer', 'unchanged');
    }
    if (isRepeated || attempt.isReplayed || attempt.value.metadata === null)
      return { facts: await this.#read(customer), customer };
    if (isChangeIgnored(customer, change, attempt.value)) throw notReached(attempt, 'customer', 'unchanged');
    return { facts: attempt.value, customer };
  }

  async record(tx: Transaction, id: string, { facts, customer }: Made): Promise<Recorded<Customer>> {
    const { mirror, store, externalIds } = this.#parts;
    const applied = facts && (await applyInTransaction(tx, mirror, facts, customer));
    await externalIds.endReservation(tx, id);
    const [changed] = await store.findLive(tx, [customer.id]);
    // If the customer was deleted meanwhile, the refresh finds that out.
    return { result: changed ?? customer, needsRefresh: applied?.needsRefresh || changed === undefined };
  }

  async refresh({ id, processorCustomerId }: Customer): Promise<Customer> {
    const { store, mirror, database } = this.#parts;
    await correct(mirror, processorCustomerId);
    return foundCustomer((await store.findLive(database, [id]))[0]);
  }

  /** Nothing at the processor shows whether a change was made. Making it again has the same effect. */
  async find(): Promise<null> {
    return null;
  }

  async release(tx: Transaction, { resourceId }: ReleasedClaim): Promise<void> {
    await this.#parts.externalIds.endReservation(tx, resourceId);
  }

  /** The first request may have died before it could refresh a row that had changed meanwhile. */
  async replay(_id: string, claim: FoundClaim): Promise<Customer> {
    const { store, database } = this.#parts;
    return this.refresh(foundCustomer((await store.findLive(database, [parentOf(claim)]))[0]));
  }

  /** The claim of another change cannot be resumed with the values of this one, nor can a creation. */
  async #reserveExternalId(tx: Transaction, claimId: string, customerId: string, externalId: string) {
    try {
      return await reserveExternalId(tx, this.#parts, { externalId, customerId, claimId });
    } catch (error) {
      throw error instanceof ReservationHeld ? new ReservationHeld(error.claimId, 'fail') : error;
    }
  }

  async #read({ processorCustomerId }: Customer): Promise<CustomerFacts> {
    const { processor, mirror } = this.#parts;
    const facts = await processor.customers.read(processorCustomerId);
    if (facts === null) throw objectMissing('customer');
    if (facts !== 'deleted') return facts;
    await mirror.erase(processorCustomerId);
    throw customerNotFound();
  }
}
