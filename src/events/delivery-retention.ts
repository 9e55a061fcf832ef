import type { Logger } from '../platform/logger.ts';
import { type Database, isLockTimeout } from '../platform/postgres.ts';
import type { DeliveryListStore } from './delivery-list-store.ts';

/** Few enough that a statement takes milliseconds, and so does not hold its locks for long. */
const rowsPerBatch = 1_000;
/** A hundred thousand rows per run. The next run continues. */
const batchesMax = 100;

interface DeliveryRetentionParts {
  readonly database: Database;
  readonly store: DeliveryListStore;
  readonly retentionDays: number;
  readonly logger: Logger;
}

/** Creates weekly partitions for future deliveries, drops expired ones, and erases responses about deleted customers. */
export class DeliveryRetention {
  readonly #parts: DeliveryRetentionParts;

  constructor(parts: DeliveryRetentionParts) {
    this.#parts = parts;
  }

  /** False if work is left that should be done soon. */
  async run(): Promise<boolean> {
    const { database, store, retentionDays, logger } = this.#parts;
    let isDone = await this.#unlessLocked(() => store.makeWeeks(database));
    for (const week of await store.listExpiredWeeks(database, retentionDays)) {
      const isDropped = await this.#unlessLocked(() => store.dropWeek(database, week));
      if (isDropped) logger.info({ week }, 'week of event deliveries dropped');
      isDone &&= isDropped;
    }
    const others = () => store.deleteExpiredOthers(database, retentionDays, rowsPerBatch);
    return (await inBatches(others)) && isDone;
  }

  /** Removes what endpoints responded to events about a customer. False if one run should not do all the work. */
  eraseCustomer(customerId: string): Promise<boolean> {
    const { database, store } = this.#parts;
    return inBatches(() => store.eraseResponses(database, customerId, rowsPerBatch));
  }

  /** False if the table is locked. */
  async #unlessLocked(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      this.#parts.logger.info({ err: error }, 'maintenance of event deliveries postponed: table locked');
      return false;
    }
  }
}

async function inBatches(work: () => Promise<number>): Promise<boolean> {
  for (let batch = 0; batch < batchesMax; batch += 1) if ((await work()) < rowsPerBatch) return true;
  return false;
}
