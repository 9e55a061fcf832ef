import { randomUUID } from 'node:crypto';
import { Failure, isDefiniteRefusal } from '../errors.ts';
import type { Adoption } from '../idempotency/adoption.ts';
import type { Created } from '../idempotency/creation.ts';
import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import { rowTime } from '../mirrors/facts.ts';
import {
  type Applied,
  foldFacts,
  groupFacts,
  type Source,
  withoutRow,
  withRecovery,
} from '../mirrors/fold.ts';
import type { Page, PageRequest } from '../mirrors/list-page.ts';
import {
  ignoredAll,
  noRevisions,
  nothingApplied,
  unknownThere,
  untilKnown,
  untilSettled,
} from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import { idTime, isOurId, isUuid } from '../platform/id.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import { SharedReads } from '../platform/shared-statement.ts';
import type { CustomerValues, Processor, Refused } from '../processor/processor.ts';
import { notReached, objectMissing } from '../processor/refused-write.ts';
import {
  type Customer,
  type CustomerFacts,
  eraseCustomer,
  isChangeIgnored,
  takeCustomerFacts,
} from './customer.ts';
import type { CustomerStore } from './customer-store.ts';

/** Rows at a time when all are walked through: few enough to hold, many enough that the walk is short. */
const livePageSize = 1_000;

interface CustomerParts {
  readonly database: Database;
  readonly store: CustomerStore;
  readonly processor: Processor;
  readonly idempotency: IdempotencyService;
  readonly clock: Clock;
  /** Called in the transaction that makes rows for customers that were lost. */
  readonly onRecovered: (tx: Transaction, customers: readonly Customer[]) => Promise<void>;
}

export class CustomerService {
  readonly #parts: CustomerParts;
  readonly #reads: SharedReads<Customer>;

  constructor(parts: CustomerParts) {
    this.#parts = parts;
    this.#reads = new SharedReads((ids) => parts.store.find(parts.database, ids));
  }

  create(values: CustomerValues, key: string | undefined): Promise<Created<Customer>> {
    const { processor, idempotency } = this.#parts;
    return idempotency.create<CustomerFacts, Customer>({
      operation: 'customers.create',
      key,
      request: values,
      parentId: null,
      call: (id, idempotencyKey) => processor.customers.create({ ...values, id, idempotencyKey }),
      ...this.adoption(),
      replay: (id) => this.read(id),
    });
  }

  adoption(): Adoption<CustomerFacts, Customer> {
    return {
      find: (localId, since) => this.#parts.processor.customers.find({ localId, since }),
      record: (tx, id, facts) => this.#record(tx, id, facts),
      refresh: ({ processorCustomerId }) => untilSettled(() => this.refresh(processorCustomerId)),
      release: async () => {},
    };
  }

