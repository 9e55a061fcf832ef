import type { Cause } from '../platform/cause.ts';
import type { Processor } from '../processor/processor.ts';
import type { WebhookEvent } from '../webhooks/webhook-event.ts';
import type { Reading } from './reading.ts';

/** Says which event of a batch caused a change. */
export class BatchCauses {
  readonly #byKey = new Map<string, WebhookEvent>();
  readonly #processor: Pick<Processor, 'causeOf'>;
  #readings: readonly Reading[] = [];
  #byNamedId: ReadonlyMap<string, WebhookEvent> | undefined;

  constructor(processor: Pick<Processor, 'causeOf'>) {
    this.#processor = processor;
  }

  set(readings: readonly Reading[]): void {
    this.#readings = readings;
    for (const { event, keys } of readings) for (const key of keys) keepNewer(this.#byKey, key, event);
  }

  /**
   * The newest event about the object with these ids. Else the newest one that names the object: an event of a refund
   * names its payment, and one of an invoice its subscription.
   */
  find(ids: readonly string[]): Cause | undefined {
    const event = firstOf(this.#byKey, ids) ?? firstOf(this.#named(), ids);
    return event && causeOfEvent(this.#processor, event, ids);
  }

  /** Most changes are found without it. */
  #named(): ReadonlyMap<string, WebhookEvent> {
    if (this.#byNamedId !== undefined) return this.#byNamedId;
    const named = new Map<string, WebhookEvent>();
    for (const { event, facts } of this.#readings)
      for (const id of facts.flatMap(idsIn)) keepNewer(named, id, event);
    this.#byNamedId = named;
    return named;
  }
}

/** The first ids of a row are its own. Those that follow are of what it belongs to. */
const ownIds = 2;

/** The event, or the request that the event reports a moment before the request has recorded its change. */
export function causeOfEvent(
  processor: Pick<Processor, 'causeOf'>,
  { id, payload }: Pick<WebhookEvent, 'id' | 'payload'>,
  ids: readonly string[],
): Cause {
  const request = processor.causeOf(payload, ids.slice(0, ownIds));
  const none = { keyName: null, requestId: null };
  return { ...(request ?? { kind: 'webhook', ...none }), processorEventId: id };
}

function firstOf(
  events: ReadonlyMap<string, WebhookEvent>,
  ids: readonly string[],
): WebhookEvent | undefined {
  const known = ids.find((id) => events.has(id));
  return known === undefined ? undefined : events.get(known);
}

function keepNewer(events: Map<string, WebhookEvent>, id: string, event: WebhookEvent): void {
  const known = events.get(id);
  if (known === undefined || known.createdAt <= event.createdAt) events.set(id, event);
}

/** All ids in facts: the processor's and Till's. */
function idsIn(facts: object): readonly string[] {
  return Object.entries(facts).flatMap(([name, value]) =>
    (name === 'localId' || /^processor\w+Id$/.test(name)) && typeof value === 'string' ? [value] : [],
  );
}
