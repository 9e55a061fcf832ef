import { Failure } from '#core/errors.ts';
import { runAs } from '#core/platform/cause.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { Mirror } from '../mirrors/mirror.ts';
import type { Inbox } from '../webhooks/inbox.ts';
import { type Job, type JobRun, pause } from './job.ts';
import type { EventListing, RecoveryPosition, RecoveryStore } from './recovery-store.ts';
import { refreshObject } from './refresh-object.ts';

/** Covers events that the processor lists late, and clocks that differ. The inbox drops duplicates. */
const overlapMs = 600_000;
/** How long the processor keeps events. After a longer gap the list is incomplete, so Till compares all objects. */
const listingAgeMsMax = 30 * 86_400_000;
/** Rows checked per run and mirror: with a run every five minutes, about two hundred thousand a week. */
const staleRowsMax = 100;

export interface StaleMirror extends Mirror<never> {
  /** The processor's ids of rows that should have changed by now. */
  listStale(limit: number): Promise<readonly string[]>;
  markChecked(key: string): Promise<void>;
}

interface RecoveryParts extends Pick<Platform, 'clock' | 'logger' | 'metrics'> {
  readonly job: Job;
  readonly store: RecoveryStore;
  readonly processor: Processor;
  readonly inbox: Inbox;
  /** Recovers the objects whose rows lost commits had, and that no event shows. */
  readonly lostObjects: { recoverSince(createdSince: Date, pace: () => Promise<void>): Promise<void> };
  /** Mirrors whose rows can become stale. */
  readonly staleMirrors: readonly StaleMirror[];
  /** Compares everything with the processor. Waits for `pace` between its calls. */
  readonly resync: (pace: () => Promise<void>) => Promise<unknown>;
}

/** Recovers what webhooks missed: reads the processor's list of events, and refreshes stale rows. */
export class Recovery {
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** Runs in one process at a time. False if another process holds the lease. */
  run(signal?: AbortSignal): Promise<boolean> {
    return runAs('recovery', () => this.#run(signal));
  }

  async #run(signal: AbortSignal | undefined): Promise<boolean> {
    const { job, store, logger } = this.#parts;
    const run = await job.take((tx) => store.begin(tx), signal);
    if (run === undefined) {
      logger.info('recovery skipped: another process holds the lease');
      return false;
    }
    try {
      await this.#readEvents(run);
      const { lostSince } = run.begun;
      if (lostSince !== null) await this.#recoverLost(lostSince, run);
      await this.#checkStaleRows(run);
      if (lostSince !== null) await run.write((tx) => store.finishHistory(tx));
      return true;
    } finally {
      await run.release();
    }
  }

  /** Uses the earlier clock: a clock that runs ahead would skip events. */
  #startTime(databaseNow: Date): Date {
    return earlier(this.#parts.clock.now(), databaseNow);
  }

  async #readEvents(run: RecoveryRun): Promise<void> {
    const { store, logger, resync } = this.#parts;
    const { readUntil, listing, databaseNow } = run.begun;
    const startedAt = this.#startTime(databaseNow);
    // A clock that ran ahead may have written a position in the future.
    let position = earlier(readUntil ?? listing?.until ?? startedAt, startedAt);
    if (startedAt.getTime() - position.getTime() > listingAgeMsMax) {
      logger.warn({ readUntil }, "gap longer than the processor's event history; full comparison started");
      await resync(() => pause(run));
      await run.write((tx) => store.finishListing(tx, startedAt));
      return;
    }
    if (listing !== null && (readUntil === null || listing.until > readUntil)) {
      const unfinished = { ...listing, until: earlier(listing.until, startedAt) };
      await this.#continue(unfinished, run);
      position = unfinished.until;
    }
    const since = new Date(position.getTime() - overlapMs);
    await this.#list({ since, until: startedAt, cursor: null }, run);
  }

  /** Continues a listing that an earlier run did not finish. */
  async #continue(listing: EventListing, run: RecoveryRun): Promise<void> {
    const { logger } = this.#parts;
    const { since, until } = listing;
    logger.info({ since, until }, 'unfinished event listing resumed');
    try {
      await this.#list(listing, run);
    } catch (error) {
      // The processor may have deleted the event that the cursor points to.
      if (!(error instanceof Failure) || error.code !== 'processor_rejected') throw error;
      logger.warn({ err: error, since, until }, 'unfinished event listing restarted');
      await this.#list({ since, until, cursor: null }, run);
    }
  }

  /** Reads a listing to its end. Stores the progress after each page, so that a failed run repeats at most one page. */
  async #list(listing: EventListing, run: RecoveryRun): Promise<void> {
    const { store, processor, inbox, logger } = this.#parts;
    const { since, until } = listing;
    let missed = 0;
    const types = [...processor.eventTypes];
    for await (const { events, cursor } of processor.events.listSince(since, types, listing.cursor)) {
      const receipts = await Promise.all(events.map((event) => inbox.receive(event)));
      missed += receipts.filter((receipt) => receipt === 'stored').length;
      if (cursor !== null) await run.write((tx) => store.saveListing(tx, { since, until, cursor }));
      await pause(run);
    }
    if (missed > 0) logger.warn({ missed, since }, 'missed events found');
    await run.write((tx) => store.finishListing(tx, until));
  }

  /** An open checkout has no event yet, and a worker may not have applied the events of a subscription yet. */
  #recoverLost(lostSince: Date, run: RecoveryRun): Promise<void> {
    const since = new Date(lostSince.getTime() - overlapMs);
    return this.#parts.lostObjects.recoverSince(since, () => pause(run));
  }

  async #checkStaleRows(run: RecoveryRun): Promise<void> {
    for (const mirror of this.#parts.staleMirrors) {
      for (const key of await mirror.listStale(staleRowsMax)) {
        await this.#check(mirror, key);
        await mirror.markChecked(key);
        await pause(run);
      }
    }
  }

  /** Skips a row whose refresh fails, so that it does not block others. */
  async #check(mirror: StaleMirror, key: string): Promise<void> {
    const { metrics, logger } = this.#parts;
    const { resource } = mirror;
    const { changed } = await refreshObject(mirror, key, logger);
    if (changed.length === 0) return;
    metrics.mirrorDrift.inc({ resource });
    logger.warn({ resource, id: key }, 'drifted mirror corrected');
  }
}

type RecoveryRun = JobRun<RecoveryPosition>;

function earlier(a: Date, b: Date): Date {
  return a < b ? a : b;
}
