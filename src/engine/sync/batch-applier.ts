import type { Applied } from '#core/model/facts.ts';
import type { EventToApply, Settlement } from '#core/model/webhook-event.ts';
import { type Cause, runWithCauses } from '#core/platform/cause.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import type { Transaction, TransactionOptions } from '#core/platform/postgres.ts';
import type { Subject, SubjectFacts } from '#processor/port/event-facts.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { MirrorContext } from '../mirrors/mirror.ts';
import type { EventReading, EventRule, RefreshTarget } from './event-rule.ts';
import type { MirrorsBySubject } from './mirrors-by-subject.ts';

/** An event that was applied, and whose outcome depends on refreshes. */
export interface Refresh extends Pick<EventReading, 'event' | 'write'> {
  readonly count: EventOutcome['count'];
  readonly targets: readonly RefreshTarget[];
}

/** The outcome of the events of a batch. Each event is in one of the two lists. */
export interface BatchResult {
  readonly outcomes: readonly EventOutcome[];
  readonly refreshes: readonly Refresh[];
}

/** Applies the events of the transaction. Call it once. */
type Apply = (readings: readonly EventReading[]) => Promise<BatchResult>;

/**
 * Applies batches of events to the mirrors, each in one transaction. The caller claims and settles the events in it.
 */
export class BatchApplier {
  readonly #context: MirrorContext;
  readonly #mirrors: MirrorsBySubject;
  readonly #rules: readonly EventRule[];

  constructor(context: MirrorContext, mirrors: MirrorsBySubject, rules: readonly EventRule[]) {
    this.#context = context;
    this.#mirrors = mirrors;
    this.#rules = rules;
  }

  /**
   * The first statement of `work` only reads or locks. The cause of each change is the newest event about its object.
   */
  transact<Result>(
    work: (tx: Transaction, apply: Apply) => Promise<Result>,
    options: Pick<TransactionOptions, 'lockTimeoutMs'> = {},
  ): Promise<Result> {
    const causes = new BatchCauses(this.#context.processor);
    return runWithCauses(
      (ids) => causes.find(ids),
      () =>
        this.#context.database.transaction(
          (tx) =>
            work(tx, (readings) => {
              causes.set(readings);
              return this.#apply(tx, readings);
            }),
          { ...options, startsWithRead: true },
        ),
    );
  }

  async #apply(tx: Transaction, readings: readonly EventReading[]): Promise<BatchResult> {
    const outcomes: EventOutcome[] = [];
    const refreshes: Refresh[] = [];
    // `Object.keys` does not know that there are no other subjects.
    for (const subject of Object.keys(this.#mirrors) as readonly Subject[]) {
      const own = readings.filter((reading) => reading.subject === subject);
      if (own.length === 0) continue;
      const applied = await this.#applySubject(tx, subject, readings);
      const [unsettled, ignored] = [new Set(applied.unsettled), new Set(applied.ignored)];
      const late = new Set(applied.late);
      for (const reading of own) {
        const { event, write, keys } = reading;
        const count = this.#counterOf(reading);
        // A row that is created late may come from an old event, such as a replayed one, so its object is refreshed
        // too. The same holds for an event whose last refresh did not end: its worker may have created the row, and
        // died before it returned earlier events to the queue.
        const wasTried = (key: string) => event.attempts > 0 && !ignored.has(key);
        const needsRefresh = (key: string) => unsettled.has(key) || late.has(key) || wasTried(key);
        const others = this.#rules.flatMap((rule) => rule.alsoRefreshed?.(reading) ?? []);
        const targets = [
          ...keys.filter((key) => needsRefresh(key) || others.length > 0).map((key) => ({ subject, key })),
          ...this.missedBefore(keys, (key, own) => late.has(key) || (own === subject && wasTried(key))),
          ...others,
        ];
        if (targets.length > 0) refreshes.push({ event, write, targets, count });
        else outcomes.push(outcomeOf(event, !keys.every((key) => ignored.has(key)), count));
      }
    }
    return { outcomes, refreshes };
  }

  async #applySubject<S extends Subject>(
    tx: Transaction,
    subject: S,
    readings: readonly EventReading[],
  ): Promise<Applied> {
    await this.#lockShared(tx, subject, readings);
    const facts = factsAbout(readings, subject);
    return this.#mirrors[subject].apply(tx, facts, 'events');
  }

  /** What earlier events about further objects missed, for the rows that were created late. */
  missedBefore(
    keys: readonly string[],
    wasLate: (key: string, subject: Subject) => boolean,
  ): readonly RefreshTarget[] {
    return this.#rules.flatMap(({ missedBefore }) => {
      if (missedBefore === undefined) return [];
      const { subject, targetOf } = missedBefore;
      return keys.filter((key) => wasLate(key, subject)).map(targetOf);
    });
  }

  #counterOf(reading: EventReading): EventOutcome['count'] {
    for (const { counterOf } of this.#rules) {
      const count = counterOf?.(reading);
      if (count !== undefined) return count;
    }
    return undefined;
  }

  async #lockShared(tx: Transaction, subject: Subject, readings: readonly EventReading[]): Promise<void> {
    for (const { sharedRows } of this.#rules) {
      const [first, ...others] =
        sharedRows?.subjects.filter((one) => readings.some((reading) => reading.subject === one)) ?? [];
      // If there is only one subject, its mirror itself locks all payments in one statement.
      if (subject === first && others.length > 0)
        await sharedRows?.lock(tx, (one) => factsAbout(readings, one));
    }
  }
}

