import type { Mirror } from '../mirrors/mirror.ts';
import { untilSettled } from '../mirrors/refresh.ts';
import type { Applied } from '../model/fold.ts';
import { attemptsMax, retryAfterMs, type WebhookEvent } from '../model/webhook-event.ts';
import { runWithCause, runWithCauses } from '../platform/cause.ts';
import { inLanes } from '../platform/lanes.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { type Database, isOutage, type Transaction } from '../platform/postgres.ts';
import { type Subject, UnmappableError } from '../processor/port/event-facts.ts';
import type { Processor } from '../processor/port/processor.ts';
import type { Inbox } from '../webhooks/inbox.ts';
import { BatchCauses, causeOfEvent } from './batch-causes.ts';
import { countOutcomes, type EventOutcome, outcomeOf, pending, settlementOf } from './event-outcomes.ts';
import { type Mirrors, type MirrorsBySubject, mirrorsBySubject, subjects } from './mirrors.ts';
import { factsAbout, isFailedPayment, keysOf, type Reading } from './reading.ts';

/** Enough events to share the fixed cost of a transaction, few enough that it takes milliseconds. */
export const batchMax = 500;
/** How long other workers skip an event while its object is refreshed. */
const refreshLeaseMs = 60_000;
/** Concurrent refreshes: background reads must not delay API requests. */
const concurrentRefreshesMax = 8;
/** Enough for an operator. Longer messages come from the database, which quotes the statement. */
const errorLengthMax = 500;

interface ApplierParts {
  readonly database: Database;
  readonly inbox: Pick<Inbox, 'claim' | 'claimAgain' | 'settle'>;
  readonly processor: Processor;
  readonly mirrors: Mirrors;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** An object whose row has to be refreshed. */
interface RefreshTarget {
  readonly subject: Subject;
  readonly key: string;
}

interface Refresh extends Pick<Reading, 'event' | 'write'> {
  readonly failsPayment: boolean;
  readonly targets: readonly RefreshTarget[];
}

interface AppliedBatch {
  readonly outcomes: readonly EventOutcome[];
  /** The ids of the events with a new outcome. Resolves when the batch is committed. */
  readonly settled: Promise<ReadonlySet<string>>;
  readonly refreshes: readonly Refresh[];
}

/** Applies the events in the inbox to the mirrors. */
export class EventApplier {
  readonly #parts: ApplierParts;
  readonly #bySubject: MirrorsBySubject;

  constructor(parts: ApplierParts) {
    this.#parts = parts;
    this.#bySubject = mirrorsBySubject(parts.mirrors);
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
  async startBatch(): Promise<{ readonly size: number; readonly refreshed: Promise<void> }> {
    const { inbox } = this.#parts;
    let events: readonly WebhookEvent[] = [];
    try {
      const batch = await this.#apply(async (tx) => {
        events = await inbox.claim(tx, batchMax);
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
        await this.#finish(await this.#apply((tx) => this.#parts.inbox.claimAgain(tx, half)));
      } catch (error) {
        if (isOutage(error)) throw error;
        if (half.length > 1) await this.#applyHalves(half);
        else await this.#retryLater(first, error);
      }
    }
  }

