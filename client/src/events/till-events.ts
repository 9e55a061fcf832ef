import type { EventType, TillEvent, TillEventOf } from './event-types.ts';
import { TillVerificationError, type VerifyOptions, verifyEvent } from './verify-event.ts';

/** Many times the largest event. A larger body is not from Till, and must not fill the memory. */
const bodyBytesMax = 1_048_576;

export interface TillEventsOptions extends Pick<VerifyOptions, 'secret' | 'toleranceSeconds'> {
  /** What to do with an event, by its type. Events of other types are acknowledged and left alone. */
  readonly on: { readonly [Type in EventType]?: (event: TillEventOf<Type>) => unknown };
  /**
   * Called with an error that keeps an event from being handled, such as one that a handler has thrown. Default:
   * `console.error`.
   */
  readonly onError?: ((error: unknown, event: TillEvent | undefined) => void) | undefined;
}

/** A handler of web requests, as Next.js, Hono, Bun and Deno take it. */
export type EventRequestHandler = (request: Request) => Promise<Response>;

/**
 * Makes the handler of an event endpoint. It verifies a request of Till and calls the function for the type of its
 * event. If that function throws, the response is 500, and Till sends the event again. The same event can arrive more
 * than once: handle each `event.id` once.
 */
export function tillEvents({ on, onError = logError, ...verifying }: TillEventsOptions): EventRequestHandler {
  return async (request) => {
    let event: TillEvent | undefined;
    try {
      if (request.method !== 'POST') return respond(405, 'Events are sent with POST.', { allow: 'POST' });
      const body = await readBody(request);
      if (body === undefined) return respond(413, `The body has more than ${bodyBytesMax} bytes.`);
      event = await verifyEvent({ ...verifying, body, headers: request.headers });
      // The type of the event decides which function it is, and the function takes events of this type.
      const handle = Object.hasOwn(on, event.type)
        ? (on[event.type] as EventFunction | undefined)
        : undefined;
      await handle?.(event);
      return new Response(null, { status: 200 });
    } catch (error) {
      if (error instanceof TillVerificationError) return respond(400, error.message);
      onError(error, event);
      return respond(500, 'The event was not handled. The log of the application has the reason.');
    }
  };
}

type EventFunction = (event: TillEvent) => unknown;

function logError(error: unknown, event: TillEvent | undefined): void {
  console.error(event === undefined ? 'event not read' : `${event.type} ${event.id} not handled`, error);
}

/** Undefined if it is too large. */
async function readBody({ body, bodyUsed, headers }: Request): Promise<Uint8Array | undefined> {
  if (bodyUsed) throw new TypeError('the body was read before it could be verified');
  if (Number(headers.get('content-length')) > bodyBytesMax) return undefined;
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body?.getReader();
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    length += read.value.length;
    if (length > bodyBytesMax) return undefined;
    chunks.push(read.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function respond(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } });
}
