import type { CustomerService } from '../customers/customer-service.ts';
import { runAs } from '../platform/cause.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import type { Processor } from '../processor/port/processor.ts';
import {
  type ErasureStore,
  eventsOfCustomer,
  type InboxPosition,
  type StoredPayload,
} from './erasure-store.ts';

/** Few enough that a batch of payloads of the maximum size fits into memory. */
const eventsPerBatch = 100;
/** A million events of deleted customers per run: far more than expected. The limit ensures that every run ends. */
const batchesPerRunMax = 10_000;
/**
 * Twenty thousand events that must be searched again per run. So the data of a deleted customer waits for them for
 * seconds, not hours, and the load on the database is spread out.
 */
const uncheckedBatchesPerRunMax = 200;
const customersPerPage = 100;

interface ErasureParts {
  readonly database: Database;
  readonly store: ErasureStore;
  readonly processor: Processor;
  readonly customers: Pick<CustomerService, 'listToErase' | 'eraseOwned' | 'markErased'>;
  readonly events: EventsToErase;
  readonly deliveries: DeliveriesToErase;
  readonly usage: UsageToErase;
}

/** The events for applications. */
interface EventsToErase {
  eraseOfCustomer(
    db: Database,
    search: { readonly customerId: string; readonly after: number; readonly limit: number },
  ): Promise<{ readonly count: number; readonly last: number | null }>;
}

/** Their deliveries. */
interface DeliveriesToErase {
  eraseResponses(db: Database, customerId: string, limit: number): Promise<number>;
}

/** What customers have used. */
interface UsageToErase {
  eraseOfCustomer(db: Database, customerId: string, limit: number): Promise<number>;
}

/**
 * Removes personal data from the inbox, from the events for applications, from their deliveries and from usage events: of
 * deleted customers, and of customers that do not belong to Till. The tables show what is left to do, so a run can stop
 * anywhere, and several processes can run at once.
 */
export class Erasure {
  readonly #parts: ErasureParts;

  constructor(parts: ErasureParts) {
    this.#parts = parts;
  }

  run(signal?: AbortSignal): Promise<void> {
    return runAs('sweeper', () => this.#run(signal));
  }

  async #run(signal: AbortSignal | undefined): Promise<void> {
    const { store } = this.#parts;
    await this.#eraseDeleted({ batches: batchesPerRunMax }, signal);
    await this.#rewrite({ batches: uncheckedBatchesPerRunMax }, signal, (tx, after) =>
      store.lockUnchecked(tx, after, eventsPerBatch),
    );
  }

  async #eraseDeleted(budget: { batches: number }, signal: AbortSignal | undefined): Promise<void> {
    const { store, customers } = this.#parts;
    while (budget.batches > 0 && !signal?.aborted) {
      const due = await customers.listToErase(customersPerPage);
      for (const customer of due) {
        const { processorCustomerId } = customer;
        await customers.eraseOwned(customer);
        for (const about of eventsOfCustomer) {
          const isDone = await this.#rewrite(budget, signal, (tx, after) =>
            store.lockOfCustomer(tx, { processorCustomerId, about }, after, eventsPerBatch),
          );
          if (!isDone) return;
        }
        if (!(await this.#eraseEvents(customer.id, budget, signal))) return;
        const { database, deliveries, usage } = this.#parts;
        const erase = (limit: number) => deliveries.eraseResponses(database, customer.id, limit);
        if (!(await this.#eraseInBatches(erase, budget, signal))) return;
        // A repeated batch may have read the customer before the deletion. It must still find the ids of its events, or
        // it would count them again. Long before the second search it has ended.
        const eraseUsage = (limit: number) =>
          customer.isSearched ? usage.eraseOfCustomer(database, customer.id, limit) : Promise.resolve(0);
        if (!(await this.#eraseInBatches(eraseUsage, budget, signal))) return;
        await customers.markErased(customer);
      }
      if (due.length < customersPerPage) return;
    }
  }

  /** Removes personal data from the events for applications. False if the run has to stop early. */
  async #eraseEvents(
    customerId: string,
    budget: { batches: number },
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { database, events } = this.#parts;
    let after = 0;
    for (; budget.batches > 0 && !signal?.aborted; budget.batches -= 1) {
      const { count, last } = await events.eraseOfCustomer(database, {
        customerId,
        after,
        limit: eventsPerBatch,
      });
      if (count < eventsPerBatch || last === null) return true;
      after = last;
    }
    return false;
  }

  /** Erases the response bodies of deliveries, or usage events. False if the run has to stop early. */
  async #eraseInBatches(
    erase: (limit: number) => Promise<number>,
    budget: { batches: number },
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    for (; budget.batches > 0 && !signal?.aborted; budget.batches -= 1)
      if ((await erase(eventsPerBatch)) < eventsPerBatch) return true;
    return false;
  }

  /** Rewrites batches until one is not full. False if the run has to stop early. */
  async #rewrite(
    budget: { batches: number },
    signal: AbortSignal | undefined,
    lock: (tx: Transaction, after: InboxPosition | undefined) => Promise<readonly StoredPayload[]>,
  ): Promise<boolean> {
    const { database, store, processor } = this.#parts;
    let after: InboxPosition | undefined;
    for (; budget.batches > 0 && !signal?.aborted; budget.batches -= 1) {
      const rewritten = await database.transaction(async (tx) => {
        const locked = await lock(tx, after);
        const redacted = locked.map((event) => ({ ...event, ...processor.redact(event.payload) }));
        if (redacted.length > 0) await store.rewrite(tx, redacted);
        return locked;
      });
      if (rewritten.length < eventsPerBatch) return true;
      after = rewritten.at(-1);
    }
    return false;
  }
}
