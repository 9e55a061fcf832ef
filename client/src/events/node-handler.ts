import type { EventRequestHandler } from './till-events.ts';

/** What the handler needs of a request of `node:http` or Express. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whether the body has been read. */
  readonly readableEnded: boolean;
  /** The body, if `express.raw()` or a platform has read it before. */
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** What the handler needs of a response of `node:http` or Express. */
export interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text: string): unknown;
}

/** Makes the handler of `tillEvents` a handler of `node:http` and Express, which takes the body as it arrived. */
export function toNodeHandler(
  handler: EventRequestHandler,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async (request, response) => {
    const { status, headers, text } = await handle(handler, request);
    response.statusCode = status;
    headers.forEach((value, name) => void response.setHeader(name, value));
    // The rest of a body that is too large is not read, so no other request can follow.
    if (status === 413) response.setHeader('connection', 'close');
    response.end(text);
  };
}

async function handle(handler: EventRequestHandler, request: NodeRequest) {
  const raw = [request.rawBody, request.body].find(isRaw);
  if (raw === undefined && request.readableEnded)
    // A mistake of the application. Till shows the text beside the delivery.
    return {
      status: 500,
      headers: new Headers(),
      text: 'The body was parsed before it could be verified. Add this handler before express.json().',
    };
  const { method = 'GET' } = request;
  const response = await handler(
    new Request('http://localhost/', {
      method,
      headers: toHeaders(request.headers),
      ...(method === 'GET' || method === 'HEAD' ? {} : { body: raw ?? toStream(request), duplex: 'half' }),
    } as RequestInit),
  );
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Not by `instanceof`: a test runner may have classes of its own. */
function isRaw(value: unknown): value is string | Uint8Array<ArrayBuffer> {
  return typeof value === 'string' || ArrayBuffer.isView(value);
}

function toHeaders(headers: NodeRequest['headers']): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(':'))
      result.set(name, typeof value === 'string' ? value : value.join(', '));
  return result;
}

/** Ending the iterator would destroy the connection before the response is sent, so nothing does. */
function toStream(request: NodeRequest): ReadableStream<Uint8Array> {
  const chunks = request[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}