function factsAbout<S extends Subject>(
  readings: readonly EventReading[],
  subject: S,
): readonly SubjectFacts[S][] {
  return readings.flatMap((reading) => (isAbout(reading, subject) ? reading.facts : []));
}

export function keysOf<S extends Subject>(
  mirrors: MirrorsBySubject,
  { subject, facts }: { readonly subject: S; readonly facts: readonly SubjectFacts[S][] },
): readonly string[] {
  return facts.map((one) => mirrors[subject].keyOf(one));
}

function isAbout<S extends Subject>(
  reading: EventReading,
  subject: S,
): reading is EventReading & { readonly facts: readonly SubjectFacts[S][] } {
  return reading.subject === subject;
}

export interface EventOutcome {
  readonly event: EventToApply;
  readonly state: 'processed' | 'ignored' | 'failed';
  readonly error: string | null;
  /** Counts what the event reports. Undefined if nothing is counted. */
  readonly count: (() => void) | undefined;
}

export function outcomeOf(event: EventToApply, isOurs: boolean, count?: EventOutcome['count']): EventOutcome {
  return { event, state: isOurs ? 'processed' : 'ignored', error: null, count };
}

/** An event that has its outcome. */
export function settlementOf({ event, state, error }: EventOutcome): Settlement {
  const { id, createdAt, attempts } = event;
  return { id, createdAt, state, attempts: attempts + 1, lastError: error, delayMs: 0 };
}

/** An event that waits for its next attempt. */
export function pending(
  event: EventToApply,
  attempts: number,
  delayMs: number,
  lastError: string | null,
): Settlement {
  return { id: event.id, createdAt: event.createdAt, state: 'pending', attempts, lastError, delayMs };
}

/** Counts new outcomes after their commit. The caller leaves out outcomes that a replay or a second worker repeats. */
export function countOutcomes(metrics: Metrics, logger: Logger, outcomes: readonly EventOutcome[]): void {
  for (const { event, state, error, count } of outcomes) {
    const type = metrics.eventTypeLabel(event.type);
    if (state === 'failed') {
      metrics.webhookEventsFailed.inc({ type });
      logger.error(
        { event: event.id, type: event.type, object: event.objectId, reason: error },
        'webhook event failed permanently',
      );
    }
    if (state === 'ignored') metrics.webhookEventsIgnored.inc({ type });
    if (state !== 'processed') continue;
    metrics.webhookEventsProcessed.inc({ type });
    metrics.webhookLag.observe(Math.max(Date.now() - event.receivedAt.getTime(), 0) / 1_000);
    count?.();
  }
}

/** An event that can be the cause of a change. */
type CausingEvent = Pick<EventReading, 'event' | 'write'>;

/** Finds the event of a batch that caused a change. */
class BatchCauses {
  readonly #byKey = new Map<string, CausingEvent>();
  readonly #processor: Pick<Processor, 'causeOf'>;
  #readings: readonly EventReading[] = [];
  #byNamedId: ReadonlyMap<string, CausingEvent> | undefined;

  constructor(processor: Pick<Processor, 'causeOf'>) {
    this.#processor = processor;
  }

  set(readings: readonly EventReading[]): void {
    this.#readings = readings;
    for (const reading of readings) for (const key of reading.keys) keepNewer(this.#byKey, key, reading);
  }

  /**
   * The newest event about the object with these ids. Otherwise the newest event that mentions the object: an event
   * about a refund mentions its payment, and one about an invoice mentions its subscription.
   */
  find(ids: readonly string[]): Cause | undefined {
    const found = firstOf(this.#byKey, ids) ?? firstOf(this.#named(), ids);
    return found && causeOfEvent(this.#processor, found, ids);
  }

  /** Built only when needed: most changes are found without it. */
  #named(): ReadonlyMap<string, CausingEvent> {
    if (this.#byNamedId !== undefined) return this.#byNamedId;
    const named = new Map<string, CausingEvent>();
    for (const reading of this.#readings)
      for (const id of reading.facts.flatMap(idsIn)) keepNewer(named, id, reading);
    this.#byNamedId = named;
    return named;
  }
}

/** The first ids of a row are its own. The following ids belong to its parents. */
const ownIds = 2;

/** The event, or the request that the event reports if it arrives just before the request has recorded its change. */
export function causeOfEvent(
  processor: Pick<Processor, 'causeOf'>,
  { event, write }: CausingEvent,
  ids: readonly string[],
): Cause {
  const request = write === null ? undefined : processor.causeOf(write, ids.slice(0, ownIds));
  const none = { keyName: null, person: null, requestId: null };
  return { ...(request ?? { kind: 'webhook', ...none }), processorEventId: event.id };
}

function firstOf(
  events: ReadonlyMap<string, CausingEvent>,
  ids: readonly string[],
): CausingEvent | undefined {
  const known = ids.find((id) => events.has(id));
  return known === undefined ? undefined : events.get(known);
}

function keepNewer(events: Map<string, CausingEvent>, id: string, next: CausingEvent): void {
  const known = events.get(id);
  if (known === undefined || known.event.createdAt <= next.event.createdAt) events.set(id, next);
}

/** All ids in the facts: the processor's and Till's. */
function idsIn(facts: object): readonly string[] {
  return Object.entries(facts).flatMap(([name, value]) =>
    (name === 'localId' || /^processor\w+Id$/.test(name)) && typeof value === 'string' ? [value] : [],
  );
}
