import {
  attemptsMax,
  type EventToApply,
  retryAfterMs,
  type StoredStates,
  type WebhookEvent,
} from '#core/model/webhook-event.ts';
import { runWithCause } from '#core/platform/cause.ts';
import { inLanes } from '#core/platform/lanes.ts';
import { isOutage, type Transaction } from '#core/platform/postgres.ts';
import { endAfter } from '#core/platform/tracing.ts';
import { UnmappableError } from '#processor/port/event-facts.ts';
import type { Mirror, MirrorContext } from '../mirrors/mirror.ts';
import { untilSettled } from '../mirrors/refresh.ts';
import type { EventQueue, ReceivedEvent } from '../webhooks/inbox.ts';
import {
  BatchApplier,
  type BatchResult,
  causeOfEvent,
  countOutcomes,
  type EventOutcome,
  keysOf,
  outcomeOf,
  pending,
  type Refresh,
  settlementOf,
} from './batch-applier.ts';
import type { EventReading, EventRule, RefreshTarget } from './event-rule.ts';
import type { MirrorsBySubject } from './mirrors-by-subject.ts';

/** Enough events to share the fixed cost of a transaction, few enough that it takes milliseconds. */
export const batchMax = 500;
/** How long other workers skip an event while its object is refreshed. */
const refreshLeaseMs = 60_000;
/**
 * How long received events wait for a locked row before they are left to the worker. Longer than the transactions of
 * other processes, and shorter than the second after which PostgreSQL looks for deadlocks.
 */
const receiptLockTimeoutMs = 250;
/** Concurrent refreshes: background reads must not delay API requests. */
const concurrentRefreshesMax = 8;
/** Enough for an operator. Longer messages come from the database, which quotes the statement. */
const errorLengthMax = 500;

interface AppliedReceipts {
  /** The new events. */
  readonly stored: StoredStates;
  /** Whether some of them wait for a worker. */
  readonly areSomeDue: boolean;
  readonly refreshed: Promise<void>;
}

interface StartedBatch {
  readonly size: number;
  readonly refreshed: Promise<void>;
}

interface AppliedBatch extends BatchResult {
  /** The ids of the events with a new outcome. Resolves when the batch is committed. */
  readonly settled: Promise<ReadonlySet<string>>;
}

/** Applies events to the mirrors: those in the inbox, and those that are just received. */
export class EventApplier {
  readonly #context: MirrorContext;
  readonly #queue: EventQueue;
  readonly #mirrors: MirrorsBySubject;
  readonly #batches: BatchApplier;

  constructor(
    context: MirrorContext,
    queue: EventQueue,
    mirrors: MirrorsBySubject,
    rules: readonly EventRule[],
  ) {
    this.#context = context;
    this.#queue = queue;
    this.#mirrors = mirrors;
    this.#batches = new BatchApplier(context, mirrors, rules);
  }

  /** Whether the inbox has an event that is due. */
  hasDue(): Promise<boolean> {
    const { database } = this.#context;
    return this.#queue.hasDue(database);
  }

  /** Applies a batch of due events, waits for its refreshes, and returns the number of events. */
  async applyBatch(): Promise<number> {
    const { size, refreshed } = await this.startBatch();
    await refreshed;
    return size;
  }

