import { untilSettled } from '../mirrors/refresh.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { type Database, isOutage, type Transaction } from '../platform/postgres.ts';
import { type EventFacts, UnmappableError } from '../processor/event-facts.ts';
import type { Processor } from '../processor/processor.ts';
import type { EventFamily } from '../webhooks/families/event-family.ts';
import type { Inbox } from '../webhooks/inbox.ts';
import { attemptsMax, retryAfterMs, type Settlement, type WebhookEvent } from '../webhooks/webhook-event.ts';

import { countOutcomes, type Outcome } from './count-outcomes.ts';

/** Enough that a transaction's fixed cost is shared by many, few enough that it lasts milliseconds. */
export const batchMax = 500;
/** How long others leave an event alone while the row of its object is being refreshed. */
const refreshLeaseMs = 60_000;
/** Refreshes at a time: background reads must not crowd out people's requests. */
const refreshesAtOnceMax = 8;
/** What an operator needs to see of an error; a longer one is the database quoting a statement. */
const errorLengthMax = 500;

interface ProcessorParts {
  readonly database: Database;
  readonly inbox: Pick<Inbox, 'claim' | 'claimOne' | 'settle'>;
  readonly processor: Processor;
  /** In the order in which their tables are locked, everywhere. */
  readonly families: readonly EventFamily[];
  readonly metrics: Metrics;
  readonly logger: Logger;
}

interface Reading {
  readonly event: WebhookEvent;
  readonly facts: EventFacts;
  readonly family: EventFamily;
  readonly keys: readonly string[];
}

interface Refresh {
  readonly event: WebhookEvent;
  readonly family: EventFamily;
  readonly keys: readonly string[];
}

interface Batch {
  readonly outcomes: readonly Outcome[];
  /** The ids of the events whose outcome is news; known once the batch is committed. */
  readonly settled: Promise<ReadonlySet<string>>;
  readonly succeeded: number;
  readonly refreshes: readonly Refresh[];
}

/** Applies the events in the inbox to the mirrors. */
export class EventProcessor {
  readonly #parts: ProcessorParts;

  constructor(parts: ProcessorParts) {
    this.#parts = parts;
  }

  /** Applies a batch of events that are due, refreshes what it must, and returns how many events there were. */
  async processBatch(): Promise<number> {
    const { size, refreshed } = await this.startBatch();
    await refreshed;
    return size;
  }

  /**
   * Applies a batch of events that are due, in one transaction. What must be refreshed goes on by itself: a processor
   * that is slow to answer holds up no event that needs no answer.
   */
  async startBatch(): Promise<{ readonly size: number; readonly refreshed: Promise<void> }> {
    const { database, inbox } = this.#parts;
    let events: readonly WebhookEvent[] = [];
    try {
      const batch = await database.transaction(
        async (tx) => {
          events = await inbox.claim(tx, batchMax);
          return this.#applyAll(tx, events);
        },
        { startsWithLook: true },
      );
      return { size: events.length, refreshed: this.#finish(batch) };
    } catch (error) {
      if (isOutage(error) || events.length === 0) throw error;
      // One poisoned event must not hold up the others.
      for (const event of events) await this.#processOne(event);
      return { size: events.length, refreshed: Promise.resolve() };
    }
  }

  async #processOne(event: WebhookEvent): Promise<void> {
    const { database, inbox } = this.#parts;
    try {
      const batch = await database.transaction(async (tx) => {
        const current = await inbox.claimOne(tx, event);
        return this.#applyAll(tx, current === undefined ? [] : [current]);
      });
      await this.#finish(batch);
    } catch (error) {
      if (isOutage(error)) throw error;
      await this.#retryLater(event, error);
    }
  }

