import type { CheckedCreation, CreationWrite, FoundClaim } from '../idempotency/creation.ts';
import { untilSettled } from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import type { CustomerValues, Processor } from '../processor/processor.ts';
import { type Customer, type CustomerFacts, foundCustomer } from './customer.ts';
import { type CustomerMirror, toCustomer } from './customer-mirror.ts';
import type { CustomerStore } from './customer-store.ts';

export interface CustomerParts {
  readonly database: Database;
  readonly store: CustomerStore;
  readonly mirror: CustomerMirror;
  readonly processor: Processor;
  readonly clock: Clock;
}

/** The steps of creating a customer. */
export class CustomerCreation implements CheckedCreation<CustomerValues, undefined, CustomerFacts, Customer> {
  readonly operation = 'customers.create';
  readonly #parts: CustomerParts;

  constructor(parts: CustomerParts) {
    this.#parts = parts;
  }

  parentIdOf(): null {
    return null;
  }

  async prepare(): Promise<undefined> {}

  call(values: CustomerValues, _: undefined, write: CreationWrite): Promise<CustomerFacts> {
    return this.#parts.processor.customers.create({ ...values, ...write });
  }

  find({ resourceId, attemptedAt }: FoundClaim): Promise<CustomerFacts | null> {
    return this.#parts.processor.customers.find({ localId: resourceId, since: attemptedAt });
  }

  async record(tx: Transaction, id: string, facts: CustomerFacts): Promise<Customer> {
    const { store, clock } = this.#parts;
    await store.insert(tx, [toCustomer(id, facts, clock.now())]);
    return foundCustomer((await store.findLive(tx, [id]))[0]);
  }

  async refresh({ processorCustomerId }: Customer): Promise<void> {
    await untilSettled(() => this.#parts.mirror.refresh(processorCustomerId));
  }

  async replay(id: string): Promise<Customer> {
    const { store, database } = this.#parts;
    return foundCustomer((await store.findLive(database, [id]))[0]);
  }
}
