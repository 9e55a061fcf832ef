import type { EventToApply } from '#core/model/webhook-event.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { ReadableContent, Subject, SubjectFacts } from '#processor/port/event-facts.ts';

/** An event with its content and the processor's ids of its objects. */
export type EventReading = ReadableContent & {
  readonly event: EventToApply;
  readonly keys: readonly string[];
};

/** An object whose row has to be refreshed. */
export interface RefreshTarget {
  readonly subject: Subject;
  readonly key: string;
}

/** The facts of a batch about a subject. */
type FactsAbout = <S extends Subject>(subject: S) => readonly SubjectFacts[S][];

/** What a resource adds to how its mirrors apply events. */
export interface EventRule {
  /**
   * Locks rows that these subjects share, in the order in which they are applied. Each mirror locks in the order of the
   * ids, but two mirrors in sequence do not. So the first one of a batch locks all rows.
   */
  readonly sharedRows?: {
    readonly subjects: readonly Subject[];
    lock(tx: Transaction, about: FactsAbout): Promise<void>;
  };
  /** Objects that are refreshed together with those of the event. */
  readonly alsoRefreshed?: (reading: EventReading) => readonly RefreshTarget[];
  /** Earlier events about further objects found no row, because a row of the subject was created late. */
  readonly missedBefore?: { readonly subject: Subject; targetOf(key: string): RefreshTarget };
  /** Counts what the event reports, once it is processed for the first time. Undefined if it reports nothing. */
  readonly counterOf?: (reading: EventReading) => (() => void) | undefined;
}
