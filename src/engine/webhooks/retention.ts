import type { Platform } from '#core/platform/platform.ts';
import { isLockTimeout } from '#core/platform/postgres.ts';
import type { WeeksStore } from '#core/platform/weeks-store.ts';
import { InboxWeeksStore } from './inbox-weeks-store.ts';

/** Few enough that a statement takes milliseconds and does not hold its locks for long. */
const eventsPerBatch = 1_000;
/** A hundred thousand events per run. The next run continues. */
const batchesMax = 100;

/**
 * Creates future weekly partitions and drops expired ones: of the inbox, of the events for applications, of their
 * deliveries, and of the audit log. Keeps failed events of the inbox. No step waits for a lock that others hold for
 * long, such as the lock of a backup. A run can stop after any step, and the next run continues.
 */
export class Retention {
  readonly #context: Platform;
  readonly #inboxWeeks = new InboxWeeksStore();
  readonly #retentionDays: number;
  /** For other tables: events, deliveries and the audit log. */
  readonly #weeks: readonly { readonly store: WeeksStore; readonly days: number }[];

  constructor(
    context: Platform,
    retentionDays: number,
    weeks: readonly { readonly store: WeeksStore; readonly days: number }[],
  ) {
    this.#context = context;
    this.#retentionDays = retentionDays;
    this.#weeks = weeks;
  }

  /** False if urgent work is left. */
  async run(): Promise<boolean> {
    const { database, logger } = this.#context;
    // Events of a detached week are not visible, so the same step moves the events to keep: all pending events and,
    // unless there are very many, all failed ones.
    const outcomes = await this.#keep(this.#inboxWeeks, this.#retentionDays, async (week) => {
      if (!(await this.#inboxWeeks.removeWeek(database, week)))
        logger.warn({ week }, 'expired week of webhook events kept: too many pending events');
    });
    for (const week of await this.#inboxWeeks.listDetachedWeeks(database))
      outcomes.push(await this.#unlessLocked(() => this.#drop(week)));
    for (const { store, days } of this.#weeks) {
      // Unlike in the inbox, no row is kept longer.
      const dropWhole = async (week: string) => {
        await store.removeWeek(database, week);
        logger.info({ week }, 'week dropped');
      };
      outcomes.push(...(await this.#keep(store, days, dropWhole)));
    }
    return outcomes.every((isDone) => isDone);
  }

  async #keep(weeks: WeeksStore, days: number, remove: (week: string) => Promise<void>): Promise<boolean[]> {
    const { database } = this.#context;
    const outcomes = [await this.#unlessLocked(() => weeks.makeWeeks(database))];
    for (const week of await weeks.listExpiredWeeks(database, days))
      outcomes.push(await this.#unlessLocked(() => remove(week)));
    const deleteOthers = () => weeks.deleteExpiredOthers(database, days, eventsPerBatch);
    return [...outcomes, await this.#inBatches(deleteOthers)];
  }

  async #drop(week: string): Promise<boolean> {
    const { database, logger } = this.#context;
    const isMoved = await this.#inBatches(() => this.#inboxWeeks.moveFailed(database, week, eventsPerBatch));
    if (!isMoved || !(await this.#inboxWeeks.dropDetachedWeek(database, week))) return false;
    logger.info({ week }, 'week of webhook events dropped');
    return true;
  }

  /** False if there is too much work for one run. */
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
      this.#context.logger.info({ err: error }, 'maintenance of weeks postponed: table locked');
      return false;
    }
  }
}
