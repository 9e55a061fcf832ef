import type { Logger } from '../platform/logger.ts';
import type { Database } from '../platform/postgres.ts';
import type { RetentionStore } from './retention-store.ts';

/** Batches, so that clearing the default partition never holds locks for long. */
const deletedPerBatch = 1_000;
const batchesMax = 100;

interface RetentionParts {
  readonly database: Database;
  readonly store: RetentionStore;
  readonly retentionDays: number;
  readonly logger: Logger;
}

/** Keeps weeks ready for the events to come, and drops those whose time is over; failed events are kept. */
export class Retention {
  readonly #parts: RetentionParts;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  async run(): Promise<void> {
    const { database, store, retentionDays, logger } = this.#parts;
    await store.makeWeeks(database);
    for (const week of await store.listExpiredWeeks(database, retentionDays)) {
      await database.transaction((tx) => store.dropWeek(tx, week));
      logger.info({ week }, 'a week of webhook events was dropped');
    }
    for (let batch = 0; batch < batchesMax; batch += 1) {
      if ((await store.deleteExpiredOthers(database, retentionDays, deletedPerBatch)) < deletedPerBatch)
        break;
    }
  }
}
