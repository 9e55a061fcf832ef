import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { NewEvent } from '#engine/events/event.ts';
import type { Client } from './client.ts';

export interface EventBody {
  readonly id: string;
  readonly type: string;
  readonly createdAt: string;
  readonly objectType: string;
  readonly objectId: string;
  readonly customerId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly previous: Readonly<Record<string, unknown>>;
  readonly cause: Readonly<Record<string, unknown>>;
}

export interface EventPage {
  readonly data: readonly EventBody[];
  readonly nextCursor: string | null;
}

/** An event to append, of an object of its own unless the test names one. */
export function newEvent(values: Partial<NewEvent> = {}): NewEvent {
  const objectId = values.objectId ?? randomUUID();
  return {
    type: 'customer.updated',
    objectType: 'customer',
    objectId,
    customerId: objectId,
    data: { id: objectId },
    previous: {},
    cause: { kind: 'api', keyName: 'tests', person: null, requestId: randomUUID(), processorEventId: null },
    ...values,
  };
}

/** Runs a statement on any connection. */
type Run = (text: string, values: unknown[]) => Promise<unknown>;

/**
 * Appends events as the outbox does. On a connection without a transaction they are committed at once. A transaction of
 * Till writes one event of an object. Here, an object may have several.
 */
export async function appendEvents(run: Run, ...events: readonly NewEvent[]): Promise<void> {
  const fields = ['type', 'objectType', 'objectId', 'customerId', 'data', 'previous', 'cause', 'traceparent'];
  const arrays = fields.map((field) => `array[event ->> '${field}']`).join(', ');
  const text = `select till.append_events(${arrays}) from json_array_elements($1::json) as event`;
  await run(text, [JSON.stringify(events)]);
}

/** A message of a stream. A comment or a field that is absent is undefined. */
export interface StreamMessage {
  readonly comment?: string;
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
}

export interface EventStream {
  readonly response: Response;
  /** Every message from now on. Ends when the server ends the stream, and fails if the connection breaks. */
  readonly messages: AsyncGenerator<StreamMessage, void>;
  /** The next event, without heartbeats. */
  nextEvent(): Promise<EventBody>;
  close(): void;
}

/** Opens a stream with fetch, as an application does. */
export async function openStream(
  till: Client,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  const caller = new AbortController();
  const response = await till.fetch(`/api/v1/events${query}`, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: caller.signal,
  });
  const messages = readMessages(response);
  return {
    response,
    messages,
    nextEvent: async () => {
      for (;;) {
        const { value, done } = await messages.next();
        assert.ok(done !== true, 'the stream ended');
        if (value.data !== undefined) return JSON.parse(value.data);
      }
    },
    close: () => caller.abort(),
  };
}

async function* readMessages({ body }: Response): AsyncGenerator<StreamMessage, void> {
  assert.ok(body !== null);
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield parseMessage(text.slice(0, end));
      text = text.slice(end + 2);
    }
  }
  assert.equal(text, '', 'the stream ended within a message');
}

function parseMessage(block: string): StreamMessage {
  return Object.fromEntries(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [colon === 0 ? 'comment' : line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    }),
  );
}
