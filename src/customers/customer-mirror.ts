import { applyToRows, type Inserted, lockRows } from '../mirrors/apply-facts.ts';
import { rowTime } from '../mirrors/facts.ts';
import type { Applied, Source } from '../mirrors/fold.ts';
import type { Mirror } from '../mirrors/mirror.ts';
import { ignoredAll, nothingApplied, revisionsOf, unknownToProcessor } from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import { idTime, isOurId } from '../platform/id.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import { type Customer, type CustomerFacts, eraseCustomer, takeCustomerFacts } from './customer.ts';
import type { CustomerStore } from './customer-store.ts';

interface CustomerMirrorParts {
  readonly database: Database;
  readonly store: CustomerStore;
  readonly processor: Processor;
  readonly clock: Clock;
  /** Called in the transaction that creates rows for lost customers. */
  readonly onRecovered: (tx: Transaction, customers: readonly Customer[]) => Promise<void>;
}

export class CustomerMirror implements Mirror<CustomerFacts> {
  readonly resource = 'customer';
  readonly #parts: CustomerMirrorParts;

  constructor(parts: CustomerMirrorParts) {
    this.#parts = parts;
  }

  keyOf({ processorCustomerId }: Pick<CustomerFacts, 'processorCustomerId'>): string {
    return processorCustomerId;
  }

  async apply(tx: Transaction, facts: readonly CustomerFacts[], source: Source): Promise<Applied> {
    const { store, clock } = this.#parts;
    const { keyOf } = this;
    const now = clock.now();
    const rows = await lockRows(tx, store, facts, keyOf);
    const inserted = await this.#insert(tx, rows.unknown, source, now);
    const folding = { rows, inserted, source, keyOf, take: takeCustomerFacts, now };
    const { applied } = await applyToRows(tx, store, folding);
    return applied;
  }

  async refresh(key: string): Promise<Applied> {
    const { database, store, processor } = this.#parts;
    const [row] = await store.findByKeys(database, [key]);
    const facts = await processor.customers.read(key);
    if (facts === null) return row === undefined ? ignoredAll(key) : unknownToProcessor;
    if (facts === 'deleted') return { ...nothingApplied, changed: (await this.erase(key)) ? [key] : [] };
    return database.transaction((tx) => this.apply(tx, [facts], revisionsOf(key, row)));
  }

  /** Removes the personal data. False if the row has none left. */
  erase(key: string): Promise<boolean> {
    const { database, store, clock } = this.#parts;
    return database.transaction(async (tx) => {
      const [customer] = await store.lockByKeys(tx, [key]);
      if (customer === undefined || customer.deletedAt !== null) return false;
      store.update(tx, [eraseCustomer(customer, clock.now())]);
      return true;
    });
  }

  /** The customers with these keys, including deleted ones. */
  async find(db: Queryable, keys: readonly (string | null)[]): Promise<CustomersByKey> {
    const customers = await this.#parts.store.findByKeys(
      db,
      keys.filter((key) => key !== null),
    );
    const byKey = new Map(customers.map((customer) => [this.keyOf(customer), customer]));
    return { get: (key) => (key === null ? undefined : byKey.get(key)) };
  }

  async #insert(
    tx: Transaction,
    unknown: readonly CustomerFacts[],
    source: Source,
    now: Date,
  ): Promise<Inserted<Customer> | undefined> {
    const { store, onRecovered } = this.#parts;
    const ours = unknown.flatMap((facts) => (isOurId(facts.localId) ? [{ id: facts.localId, facts }] : []));
    if (ours.length === 0) return undefined;
    // An event without an email address may have been redacted, so the customer is refreshed instead.
    const isComplete = ({ email, deleted }: CustomerFacts) =>
      email !== null || deleted || source !== 'events';
    const complete = ours.filter(({ facts }) => isComplete(facts));
    const made = await store.insert(
      tx,
      complete.map(({ id, facts }) => toCustomer(id, facts, now)),
    );
    if (made.length > 0) await onRecovered(tx, made);
    const incomplete = ours.filter(({ facts }) => !isComplete(facts));
    return { made, lost: incomplete.map(({ facts }) => this.keyOf(facts)) };
  }
}

export interface CustomersByKey {
  get(key: string | null): Customer | undefined;
}

/** A Till customer always has an email address. If the processor has none for a recovered customer, it is empty. */
export function toCustomer(id: string, facts: CustomerFacts, now: Date): Customer {
  const { processorCustomerId, email, name, phone, deleted, asOf } = facts;
  const person = deleted ? { email: null, name: null, phone: null } : { email: email ?? '', name, phone };
  return {
    id,
    processorCustomerId,
    ...person,
    deletedAt: deleted ? now : null,
    ...rowTime(asOf),
    createdAt: idTime(id),
    updatedAt: now,
    revision: 0,
  };
}
