import type { Database, Queryable } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import type { ErasureStore, KeptPayload } from './erasure-store.ts';

/** Few enough that payloads of the largest size fit into memory together. */
const eventsPerBatch = 100;
/** A million events a run: a large inbox of an older release in a few hours, and a run always ends. */
const batchesPerRunMax = 10_000;
/** Customers looked up at a time. */
const customersPerPage = 100;

interface ErasureParts {
  readonly database: Database;
  readonly store: ErasureStore;
  readonly processor: Processor;
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
    const { database, store } = this.#parts;
    const budget = { batches: batchesPerRunMax };
    await this.#rewrite(budget, signal, (tx) => store.lockUnchecked(tx, eventsPerBatch));
    while (budget.batches > 0 && !signal?.aborted) {
      const due = await store.listDue(database, customersPerPage);
      for (const customer of due) {
        const { processorCustomerId } = customer;
        const isDone = await this.#rewrite(budget, signal, (tx) =>
          store.lockOfCustomer(tx, processorCustomerId, eventsPerBatch),
        );
        if (!isDone) return;
        await store.markErased(database, customer);
      }
      if (due.length < customersPerPage) return;
    }
  }

  /** Batch after batch, until none is full; false if the run has to end before. */
  async #rewrite(
    budget: { batches: number },
    signal: AbortSignal | undefined,
    lock: (tx: Queryable) => Promise<readonly KeptPayload[]>,
  ): Promise<boolean> {
    const { database, store, processor } = this.#parts;
    for (; budget.batches > 0 && !signal?.aborted; budget.batches -= 1) {
      const size = await database.transaction(async (tx) => {
        const kept = await lock(tx);
        if (kept.length > 0) {
          await store.rewrite(
            tx,
            kept.map((event) => ({ ...event, ...processor.minimise(event.payload) })),
          );
        }
        return kept.length;
      });
      if (size < eventsPerBatch) return true;
    }
    return false;
  }
}
