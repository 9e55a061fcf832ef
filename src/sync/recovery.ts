import { randomInt } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Failure, isOutageOfAll } from '../errors.ts';
import type { Mirror } from '../mirrors/mirror.ts';
import { untilSettled } from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { isGone, type OwnerLock } from '../platform/owner-lock.ts';
import type { Database } from '../platform/postgres.ts';
import { eventTypes } from '../processor/event-types.ts';
import type { Processor } from '../processor/processor.ts';
import type { Inbox } from '../webhooks/inbox.ts';
import type { Listing, RecoveryLease, RecoveryStore } from './recovery-store.ts';

/** How long a run that does not renew its lease blocks others, unless they see that its process is gone. */
const leaseMs = 60_000;
/** The lease is renewed this often, whatever the run is doing: several renewals may fail before it expires. */
const heartbeatMs = 5_000;
/** Events that the processor lists late, and clocks that differ, fall into this overlap; the inbox drops what it has. */
const overlapMs = 600_000;
/** What the processor keeps. After a longer gap its list has holes, and only the objects themselves tell the truth. */
const listingAgeMsMax = 30 * 86_400_000;
/** Rows looked at per run: with a run every five minutes, a few hundred thousand a week. */
const staleRowsMax = 100;
/** Between two background reads, so that they never crowd out people's requests: ten a second at most. */
const readDelayMs = 100;

interface StaleMirror extends Mirror<never> {
  /** The keys of rows that should have changed by now. */
  listStale(limit: number): Promise<readonly string[]>;
  markChecked(key: string): Promise<void>;
}

interface RecoveryParts {
  readonly database: Database;
  readonly store: RecoveryStore;
  readonly processor: Processor;
  readonly inbox: Inbox;
  /** Mirrors whose rows can become stale. */
  readonly staleMirrors: readonly StaleMirror[];
  /** Compares everything with the processor. */
  readonly resync: (afterEachPage: () => Promise<void>) => Promise<unknown>;
  readonly ownerLock: Pick<OwnerLock, 'owner'>;
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
    const { database, store, logger } = this.#parts;
    const owner = randomInt(1, 2 ** 31 - 1);
    const lease = await this.#takeLease(owner);
    if (lease === undefined) {
      logger.info('recovery skipped: another process holds the lease');
      return false;
    }
    const lost = new AbortController();
    const ended = AbortSignal.any([lost.signal, ...(signal === undefined ? [] : [signal])]);
    const heartbeat = setInterval(() => void this.#renew(owner, lost), heartbeatMs);
    /** Between two reads: keeps the pace, and ends a run that was stopped or lost its lease. */
    const pause = async () => {
      await setTimeout(readDelayMs, undefined, { signal: ended }).catch(() => {});
      ended.throwIfAborted();
    };
    try {
      await this.#readEvents(lease, { owner, pause });
      await this.#checkStaleRows(pause);
      return true;
    } finally {
      clearInterval(heartbeat);
      await store.release(database, owner);
    }
  }

