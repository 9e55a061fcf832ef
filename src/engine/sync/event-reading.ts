import type { EventToApply } from '#core/model/webhook-event.ts';
import type { ReadableContent, Subject, SubjectFacts } from '#processor/port/event-facts.ts';
import type { MirrorsBySubject } from './mirrors-by-subject.ts';

/** An event with its content and the processor's ids of its objects. */
export type EventReading = ReadableContent & {
  readonly event: EventToApply;
  readonly keys: readonly string[];
};

export function factsAbout<S extends Subject>(
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
