import { randomInt } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Failure, type FailureCode } from '../errors.ts';
import { untilSettled } from '../mirrors/ask.ts';
import type { Applied } from '../mirrors/fold.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Database } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import { eventTypes } from './event-types.ts';
import type { Inbox } from './inbox.ts';
import type { RecoveryStore } from './recovery-store.ts';

/** Renewed with every page; a process that dies in the middle of a run holds the others up no longer than this. */
const leaseMs = 60_000;
/** Events that the processor lists late, and clocks that differ, fall into this overlap; the inbox drops what it has. */
const overlapMs = 600_000;
/** What the processor keeps. After a longer gap its list has holes, and only the objects themselves tell the truth. */
const listingAgeMsMax = 30 * 86_400_000;
/** Rows looked at per run: with a run every five minutes, a few hundred thousand a week. */
const staleRowsMax = 100;
/** Between two background reads, so that they never crowd out people's requests: ten a second at most. */
const readDelayMs = 100;

interface RecoveryParts {
  readonly database: Database;
  readonly store: RecoveryStore;
  readonly processor: Processor;
  readonly inbox: Inbox;
  readonly payments: { ask(id: string): Promise<Applied> };
  readonly subscriptions: { ask(id: string): Promise<Applied> };
  /** Compares everything with the processor. */
  readonly resync: (afterEachPage: () => Promise<void>) => Promise<unknown>;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Makes good what webhooks missed: the processor's own list of events, and a look at rows that have been quiet too long. */
export class Recovery {
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** One run, by one process at a time; false if another process is at it. */
  async run(signal?: AbortSignal): Promise<boolean> {
    const { database, store } = this.#parts;
    const owner = randomInt(1, 2 ** 31 - 1);
    const lease = await store.lease(database, owner, leaseMs);
    if (lease === undefined) return false;
    /** Between two reads: a run that is to end ends here, and one that goes on keeps its lease and its pace. */
    const pause = async () => {
      await setTimeout(readDelayMs, undefined, signal === undefined ? {} : { signal });
      if (!(await store.renew(database, owner, leaseMs)))
        throw new Error('another run has taken the recovery over');
    };
    let readUntil: Date | null = null;
    try {
      readUntil = await this.#readEvents(lease.readUntil, this.#startTime(lease.databaseNow), pause);
      await this.#lookAtStaleRows(pause);
      return true;
    } finally {
      await store.release(database, owner, readUntil);
    }
  }

  /** By the clock that is behind: one that runs ahead must not hide the events until it is right again. */
  #startTime(databaseNow: Date): Date {
    const now = this.#parts.clock.now();
    return now < databaseNow ? now : databaseNow;
  }

  async #readEvents(readUntil: Date | null, startedAt: Date, pause: () => Promise<void>): Promise<Date> {
    const { logger, resync } = this.#parts;
    const from = readUntil ?? startedAt;
    if (startedAt.getTime() - from.getTime() > listingAgeMsMax) {
      logger.warn(
        { readUntil },
        "the gap is longer than the processor's memory of events; everything is compared",
      );
      await resync(pause);
      return startedAt;
    }
    const since = new Date(from.getTime() - overlapMs);
    let missed = 0;
    for await (const page of this.#parts.processor.events.listSince(since, eventTypes)) {
      const receipts = await Promise.all(page.map((event) => this.#parts.inbox.receive(event)));
      missed += receipts.filter((receipt) => receipt === 'stored').length;
      await pause();
    }
    if (missed > 0)
      logger.warn({ missed, since }, 'events that no webhook had brought were found in the list');
    // Never later than our own time: an event from a clock that runs ahead must not hide those that come after it.
    return startedAt;
  }

  async #lookAtStaleRows(pause: () => Promise<void>): Promise<void> {
    const { database, store, payments, subscriptions } = this.#parts;
    for (const id of await store.listStalePayments(database, staleRowsMax)) {
      await this.#look('payment', id, () => payments.ask(id));
      await store.markPaymentChecked(database, id);
      await pause();
    }
    for (const id of await store.listStaleSubscriptions(database, staleRowsMax)) {
      await this.#look('subscription', id, () => subscriptions.ask(id));
      await store.markSubscriptionChecked(database, id);
      await pause();
    }
  }

  /** A row that cannot be compared must not keep the others from it; if nobody can be asked, the run ends here. */
  async #look(resource: string, id: string, ask: () => Promise<Applied>): Promise<void> {
    const { metrics, logger } = this.#parts;
    try {
      await untilSettled(async () => {
        const applied = await ask();
        if (applied.changed.length > 0) {
          metrics.mirrorDrift.inc({ resource });
          logger.warn({ resource, id }, 'a mirror had drifted and was corrected');
        }
        return applied;
      });
    } catch (error) {
      if (error instanceof Failure && outages.includes(error.code)) throw error;
      logger.warn({ err: error, resource, id }, 'a mirror could not be compared');
    }
  }
}

/** Failures that say nothing of the row: nobody could be asked, and the next row would fare no better. */
const outages: readonly FailureCode[] = [
  'processor_unavailable',
  'processor_timeout',
  'processor_misconfigured',
  'overloaded',
  'database_unavailable',
];
