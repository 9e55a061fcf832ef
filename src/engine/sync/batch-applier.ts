import type { Applied } from '#core/model/facts.ts';
import { runWithCauses } from '#core/platform/cause.ts';
import type { Transaction, TransactionOptions } from '#core/platform/postgres.ts';
import type { Subject } from '#processor/port/event-facts.ts';
import type { MirrorContext } from '../mirrors/mirror.ts';
import { BatchCauses, type EventOutcome, type EventReading, factsAbout, outcomeOf } from './batch-event.ts';
import type { EventRule, RefreshTarget } from './event-rule.ts';
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