  /** The cause of each change is the newest event about its object. */
  #apply(claim: (tx: Transaction) => Promise<readonly WebhookEvent[]>): Promise<AppliedBatch> {
    const causes = new BatchCauses(this.#parts.processor);
    return runWithCauses(
      (ids) => causes.find(ids),
      () =>
        this.#parts.database.transaction(async (tx) => this.#applyAll(tx, await claim(tx), causes), {
          startsWithRead: true,
        }),
    );
  }

  async #applyAll(
    tx: Transaction,
    events: readonly WebhookEvent[],
    causes: BatchCauses,
  ): Promise<AppliedBatch> {
    const { inbox } = this.#parts;
    const outcomes: EventOutcome[] = [];
    const readings: Reading[] = [];
    for (const event of events) {
      const reading = this.#read(event);
      if ('state' in reading) outcomes.push(reading);
      else readings.push(reading);
    }
    causes.set(readings);
    const refreshes: Refresh[] = [];
    for (const subject of subjects) {
      const own = readings.filter((reading) => reading.subject === subject);
      if (own.length === 0) continue;
      const applied = await this.#applySubject(tx, subject, readings);
      const [unsettled, ignored] = [new Set(applied.unsettled), new Set(applied.ignored)];
      const late = new Set(applied.late);
      for (const reading of own) {
        const { event, write, keys } = reading;
        const failsPayment = isFailedPayment(reading);
        // A late row may come from an old event, for example a replayed one, so its object is refreshed too. So is the
        // object of an event whose last refresh did not end: its worker may have created the row, and then died before
        // it returned earlier events to the queue.
        const wasTried = (key: string) => event.attempts > 0 && !ignored.has(key);
        const needsRefresh = (key: string) => unsettled.has(key) || late.has(key) || wasTried(key);
        const targets = [
          ...keys.filter(needsRefresh).map((key) => ({ subject, key })),
          ...refundsOf(keys.filter((key) => late.has(key) || (subject === 'payment' && wasTried(key)))),
        ];
        if (targets.length > 0) refreshes.push({ event, write, targets, failsPayment });
        else outcomes.push(outcomeOf(event, !keys.every((key) => ignored.has(key)), failsPayment));
      }
    }
    // A lease counts as the first attempt, so that the next worker knows that there was one. Further leases, for
    // example during an outage, use up no attempts.
    const leases = refreshes.map(({ event }) =>
      pending(event, Math.max(event.attempts, 1), refreshLeaseMs, null),
    );
    const settled = inbox.settle(tx, [...outcomes.map(settlementOf), ...leases]);
    // If this fails, the transaction fails with the same error.
    settled.catch(() => {});
    return { outcomes, settled, refreshes };
  }

  async #applySubject<S extends Subject>(
    tx: Transaction,
    subject: S,
    readings: readonly Reading[],
  ): Promise<Applied> {
    await this.#lockShared(tx, subject, readings);
    const facts = factsAbout(readings, subject);
    return this.#bySubject[subject].apply(tx, facts, 'events');
  }

  /**
   * Locks rows that two subjects of a batch share: products and prices share plans; charges, disputes and refunds share
   * payments. Each mirror locks in the order of the ids, but two mirrors in sequence do not.
   */
  async #lockShared(tx: Transaction, subject: Subject, readings: readonly Reading[]): Promise<void> {
    const { plans, payments } = this.#parts.mirrors;
    if (subject === 'product')
      await plans.lock(tx, factsAbout(readings, 'product'), factsAbout(readings, 'price'));
    if (subject !== 'payment') return;
    const others = [
      ...factsAbout(readings, 'charge'),
      ...factsAbout(readings, 'dispute'),
      ...factsAbout(readings, 'refund'),
    ].flatMap(({ processorPaymentIntentId }) => processorPaymentIntentId ?? []);
    // Without the other subjects, the mirror itself locks all payments in one statement.
    if (others.length > 0)
      await payments.lock(tx, [...others, ...factsAbout(readings, 'payment').map(payments.keyOf)]);
  }

  #read(event: WebhookEvent): Reading | EventOutcome {
    const { processor } = this.#parts;
    try {
      const read = processor.readEvent(event.payload);
      if (read.subject === 'none') return outcomeOf(event, false);
      return { event, ...read, keys: keysOf(this.#bySubject, read) };
    } catch (error) {
      if (!(error instanceof UnmappableError)) throw error;
      // A retry does not help. Till keeps the event, and a release that understands it can replay it.
      return { event, state: 'failed', error: error.message, failsPayment: false };
    }
  }

  async #finish({ outcomes, settled, refreshes }: AppliedBatch): Promise<void> {
    const { metrics, logger } = this.#parts;
    const newIds = await settled;
    countOutcomes(
      metrics,
      logger,
      outcomes.filter(({ event }) => newIds.has(event.id)),
    );
    const responses = new Map<string, Promise<boolean>>();
    await inLanes(refreshes, concurrentRefreshesMax, (refresh) => this.#refresh(refresh, responses));
  }

  /** Events of a batch about the same object share one refresh. */
  async #refresh(
    { event, write, targets, failsPayment }: Refresh,
    responses: Map<string, Promise<boolean>>,
  ): Promise<void> {
    try {
      let isOurs = false;
      for (const target of targets) {
        const name = `${target.subject} ${target.key}`;
        const response =
          responses.get(name) ??
          runWithCause(causeOfEvent(this.#parts.processor, { event, write }, [target.key]), () =>
            this.#settleByRefresh(target),
          );
        responses.set(name, response);
        isOurs = (await response) || isOurs;
      }
      await this.#settleAlone(outcomeOf(event, isOurs, failsPayment));
    } catch (error) {
      if (isOutage(error)) throw error;
      await this.#retryLater(event, error);
    }
  }

  /** False if the object does not belong to Till. */
  async #settleByRefresh({ subject, key }: RefreshTarget): Promise<boolean> {
    const mirror: Mirror<never> = this.#bySubject[subject];
    let isOurs = true;
    let late: readonly string[] = [];
    const isSettled = await untilSettled(async () => {
      const applied = await mirror.refresh(key);
      isOurs = !applied.ignored.includes(key);
      late = [...late, ...(applied.late ?? [])];
      return applied;
    });
    if (!isSettled) throw new Error(`the row of ${key} kept changing`);
    for (const target of refundsOf(late)) await this.#settleByRefresh(target);
    return isOurs;
  }

  async #retryLater(event: WebhookEvent, error: unknown): Promise<void> {
    const { database, inbox, logger } = this.#parts;
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, errorLengthMax);
    const attempts = event.attempts + 1;
    if (attempts >= attemptsMax) {
      await this.#settleAlone({ event, state: 'failed', error: reason, failsPayment: false });
      return;
    }
    const delayMs = retryAfterMs(attempts, Math.random());
    await inbox.settle(database, [pending(event, attempts, delayMs, reason)]);
    logger.warn(
      { err: error, event: event.id, type: event.type, attempts, delayMs },
      'webhook event failed; retry scheduled',
    );
  }

  async #settleAlone(outcome: EventOutcome): Promise<void> {
    const { database, inbox, metrics, logger } = this.#parts;
    const newIds = await inbox.settle(database, [settlementOf(outcome)]);
    if (newIds.has(outcome.event.id)) countOutcomes(metrics, logger, [outcome]);
  }
}

/** A payment recorded late also needs its refunds, because earlier events about them found no row. */
function refundsOf(latePayments: readonly string[]): readonly RefreshTarget[] {
  return latePayments.map((key) => ({ subject: 'refundedPayment', key }));
}