  /**
   * Applies a batch of due events in one transaction. Refreshes continue in the background, so that a slow processor
   * does not delay events that need no refresh.
   */
  startBatch(): Promise<StartedBatch> {
    return endAfter(this.#context.tracer?.start('apply webhook events'), () => this.#startBatch());
  }

  async #startBatch(): Promise<StartedBatch> {
    const { metrics } = this.#context;
    let events: readonly WebhookEvent[] = [];
    try {
      const batch = await this.#apply(async (tx) => {
        events = await this.#queue.claim(tx, batchMax);
        if (events.length > 0) metrics.webhookBatchSize.observe(events.length);
        return events;
      });
      return { size: events.length, refreshed: this.#finish(batch) };
    } catch (error) {
      if (isOutage(error) || events.length === 0) throw error;
      await this.#applyHalves(events);
      return { size: events.length, refreshed: Promise.resolve() };
    }
  }

  /**
   * Applies received events in the transaction that stores them, so that each is written once. Only an event that needs
   * nothing else is stored as processed. One that needs a refresh is leased, and the refresh continues in the
   * background, if `mayRefresh`. All others wait for a worker: an event that found no row must be in the inbox before
   * it is ignored, so that `Inbox.bringBack` sees it.
   */
  async applyReceived(received: readonly ReceivedEvent[], mayRefresh: boolean): Promise<AppliedReceipts> {
    const leaseMs = mayRefresh ? refreshLeaseMs : 0;
    try {
      const { outcomes, refreshes, ...batch } = await this.#storeAndApply(received, leaseMs);
      const stored = await batch.stored;
      const [own, processed] = [new Set(stored.keys()), new Set<string>()];
      for (const [id, state] of stored) if (state === 'processed') processed.add(id);
      const started = mayRefresh ? refreshes.filter(({ event }) => own.has(event.id)) : [];
      return {
        stored,
        areSomeDue: stored.size > processed.size + started.length,
        refreshed: this.#finish({ outcomes, settled: Promise.resolve(processed), refreshes: started }),
      };
    } catch (error) {
      if (error !== alreadyStored) throw error;
      return { stored: new Map(), areSomeDue: false, refreshed: Promise.resolve() };
    }
  }

  #storeAndApply(
    received: readonly ReceivedEvent[],
    leaseMs: number,
  ): Promise<BatchResult & { readonly stored: Promise<StoredStates> }> {
    const inOrder = received.toSorted((a, b) => a.row.createdAt.getTime() - b.row.createdAt.getTime());
    return this.#batches.transact(
      async (tx, apply) => {
        const finding = this.#queue.findStored(
          tx,
          received.map(({ row }) => row),
        );
        // If this fails, the transaction fails with the same error.
        finding.catch(() => {});
        // The search for one event alone, and the lock of its row, are sent together.
        const isAlone = received.length === 1;
        const known = isAlone ? none : await finding;
        const fresh = inOrder.filter(({ row }) => !known.has(row.id));
        if (fresh.length === 0) throw alreadyStored;
        const { outcomes, refreshes } = await apply(fresh.map((one) => this.#readReceived(one)));
        if (isAlone && (await finding).size > 0) throw alreadyStored;
        const processed = new Set(outcomes.filter(isProcessed).map(({ event }) => event.id));
        const refreshed = new Set(refreshes.map(({ event }) => event.id));
        const stored = this.#queue.insert(
          tx,
          fresh.map(({ row }) => {
            if (processed.has(row.id)) return { ...row, state: 'processed', attempts: 1 };
            return refreshed.has(row.id) ? { ...row, attempts: 1, delayMs: leaseMs } : row;
          }),
        );
        stored.catch(() => {});
        return { outcomes: outcomes.filter(isProcessed), refreshes, stored };
      },
      { lockTimeoutMs: receiptLockTimeoutMs },
    );
  }

  /**
   * Splits events whose transaction failed into two halves, and splits a half that fails again, so that a poisoned
   * event does not block the others. One poisoned event costs two transactions each time that a batch is halved. In the
   * worst case there are fewer than two transactions for each event.
   */
  async #applyHalves(events: readonly WebhookEvent[]): Promise<void> {
    const middle = events.length >> 1;
    for (const half of [events.slice(0, middle), events.slice(middle)]) {
      const [first] = half;
      if (first === undefined) continue;
      try {
        await this.#finish(await this.#apply((tx) => this.#queue.claimAgain(tx, half)));
      } catch (error) {
        if (isOutage(error)) throw error;
        if (half.length > 1) await this.#applyHalves(half);
        else await this.#retryLater(first, error);
      }
    }
  }

  #apply(claim: (tx: Transaction) => Promise<readonly WebhookEvent[]>): Promise<AppliedBatch> {
    return this.#batches.transact(async (tx, apply) => {
      const unreadable: EventOutcome[] = [];
      const readings: EventReading[] = [];
      for (const event of await claim(tx)) {
        const reading = this.#read(event);
        if ('state' in reading) unreadable.push(reading);
        else readings.push(reading);
      }
      const applied = await apply(readings);
      const outcomes = [...unreadable, ...applied.outcomes];
      // A lease counts as the first attempt, so that the next worker knows that there was one. Further leases, for
      // example during an outage, use up no attempts.
      const leases = applied.refreshes.map(({ event }) =>
        pending(event, Math.max(event.attempts, 1), refreshLeaseMs, null),
      );
      const settled = this.#queue.settle(tx, [...outcomes.map(settlementOf), ...leases]);
      // If this fails, the transaction fails with the same error.
      settled.catch(() => {});
      return { outcomes, settled, refreshes: applied.refreshes };
    });
  }

  #read(event: WebhookEvent): EventReading | EventOutcome {
    const { processor } = this.#context;
    try {
      const read = processor.readEvent(event.payload);
      if (read.subject === 'none') return outcomeOf(event, false);
      return { event, ...read, keys: keysOf(this.#mirrors, read) };
    } catch (error) {
      if (!(error instanceof UnmappableError)) throw error;
      // A retry does not help. Till keeps the event, and a release that understands it can replay it.
      return { event, state: 'failed', error: error.message, count: undefined };
    }
  }

  #readReceived({ row, content, receivedAt }: ReceivedEvent): EventReading {
    const { id, type, objectId, createdAt } = row;
    const event = { id, type, objectId, createdAt, attempts: 0, receivedAt };
    return { event, ...content, keys: keysOf(this.#mirrors, content) };
  }

  async #finish({ outcomes, settled, refreshes }: AppliedBatch): Promise<void> {
    const { metrics, logger } = this.#context;
    const newIds = await settled;
    countOutcomes(
      metrics,
      logger,
      outcomes.filter(({ event }) => newIds.has(event.id)),
    );
    if (refreshes.length === 0) return;
    const responses = new Map<string, Promise<boolean>>();
    await inLanes(refreshes, concurrentRefreshesMax, (refresh) => this.#refresh(refresh, responses));
  }

  /** Events of a batch about the same object share one refresh. */
  async #refresh(
    { event, write, targets, count }: Refresh,
    responses: Map<string, Promise<boolean>>,
  ): Promise<void> {
    try {
      let isOurs = false;
      for (const target of targets) {
        const name = `${target.subject} ${target.key}`;
        const response =
          responses.get(name) ??
          runWithCause(causeOfEvent(this.#context.processor, { event, write }, [target.key]), () =>
            this.#settleByRefresh(target),
          );
        responses.set(name, response);
        isOurs = (await response) || isOurs;
      }
      await this.#settleAlone(outcomeOf(event, isOurs, count));
    } catch (error) {
      if (isOutage(error)) throw error;
      await this.#retryLater(event, error);
    }
  }

  /** False if the object does not belong to Till. */
  async #settleByRefresh({ subject, key }: RefreshTarget): Promise<boolean> {
    const mirror: Mirror<never> = this.#mirrors[subject];
    let isOurs = true;
    let late: readonly string[] = [];
    const isSettled = await untilSettled(async () => {
      const applied = await mirror.refresh(key);
      isOurs = !applied.ignored.includes(key);
      late = [...late, ...(applied.late ?? [])];
      return applied;
    });
    if (!isSettled) throw new Error(`the row of ${key} kept changing`);
    for (const target of this.#batches.missedBefore(late, () => true)) await this.#settleByRefresh(target);
    return isOurs;
  }

  async #retryLater(event: EventToApply, error: unknown): Promise<void> {
    const { database, logger } = this.#context;
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, errorLengthMax);
    const attempts = event.attempts + 1;
    if (attempts >= attemptsMax) {
      await this.#settleAlone({ event, state: 'failed', error: reason, count: undefined });
      return;
    }
    const delayMs = retryAfterMs(attempts, Math.random());
    await this.#queue.settle(database, [pending(event, attempts, delayMs, reason)]);
    logger.warn(
      { err: error, event: event.id, type: event.type, attempts, delayMs },
      'webhook event failed; retry scheduled',
    );
  }

  async #settleAlone(outcome: EventOutcome): Promise<void> {
    const { database, metrics, logger } = this.#context;
    const newIds = await this.#queue.settle(database, [settlementOf(outcome)]);
    if (newIds.has(outcome.event.id)) countOutcomes(metrics, logger, [outcome]);
  }
}

const none: ReadonlySet<string> = new Set();

/** Ends the transaction of an event that arrives again, before it has any effect. */
const alreadyStored = new Error('the event is already stored');

function isProcessed({ state }: EventOutcome): boolean {
  return state === 'processed';
}
