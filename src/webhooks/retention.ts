import type { Logger } from '../platform/logger.ts';
import { type Database, isLockTimeout } from '../platform/postgres.ts';
import type { RetentionStore } from './retention-store.ts';

/** Few enough that a statement takes milliseconds, and so does not hold its locks for long. */
const eventsPerBatch = 1_000;
/** Up to this many failed and pending events each move while the inbox is locked: about ten milliseconds. */
const movedWithWeekMax = 500;
/** A hundred thousand events per run. The next run continues. */
const batchesMax = 100;

interface RetentionParts {
  readonly database: Database;
  readonly store: RetentionStore;
  readonly retentionDays: number;
  /** Of events and of deliveries. */
  readonly eventWeeks: readonly EventWeeks[];
  readonly eventRetentionDays: number;
  readonly logger: Logger;
}

/** The weekly partitions of the events for applications, or of their deliveries. */
interface EventWeeks {
  makeWeeks(db: Database): Promise<void>;
  listExpiredWeeks(db: Database, retentionDays: number): Promise<readonly string[]>;
  dropWeek(db: Database, week: string): Promise<void>;
  deleteExpiredOthers(db: Database, retentionDays: number, limit: number): Promise<number>;
}

/**
 * Creates weekly partitions for the time to come, and drops expired ones: of the inbox, of the events for applications,
 * and of their deliveries. Keeps failed events of the inbox. No step waits for a lock that others hold for long, such as
 * the lock of a backup. A run can stop after any step, and the next run continues.
 */
export class Retention {
  readonly #parts: RetentionParts;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** False if work is left that should be done soon. */
  async run(): Promise<boolean> {
    const { database, store, retentionDays } = this.#parts;
    const outcomes = [await this.#unlessLocked(() => store.makeWeeks(database))];
    for (const week of await store.listExpiredWeeks(database, retentionDays))
      outcomes.push(await this.#unlessLocked(() => this.#detach(week)));
    for (const week of await store.listDetachedWeeks(database))
      outcomes.push(await this.#unlessLocked(() => this.#drop(week)));
    outcomes.push(
      await this.#inBatches(() => store.deleteExpiredOthers(database, retentionDays, eventsPerBatch)),
    );
    for (const weeks of this.#parts.eventWeeks) outcomes.push(...(await this.#keep(weeks)));
    return outcomes.every((isDone) => isDone);
  }

  /** Drops expired weeks whole: unlike in the inbox, nothing in them is kept longer. */
  async #keep(weeks: EventWeeks): Promise<readonly boolean[]> {
    const { database, eventRetentionDays, logger } = this.#parts;
    const outcomes = [await this.#unlessLocked(() => weeks.makeWeeks(database))];
    for (const week of await weeks.listExpiredWeeks(database, eventRetentionDays)) {
      const isDropped = await this.#unlessLocked(() => weeks.dropWeek(database, week));
      if (isDropped) logger.info({ week }, 'week of events dropped');
      outcomes.push(isDropped);
    }
    const deleteOthers = () => weeks.deleteExpiredOthers(database, eventRetentionDays, eventsPerBatch);
    return [...outcomes, await this.#inBatches(deleteOthers)];
  }

  /**
   * Events of a detached week are not visible, so the events to keep move in the same step: all pending events and,
   * unless there are very many, all failed ones.
   */
  async #detach(week: string): Promise<void> {
    const { database, store, logger } = this.#parts;
    if (!(await store.detachWeek(database, week, movedWithWeekMax)))
      logger.warn({ week }, 'expired week of webhook events kept: too many pending events');
  }

  async #drop(week: string): Promise<boolean> {
    const { database, store, logger } = this.#parts;
    const isMoved = await this.#inBatches(() => store.moveFailed(database, week, eventsPerBatch));
    if (!isMoved || !(await store.dropDetachedWeek(database, week))) return false;
    logger.info({ week }, 'week of webhook events dropped');
    return true;
  }

  /** False if one run should not do all the work. */
  async #inBatches(work: () => Promise<number>): Promise<boolean> {
    for (let batch = 0; batch < batchesMax; batch += 1) if ((await work()) < eventsPerBatch) return true;
    return false;
  }

  /** False if the table is locked. */
  async #unlessLocked(work: () => Promise<unknown>): Promise<boolean> {
    try {
      return (await work()) !== false;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      this.#parts.logger.info({ err: error }, 'maintenance of weeks postponed: table locked');
      return false;
    }
  }
}
