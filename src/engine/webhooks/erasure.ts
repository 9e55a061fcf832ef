import { runAs } from '#core/platform/cause.ts';
import { type Database, isOutage, type Transaction } from '#core/platform/postgres.ts';
import type { Processor } from '#processor/port/processor.ts';
import {
  type ErasureStore,
  eventsOfCustomer,
  type InboxPosition,
  type StoredPayload,
} from './erasure-store.ts';

/** Few enough that a batch of payloads of the maximum size fits into memory. */
const eventsPerBatch = 100;
/** These rows are small, such as usage events: a batch takes a few tens of milliseconds. */
const rowsPerBatch = 1_000;
/** A million events of deleted customers per run: far more than expected. The limit ensures that every run ends. */
const batchesPerRunMax = 10_000;
/** If this many customers cannot be erased, the cause is probably the same for all. */
const failuresMax = 100;
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
  readonly customers: DeletedCustomers;
  /** The events for applications, their deliveries, and what features keep. */
  readonly events: {
    eraseOfCustomer(
      db: Database,
      search: { readonly customerId: string; readonly after: number; readonly limit: number },
    ): Promise<{ readonly count: number; readonly last: number | null }>;
  };
  readonly deliveries: { eraseResponses(db: Database, customerId: string, limit: number): Promise<number> };
  readonly searched: readonly SearchedRows[];
}

/** Rows without a mirror in which the data of a deleted customer is searched for, once no request adds any. */
export interface SearchedRows {
  /** Erases the next rows, beginning with those of the time at which the last batch ended. */
  eraseOfCustomer(
    tx: Transaction,
    search: { readonly customerId: string; readonly from: string | null; readonly limit: number },
  ): Promise<{ readonly count: number; readonly last: string | null }>;
}

/** A deleted customer whose data is searched for. */
interface DeletedCustomer {
  readonly id: string;
  readonly processorCustomerId: string;
  /** Whether this is the second search. */
  readonly isSearched: boolean;
}

interface DeletedCustomers {
  listToErase(skippedIds: readonly string[], limit: number): Promise<readonly DeletedCustomer[]>;
  /** Erases the rows that belong to the customer. */
  eraseOwned(processorCustomerId: string): Promise<void>;
  markErased(customer: DeletedCustomer): Promise<void>;
}

/** Erases the next batch. False if it was not full, so that nothing is left. */
type EraseBatch = () => Promise<boolean>;

/** The remaining limits of a run. */
interface Budget {
  batches: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Removes personal data from the inbox, from the events for applications, from their deliveries and from usage events:
 * of deleted customers, and of customers that do not belong to Till. The tables show what is left to do, so a run can
 * stop anywhere, and several processes can run at once.
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
    const failures = await this.#eraseDeleted({ batches: batchesPerRunMax, signal });
    const rewrite = this.#rewriter((tx, after) => store.lockUnchecked(tx, after, eventsPerBatch));
    await inBatches(rewrite, { batches: uncheckedBatchesPerRunMax, signal });
    if (failures.size > 0) throw [...failures.values()][0];
  }

  /** Returns why customers could not be erased, by their ids. A failure does not delay the others. */
  async #eraseDeleted(budget: Budget): Promise<ReadonlyMap<string, unknown>> {
    const { customers } = this.#parts;
    const failures = new Map<string, unknown>();
    while (budget.batches > 0 && failures.size < failuresMax && !budget.signal?.aborted) {
      const due = await customers.listToErase([...failures.keys()], customersPerPage);
      for (const customer of due) {
        try {
          if (!(await this.#erase(customer, budget))) return failures;
        } catch (error) {
          if (isOutage(error)) throw error;
          failures.set(customer.id, error);
        }
      }
      if (due.length < customersPerPage) break;
    }
    return failures;
  }

  /** False if the run has to stop early. */
  async #erase(customer: DeletedCustomer, budget: Budget): Promise<boolean> {
    const { customers } = this.#parts;
    await customers.eraseOwned(customer.processorCustomerId);
    for (const erase of this.#searchesFor(customer)) if (!(await inBatches(erase, budget))) return false;
    await customers.markErased(customer);
    return true;
  }

  /** The steps that remove the data of a customer from each table. */
  #searchesFor({ id, processorCustomerId, isSearched }: DeletedCustomer): readonly EraseBatch[] {
    const { database, store, events, deliveries, searched } = this.#parts;
    let last = 0;
    return [
      ...eventsOfCustomer.map((about) =>
        this.#rewriter((tx, after) =>
          store.lockOfCustomer(tx, { processorCustomerId, about }, after, eventsPerBatch),
        ),
      ),
      async () => {
        const search = { customerId: id, after: last, limit: eventsPerBatch };
        const batch = await events.eraseOfCustomer(database, search);
        last = batch.last ?? last;
        return batch.count === eventsPerBatch;
      },
      async () => (await deliveries.eraseResponses(database, id, eventsPerBatch)) >= eventsPerBatch,
      // A repeated batch of usage may have read the customer before the deletion. It must still find the ids of its
      // events, or it would count them again. It ends long before the second search.
      ...(isSearched ? searched : []).map((rows) => this.#eraser(id, rows)),
    ];
  }

  #eraser(customerId: string, rows: SearchedRows): EraseBatch {
    let from: string | null = null;
    return async () => {
      const search = { customerId, from, limit: rowsPerBatch };
      const batch = await this.#parts.database.transaction((tx) => rows.eraseOfCustomer(tx, search));
      from = batch.last;
      return batch.count === rowsPerBatch;
    };
  }

  /** Rewrites the events that `lock` finds after those of the last batch. */
  #rewriter(
    lock: (tx: Transaction, after: InboxPosition | undefined) => Promise<readonly StoredPayload[]>,
  ): EraseBatch {
    const { database, store, processor } = this.#parts;
    let after: InboxPosition | undefined;
    return async () => {
      const locked = await database.transaction(async (tx) => {
        const found = await lock(tx, after);
        const redacted = found.map((event) => ({ ...event, ...processor.redact(event.payload) }));
        if (redacted.length > 0) await store.rewrite(tx, redacted);
        return found;
      });
      after = locked.at(-1);
      return locked.length === eventsPerBatch;
    };
  }
}

/** Erases until a batch is not full. False if the run has to stop early. */
async function inBatches(erase: EraseBatch, budget: Budget): Promise<boolean> {
  for (; budget.batches > 0 && !budget.signal?.aborted; budget.batches -= 1)
    if (!(await erase())) return true;
  return false;
}
