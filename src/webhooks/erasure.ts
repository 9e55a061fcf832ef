import type { CustomerService } from '../customers/customer-service.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import type { ErasureStore, KeptPayload, Place } from './erasure-store.ts';

/** Few enough that payloads of the largest size fit into memory together. */
const eventsPerBatch = 100;
/** A million events of deleted customers a run: far more than there are, and a run always ends. */
const batchesPerRunMax = 10_000;
/**
 * Of what an older release stored, twenty thousand events a run: a deleted customer waits seconds behind them and not
 * hours, the database has rest in between, and a large inbox is done within a day.
 */
const uncheckedBatchesPerRunMax = 200;
/** Customers looked up at a time. */
const customersPerPage = 100;

interface ErasureParts {
  readonly database: Database;
  readonly store: ErasureStore;
  readonly processor: Processor;
  readonly customers: Pick<CustomerService, 'listToErase' | 'markErased'>;
}

/**
 * Takes out of the inbox what it holds of people: of customers who were deleted, of customers who are none of ours, and what an
 * older release stored. What is left to do follows from the tables alone, so a run may end anywhere, and any number of
 * processes may run at once.
 */
export class Erasure {
  readonly #parts: ErasureParts;

  constructor(parts: ErasureParts) {
    this.#parts = parts;
  }

  async run(signal?: AbortSignal): Promise<void> {
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
        const isDone = await this.#rewrite(budget, signal, (tx, after) =>
          store.lockOfCustomer(tx, processorCustomerId, after, eventsPerBatch),
        );
        if (!isDone) return;
        await customers.markErased(customer);
      }
      if (due.length < customersPerPage) return;
    }
  }

  /** Batch after batch, until none is full; false if the run has to end before. */
  async #rewrite(
    budget: { batches: number },
    signal: AbortSignal | undefined,
    lock: (tx: Transaction, after: Place | undefined) => Promise<readonly KeptPayload[]>,
  ): Promise<boolean> {
    const { database, store, processor } = this.#parts;
    let after: Place | undefined;
    for (; budget.batches > 0 && !signal?.aborted; budget.batches -= 1) {
      const kept = await database.transaction(async (tx) => {
        const locked = await lock(tx, after);
        const redacted = locked.map((event) => ({ ...event, ...processor.redact(event.payload) }));
        if (redacted.length > 0) await store.rewrite(tx, redacted);
        return locked;
      });
      if (kept.length < eventsPerBatch) return true;
      after = kept.at(-1);
    }
    return false;
  }
}
