import { asOfEvent } from '#core/model/facts.ts';
import type { ProcessorEvent, VerifiedWebhook } from '../../port/event-calls.ts';
import {
  type CausingWrite,
  type EventContent,
  type EventFacts,
  UnmappableError,
} from '../../port/event-facts.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { eventReaders } from './event-types.ts';
import { erasedMark, redactEvent } from './redact-payload.ts';

/** The facts of a stored event. It shows its object at the time of the event, in the API version of the endpoint. */
export function readEvent(payload: string): EventFacts {
  return factsOf(parseEvent(payload));
}

/** The facts of a stored event, and the call that caused it. */
export function readEventContent(payload: string): EventContent {
  return contentOf(parseEvent(payload));
}

function contentOf(event: WireObject): EventContent {
  return { ...factsOf(event), write: causingWriteOf(event) };
}

/** The call that caused an event. Null if no call caused it, or if the event does not show it. */
function causingWriteOf(event: WireObject): CausingWrite | null {
  return ifReadable(() => {
    const request = event.has('request') ? event.objectOrNull('request') : null;
    if (request === null || request.textOrNull('id') === null) return null;
    return {
      idempotencyKey: request.has('idempotency_key') ? request.textOrNull('idempotency_key') : null,
      objectId: event.object('data').object('object').id(),
    };
  });
}

function factsOf(event: WireObject): EventFacts {
  const type = event.text('type');
  const object = event.object('data').object('object');
  const read = eventReaders.get(type);
  if (read === undefined) return { subject: 'none', reason: 'unknown_type' };
  if (!object.has('id')) return { subject: 'none', reason: 'object_without_id' };
  const asOf = asOfEvent(event.moment('created'));
  return read(event.object('data').raw('object'), asOf, event.has(erasedMark));
}

/** The fields of an event that the inbox needs, whatever its type. */
export function mapEventEnvelope(value: unknown): ProcessorEvent {
  return mapReceivedEvent(value).event;
}

/** The same fields, and the content of the event as it is stored. */
export function mapReceivedEvent(value: unknown): Omit<ReceivedEvent, 'outcome'> {
  const event = WireObject.parse(value, 'event').expectKind('event');
  const object = event.object('data').object('object');
  const { value: stored, erasedPayload } = redactEvent(value);
  return {
    event: {
      id: event.id(),
      type: event.shortText('type'),
      createdAt: event.moment('created'),
      livemode: event.flag('livemode'),
      apiVersion: event.optionalText('api_version'),
      objectId: object.has('id') ? object.id() : null,
      customerKey: ownerOf(object),
      // Serialised again even if nothing was redacted, because the original text would keep both values of a duplicate
      // JSON key.
      payload: JSON.stringify(stored),
      erasedPayload,
    },
    read: () => contentOf(WireObject.parse(stored, 'event')),
  };
}

type ReceivedEvent = Extract<VerifiedWebhook, { outcome: 'event' }>;

/** The customer of a payment or subscription. */
function ownerOf(object: WireObject): string | null {
  if (!['payment_intent', 'subscription'].includes(object.optionalText('object') ?? '')) return null;
  const expanded = object.optional('object', 'customer');
  return expanded === null ? object.optional('shortText', 'customer') : expanded.optional('shortText', 'id');
}

function parseEvent(payload: string): WireObject {
  return WireObject.parse(parseJson(payload), 'event').expectKind('event');
}

function parseJson(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    throw new UnmappableError('the payload is not JSON');
  }
}