  async #applyAll(tx: Transaction, events: readonly WebhookEvent[]): Promise<Batch> {
    const { inbox, families } = this.#parts;
    const outcomes: Outcome[] = [];
    const readings: Reading[] = [];
    for (const event of events) {
      const reading = this.#read(event);
      if ('state' in reading) outcomes.push(reading);
      else readings.push(reading);
    }
    const refreshes: Refresh[] = [];
    let succeeded = 0;
    const batch = readings.map(({ facts }) => facts);
    for (const family of families) {
      const own = readings.filter((reading) => reading.family === family);
      if (own.length === 0) continue;
      await family.lock?.(tx, batch);
      const applied = await family.apply(
        tx,
        own.map(({ facts }) => facts),
      );
      succeeded += applied.succeeded;
      const [unsettled, ignored] = [new Set(applied.unsettled), new Set(applied.ignored)];
      for (const { event, keys } of own) {
        const open = keys.filter((key) => unsettled.has(key));
        if (open.length > 0) refreshes.push({ event, family, keys: open });
        else
          outcomes.push({
            event,
            state: keys.every((key) => ignored.has(key)) ? 'ignored' : 'processed',
            error: null,
          });
      }
    }
    const leases = refreshes.map(({ event }) => pending(event, event.attempts, refreshLeaseMs, null));
    const settled = inbox.settle(tx, [...outcomes.map(settlementOf), ...leases]);
    // If it fails, the transaction does, and says so.
    settled.catch(() => {});
    return { outcomes, settled, succeeded, refreshes };
  }

  #read(event: WebhookEvent): Reading | Outcome {
    const { processor, families } = this.#parts;
    try {
      const facts = processor.readEvent(event.payload);
      for (const family of families) {
        const keys = family.keysOf(facts);
        if (keys !== undefined) return { event, facts, family, keys };
      }
      return { event, state: 'ignored', error: null };
    } catch (error) {
      if (!(error instanceof UnmappableError)) throw error;
      // No retry could mend it; it is kept, and can be replayed by a release that understands it.
      return { event, state: 'failed', error: error.message };
    }
  }

  async #finish({ outcomes, settled, succeeded, refreshes }: Batch): Promise<void> {
    const { metrics, logger } = this.#parts;
    const news = await settled;
    countOutcomes(
      metrics,
      logger,
      outcomes.filter(({ event }) => news.has(event.id)),
    );
    metrics.paymentsSucceeded.inc(succeeded);
    const waiting = [...refreshes];
    const answers = new Map<string, Promise<boolean>>();
    const lanes = Array.from({ length: Math.min(refreshesAtOnceMax, waiting.length) }, async () => {
      for (let refresh = waiting.shift(); refresh !== undefined; refresh = waiting.shift())
        await this.#refresh(refresh, answers);
    });
    const failed = (await Promise.allSettled(lanes)).find((lane) => lane.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Events of one batch about one object share an answer. */
  async #refresh({ event, family, keys }: Refresh, answers: Map<string, Promise<boolean>>): Promise<void> {
    try {
      let isOurs = false;
      for (const key of keys) {
        const name = `${this.#parts.families.indexOf(family)} ${key}`;
        const answer = answers.get(name) ?? settleByRefresh(family, key);
        answers.set(name, answer);
        isOurs = (await answer) || isOurs;
      }
      await this.#settleAlone({ event, state: isOurs ? 'processed' : 'ignored', error: null });
    } catch (error) {
      if (isOutage(error)) throw error;
      await this.#retryLater(event, error);
    }
  }

  async #retryLater(event: WebhookEvent, error: unknown): Promise<void> {
    const { database, inbox, logger } = this.#parts;
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, errorLengthMax);
    const attempts = event.attempts + 1;
    if (attempts >= attemptsMax) {
      await this.#settleAlone({ event, state: 'failed', error: reason });
      return;
    }
    const delayMs = retryAfterMs(attempts, Math.random());
    await inbox.settle(database, [pending(event, attempts, delayMs, reason)]);
    logger.warn(
      { err: error, event: event.id, type: event.type, attempts, delayMs },
      'webhook event failed; retry scheduled',
    );
  }

  async #settleAlone(outcome: Outcome): Promise<void> {
    const { database, inbox, metrics, logger } = this.#parts;
    const news = await inbox.settle(database, [settlementOf(outcome)]);
    if (news.has(outcome.event.id)) countOutcomes(metrics, logger, [outcome]);
  }
}

/** False if the object turned out to be somebody else's. */
async function settleByRefresh(family: EventFamily, key: string): Promise<boolean> {
  let isOurs = true;
  const isSettled = await untilSettled(async () => {
    const applied = await family.refresh(key);
    isOurs = !applied.ignored.includes(key);
    return applied;
  });
  if (!isSettled) throw new Error(`the row of ${key} kept changing`);
  return isOurs;
}

function settlementOf({ event, state, error }: Outcome): Settlement {
  const { id, createdAt, attempts } = event;
  return { id, createdAt, state, attempts: attempts + 1, lastError: error, delayMs: 0 };
}

function pending(
  event: WebhookEvent,
  attempts: number,
  delayMs: number,
  lastError: string | null,
): Settlement {
  return { id: event.id, createdAt: event.createdAt, state: 'pending', attempts, lastError, delayMs };
}
