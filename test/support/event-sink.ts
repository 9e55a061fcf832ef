import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withDeadline } from '#core/platform/deadline.ts';
import type { Lifetime } from './backend.ts';

/** Far longer than one delivery takes. What does not arrive must fail the test. */
const arrivalTimeoutMs = 20_000;

/** An event as an endpoint received it. */
export interface ReceivedEvent {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: {
    readonly id: string;
    readonly type: string;
    readonly objectId: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
}

export interface EventSink {
  readonly url: string;
  readonly received: readonly ReceivedEvent[];
  /** Resolves when so many events have arrived, repeats included. */
  arrived(count: number): Promise<void>;
}

/** How an endpoint responds. By default with 204. */
export type Respond = (response: ServerResponse, event: ReceivedEvent, count: number) => void;

/** An application's endpoint for events. */
export async function startEventSink(
  life: Lifetime,
  respond: Respond = (response) => void response.writeHead(204).end(),
): Promise<EventSink> {
  const received: ReceivedEvent[] = [];
  const arrivals = new EventEmitter();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const event = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) };
    received.push(event);
    arrivals.emit('event');
    respond(response, event, received.length);
  });
  // If another end of the test fails, the sink is not closed, and must not keep the process alive.
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  life.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    arrived: async (count) => {
      // A busy machine may need long for many events, but not for the next one.
      while (received.length < count) {
        const what = `waiting for event ${received.length + 1} of ${count}`;
        await withDeadline(once(arrivals, 'event'), arrivalTimeoutMs, what);
      }
    },
  };
}
