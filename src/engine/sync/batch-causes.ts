import type { Cause } from '#core/platform/cause.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { EventReading } from './event-reading.ts';

/** An event that can be the cause of a change. */
type CausingEvent = Pick<EventReading, 'event' | 'write'>;

/** Finds the event of a batch that caused a change. */
export class BatchCauses {
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