  async #record(tx: Transaction, id: string, facts: CustomerFacts): Promise<Customer> {
    const { store, clock } = this.#parts;
    await store.insert(tx, [toCustomer(id, facts, clock.now())]);
    return found((await store.find(tx, [id]))[0]);
  }

  async read(id: string): Promise<Customer> {
    return found(isUuid(id) ? await this.#reads.read(id) : undefined);
  }

  list(request: PageRequest): Promise<Page<Customer>> {
    return this.#parts.store.list(this.#parts.database, request);
  }

  async update(id: string, change: Partial<CustomerValues>): Promise<Customer> {
    const { database, processor } = this.#parts;
    const customer = await this.read(id);
    if (Object.keys(change).length === 0) return customer;
    const { processorCustomerId } = customer;
    // A key of its own for every request: the same change made twice is two changes.
    const attempt = await processor.customers.update({
      ...change,
      processorCustomerId,
      idempotencyKey: randomUUID(),
    });
    if (attempt.outcome !== 'done') {
      // Deleted at the processor, perhaps, and the event has not arrived. Then the row is erased, and the read is a 404.
      await this.#correct(processorCustomerId);
      await this.read(id);
      throw notReached(attempt, 'customer', 'unchanged');
    }
    if (isChangeIgnored(customer, change, attempt.value)) throw notReached(attempt, 'customer', 'unchanged');
    const revisions = new Map([[processorCustomerId, customer.revision]]);
    const { unsettled } = await database.transaction((tx) => this.apply(tx, [attempt.value], revisions));
    if (unsettled.length > 0) await this.#correct(processorCustomerId);
    return this.read(id);
  }

  /**
   * Deletes the customer at the processor, which ends its subscriptions; brings ours up to date, whatever became of each;
   * and erases what we know of the person, last, so that a request that fails halfway can be sent again.
   */
  async delete(id: string, correctSubscriptions: (customerId: string) => Promise<void>): Promise<void> {
    const { processor } = this.#parts;
    const customer = await this.read(id);
    const { processorCustomerId } = customer;
    const attempt = await processor.customers.delete(processorCustomerId);
    if (attempt.outcome !== 'done') await this.#requireDeleted(customer, attempt);
    await correctSubscriptions(id);
    await this.#erase(processorCustomerId);
  }

  /** A refused deletion proves nothing; only a read that says `deleted` does. */
  async #requireDeleted({ processorCustomerId, revision }: Customer, refused: Refused): Promise<void> {
    const { database, processor } = this.#parts;
    const present = await processor.customers.read(processorCustomerId);
    if (present === 'deleted') return;
    if (present === null) throw objectMissing('customer');
    const revisions = new Map([[processorCustomerId, revision]]);
    await database.transaction((tx) => this.apply(tx, [present], revisions));
    throw notReached(refused, 'customer', 'not deleted');
  }

  #correct(processorCustomerId: string): Promise<void> {
    return untilKnown('customer', () => this.refresh(processorCustomerId));
  }

  /** Calls the processor about a customer. If it refuses because of the customer, the failure says what is wrong with it. */
  async tellTruth<T>(id: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw await this.truthBehind(error, id);
    }
  }

  /**
   * What to tell a caller whose request the processor refused because of the customer. If it is deleted there, ours is
   * corrected first, and the answer tells the truth. If it is unknown there, this throws.
   */
  async truthBehind(error: unknown, id: string): Promise<unknown> {
    const isAboutCustomer = isDefiniteRefusal(error) && error.extras.processorParam === 'customer';
    const customer = isAboutCustomer ? await this.findAny(this.#parts.database, id) : undefined;
    if (customer === undefined) return error;
    await this.#correct(customer.processorCustomerId);
    const corrected = await this.findAny(this.#parts.database, id);
    return corrected?.deletedAt === null ? error : notFound();
  }

  /** Deleted ones included. */
  findAny(db: Queryable, id: string): Promise<Customer | undefined> {
    return this.#parts.store.findAny(db, id);
  }

  /** The customers behind the processor's ids, deleted ones included. */
  async findByProcessorIds(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, Customer>> {
    const customers = await this.#parts.store.findByProcessorIds(db, ids);
    return new Map(customers.map((customer) => [customer.processorCustomerId, customer]));
  }

  /** Reads the processor's present state into ours. */
  async refresh(processorCustomerId: string): Promise<Applied> {
    const { database, store, processor } = this.#parts;
    const [row] = await store.findByProcessorIds(database, [processorCustomerId]);
    const facts = await processor.customers.read(processorCustomerId);
    if (facts === null) return row === undefined ? ignoredAll(processorCustomerId) : unknownThere;
    if (facts === 'deleted') {
      const erased = await this.#erase(processorCustomerId);
      return { ...nothingApplied, changed: erased ? [processorCustomerId] : [] };
    }
    const revisions = row === undefined ? noRevisions : new Map([[processorCustomerId, row.revision]]);
    return database.transaction((tx) => this.apply(tx, [facts], revisions));
  }

  /** All that are not deleted, page after page. */
  async *listLive(): AsyncGenerator<readonly Customer[]> {
    const { database, store } = this.#parts;
    let page = await store.listLiveAfter(database, null, livePageSize);
    while (page.length > 0) {
      yield page;
      page = await store.listLiveAfter(database, page.at(-1)?.id ?? null, livePageSize);
    }
  }

  /** Takes in what the processor says. */
  async apply(tx: Transaction, facts: readonly CustomerFacts[], source: Source): Promise<Applied> {
    const { store, clock, onRecovered } = this.#parts;
    const groups = groupFacts(facts, keyOf);
    const known = await store.lockByProcessorIds(tx, [...groups.keys()]);
    const now = clock.now();
    const lost = withoutRow(groups, known, keyOf).filter(({ localId }) => isOurId(localId));
    // An event that shows no address may be one whose personal data was removed: the row is refreshed instead.
    const isComplete = ({ email, deleted }: CustomerFacts) =>
      email !== null || deleted || source !== 'events';
    const made = await store.insert(
      tx,
      lost.filter(isComplete).map((first) => toCustomer(first.localId ?? '', first, now)),
    );
    if (made.length > 0) await onRecovered(tx, made);
    const { written, applied } = foldFacts({
      rows: lost.length === 0 ? known : await store.lockByProcessorIds(tx, [...groups.keys()]),
      groups,
      source,
      keyOf,
      take: (customer, next: CustomerFacts, origin) => takeCustomerFacts(customer, next, origin, now),
    });
    store.update(
      tx,
      written.map(({ after }) => after),
    );
    return withRecovery(applied, {
      made: made.map(keyOf),
      lost: lost.filter((first) => !isComplete(first)).map(keyOf),
    });
  }

  /** False if there was nothing left to erase. */
  #erase(processorCustomerId: string): Promise<boolean> {
    const { database, store, clock } = this.#parts;
    return database.transaction(async (tx) => {
      const [customer] = await store.lockByProcessorIds(tx, [processorCustomerId]);
      if (customer === undefined || customer.deletedAt !== null) return false;
      store.update(tx, [eraseCustomer(customer, clock.now())]);
      return true;
    });
  }
}

/** A Till customer always has an address; one that was cleared at the processor before it was recovered is empty. */
function toCustomer(id: string, facts: CustomerFacts, now: Date): Customer {
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

function found(customer: Customer | undefined): Customer {
  if (customer === undefined) throw notFound();
  return customer;
}

function notFound(): Failure {
  return new Failure('not_found', 'No customer has this id. Check the id.');
}

function keyOf({ processorCustomerId }: { readonly processorCustomerId: string }): string {
  return processorCustomerId;
}