  /** Takes the lease if it is free, or if its process is gone: after a crash the next start must not wait for it to expire. */
  async #takeLease(owner: number): Promise<RecoveryLease | undefined> {
    const { database, store, ownerLock, logger } = this.#parts;
    const taker = { owner, ownerLock: ownerLock.owner };
    const free = await store.lease(database, taker, leaseMs);
    if (free !== undefined) return free;
    return database.transaction(async (tx) => {
      const holder = await store.findHolder(tx);
      if (holder === undefined || holder.ownerLock === null || holder.ownerLock === ownerLock.owner) return;
      if (!(await isGone(tx, holder.ownerLock))) return;
      const taken = await store.lease(tx, taker, leaseMs, holder);
      if (taken !== undefined) logger.warn('stale recovery lease taken over');
      return taken;
    });
  }

  async #renew(owner: number, lost: AbortController): Promise<void> {
    const { database, store, logger } = this.#parts;
    try {
      if (!(await store.renew(database, owner, leaseMs))) lost.abort(takenOver());
    } catch (error) {
      logger.warn({ err: error }, 'recovery lease not renewed');
    }
  }

  /** By the clock that is behind: one that runs ahead must not hide the events until it is right again. */
  #startTime(databaseNow: Date): Date {
    return earlier(this.#parts.clock.now(), databaseNow);
  }

  async #readEvents({ readUntil, listing, databaseNow }: RecoveryLease, turn: Turn): Promise<void> {
    const { database, store, logger, resync } = this.#parts;
    const startedAt = this.#startTime(databaseNow);
    // A position in the future was written by a clock that ran ahead.
    let position = earlier(readUntil ?? listing?.until ?? startedAt, startedAt);
    if (startedAt.getTime() - position.getTime() > listingAgeMsMax) {
      logger.warn({ readUntil }, "gap longer than the processor's event history; full comparison started");
      await resync(turn.pause);
      ensure(await store.finishListing(database, turn.owner, startedAt));
      return;
    }
    if (listing !== null && (readUntil === null || listing.until > readUntil)) {
      const unfinished = { ...listing, until: earlier(listing.until, startedAt) };
      await this.#continue(unfinished, turn);
      position = unfinished.until;
    }
    const since = new Date(position.getTime() - overlapMs);
    await this.#list({ since, until: startedAt, cursor: null }, turn);
  }

  /** Continues a listing that an earlier run left unfinished. */
  async #continue(listing: Listing, turn: Turn): Promise<void> {
    const { logger } = this.#parts;
    const { since, until } = listing;
    logger.info({ since, until }, 'unfinished event listing resumed');
    try {
      await this.#list(listing, turn);
    } catch (error) {
      // The event that the cursor names may be gone by now.
      if (!(error instanceof Failure) || error.code !== 'processor_rejected') throw error;
      logger.warn({ err: error, since, until }, 'unfinished event listing restarted');
      await this.#list({ since, until, cursor: null }, turn);
    }
  }

  /** Reads a listing to its end. Its progress is stored after each page, so that a run that fails costs one page. */
  async #list(listing: Listing, { owner, pause }: Turn): Promise<void> {
    const { database, store, processor, inbox, logger } = this.#parts;
    const { since, until } = listing;
    let missed = 0;
    for await (const { events, cursor } of processor.events.listSince(since, eventTypes, listing.cursor)) {
      const receipts = await Promise.all(events.map((event) => inbox.receive(event)));
      missed += receipts.filter((receipt) => receipt === 'stored').length;
      if (cursor !== null) ensure(await store.saveListing(database, owner, { since, until, cursor }));
      await pause();
    }
    if (missed > 0) logger.warn({ missed, since }, 'missed events found');
    ensure(await store.finishListing(database, owner, until));
  }

  async #checkStaleRows(pause: () => Promise<void>): Promise<void> {
    for (const mirror of this.#parts.staleMirrors) {
      for (const key of await mirror.listStale(staleRowsMax)) {
        await this.#check(mirror, key);
        await mirror.markChecked(key);
        await pause();
      }
    }
  }

  /** A row that cannot be compared must not keep the others from it. If nothing can be refreshed, the run ends here. */
  async #check(mirror: StaleMirror, key: string): Promise<void> {
    const { metrics, logger } = this.#parts;
    const { resource } = mirror;
    try {
      await untilSettled(async () => {
        const applied = await mirror.refresh(key);
        if (applied.changed.length > 0) {
          metrics.mirrorDrift.inc({ resource });
          logger.warn({ resource, id: key }, 'drifted mirror corrected');
        }
        return applied;
      });
    } catch (error) {
      if (isOutageOfAll(error)) throw error;
      logger.warn({ err: error, resource, id: key }, 'mirror comparison failed');
    }
  }
}

/** What a run needs to know of itself. */
interface Turn {
  readonly owner: number;
  readonly pause: () => Promise<void>;
}

function earlier(a: Date, b: Date): Date {
  return a < b ? a : b;
}

/** Every write of a run is conditional on its lease. */
function ensure(isOurs: boolean): void {
  if (!isOurs) throw takenOver();
}

function takenOver(): Error {
  return new Error('another run took over the recovery');
}
