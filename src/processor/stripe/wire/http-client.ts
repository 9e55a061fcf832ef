import http from 'node:http';
import https from 'node:https';
import type { Stripe } from 'stripe';
import { type Cause, currentCause } from '#core/platform/cause.ts';
import type { CausingWrite } from '../../port/event-facts.ts';

type HttpClient = InstanceType<typeof Stripe.HttpClient>;

/**
 * How a request to the processor failed below its API.
 *
 *   - `unreachable`: no connection, so nothing was sent
 *   - `lost`: the connection broke; the request may have been carried out
 *   - `timeout`: no complete response in time; the request may have been carried out
 *   - `invalidResponse`: a complete response that is not one of the API's
 */
type HttpClientFault = 'unreachable' | 'lost' | 'timeout' | 'invalidResponse';

export class HttpClientError extends Error {
  override readonly name = 'HttpClientError';
  readonly fault: HttpClientFault;
  /** The HTTP status, if there was one. */
  readonly status: number | null;

  constructor(fault: HttpClientFault, detail: string, extras: { cause?: unknown; status?: number } = {}) {
    super(detail, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.fault = fault;
    this.status = extras.status ?? null;
  }
}

/**
 * The largest response that is read. A page of 100 invoices with their lines is well below 4 MiB. A response above this
 * limit does not come from the API, and must not use up the memory.
 */
const responseBytesMax = 16 * 1024 * 1024;

/**
 * The HTTP client below the official package. The package's own client limits only the time without data, so a response
 * that arrives byte by byte never times out. It repeats a request by itself when a connection breaks, outside any
 * deadline. It treats an error status without an `error` as success. On a JSON response that is not an object, it
 * throws where no caller can catch, which ends the process. With this client, an attempt is one request, it ends when
 * its time is up, and anything other than a response of the API is an `HttpClientError`.
 */
export function createHttpClient(agent: http.Agent, sent: SentWrites): HttpClient {
  return {
    getClientName: () => 'till',
    makeRequest: async (host, port, path, method, headers, body, protocol, timeoutMs) => {
      const connection = { open: false };
      try {
        // The package's type allows more than the texts and numbers that it passes.
        const options = { host, port, path, method, headers: headers as http.OutgoingHttpHeaders, agent };
        const request = (protocol === 'http' ? http : https).request(options);
        noteConnection(request, connection);
        const key = request.getHeader('idempotency-key');
        sent.note({ method, path, body, idempotencyKey: key === undefined ? undefined : String(key) });
        request.end(body);
        const { response, text } = await exchange(request, timeoutMs);
        return toPackageResponse(response, parseBody(text, statusOf(response)));
      } catch (error) {
        throw explain(error, connection.open);
      }
    },
  };
}

interface Exchanged {
  readonly response: http.IncomingMessage;
  readonly text: string;
}

/** Resolves with the complete response. It uses plain listeners, because every created payment passes here. */
function exchange(request: http.ClientRequest, timeoutMs: number): Promise<Exchanged> {
  const { promise, resolve, reject } = Promise.withResolvers<Exchanged>();
  const fail = (error: unknown) => {
    clearTimeout(timer);
    reject(error);
    request.destroy();
  };
  const timer = setTimeout(
    () => fail(new HttpClientError('timeout', `no complete response within ${timeoutMs} ms`)),
    timeoutMs,
  );
  // Also handles later errors, on an abandoned connection, which must not end the process.
  request.on('error', fail);
  request.once('response', (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= responseBytesMax) return;
      const detail = `the response is larger than ${responseBytesMax} bytes`;
      fail(new HttpClientError('invalidResponse', detail, { status: statusOf(response) }));
    });
    response.on('error', fail);
    response.once('end', () => {
      clearTimeout(timer);
      resolve({ response, text: Buffer.concat(chunks).toString('utf8') });
    });
  });
  return promise;
}

/** A response is a JSON object. It has an `error` if, and only if, its status is an error. */
function parseBody(text: string, status: number): object {
  const invalid = (detail: string) => new HttpClientError('invalidResponse', detail, { status });
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw invalid(`the response (status ${status}) is not JSON`);
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid(`the response (status ${status}) is not a JSON object`);
  const error = ('error' in body ? body.error : null) ?? null;
  if (status < 300 !== (error === null))
    throw invalid(`the body of the response contradicts its status ${status}`);
  if (error !== null && typeof error !== 'object')
    throw invalid(`the response (status ${status}) has no readable error`);
  return body;
}

/**
 * Nothing is sent before there is a connection (and, with TLS, a trusted one). A reused keep-alive connection is open
 * from the start.
 */
function noteConnection(request: http.ClientRequest, connection: { open: boolean }): void {
  request.once('socket', (socket) => {
    const secure = 'secureConnecting' in socket;
    const pending = socket.connecting || (secure && socket.secureConnecting === true);
    if (pending) socket.once(secure ? 'secureConnect' : 'connect', () => (connection.open = true));
    else connection.open = true;
  });
}

function explain(error: unknown, connected: boolean): HttpClientError {
  if (error instanceof HttpClientError) return error;
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return connected
    ? new HttpClientError('lost', `the connection broke${code}`, { cause: error })
    : new HttpClientError('unreachable', `the connection failed${code}`, { cause: error });
}

function toPackageResponse(
  response: http.IncomingMessage,
  body: object,
): Awaited<ReturnType<HttpClient['makeRequest']>> {
  return {
    getStatusCode: () => statusOf(response),
    getHeaders: () => flatten(response.headers),
    getRawResponse: () => response,
    toStream: () => response,
    toJSON: async () => body,
  };
}

function flatten(headers: http.IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) flat[name] = String(value);
  return flat;
}

function statusOf(response: http.IncomingMessage): number {
  return response.statusCode ?? 0;
}

/** The time limit of an API request. After that, the request has recorded its change itself, or has failed. */
const keptMs = 30_000;
/** More than the calls of a busy process in that time. About a kilobyte each. */
const keptMax = 10_000;
/** Ids are shorter, so longer values are not kept. */
const idLengthMax = 64;

/** Separates the values of a path, and those of a form-encoded body. */
const separators = /[/?&=]/;

/** A call as it is sent. */
interface SentCall {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly idempotencyKey: string | undefined;
}

interface SentWrite {
  readonly cause: Cause;
  readonly sentAtMs: number;
}

/**
 * The recent writes of API requests. The processor can report a change before the request has recorded it. Its event
 * names the write, so Till can still attribute the change to the request. Only the process that sent a write knows it.
 */
export class SentWrites {
  /** By processor key, or by the path of a write without one. Oldest first. */
  readonly #byName = new Map<string, SentWrite>();
  /**
   * The values that a request has sent to the processor: the processor's ids, Till's ids, and all other short values.
   * They are one text for each request: thousands of sets, each kept for half a minute, would keep the garbage
   * collector busy.
   */
  readonly #named = new WeakMap<Cause, string>();
  readonly #elapsedMs: () => number;

  constructor(elapsedMs: () => number = () => performance.now()) {
    this.#elapsedMs = elapsedMs;
  }

  get isEmpty(): boolean {
    return this.#byName.size === 0;
  }

  note({ method, path, body, idempotencyKey }: SentCall): void {
    const cause = currentCause();
    if (cause?.kind !== 'api') return;
    const named = `${path}&${body}`.split(separators).filter(({ length }) => length <= idLengthMax);
    this.#named.set(cause, [this.#named.get(cause) ?? '', ...named].join('&'));
    if (method === 'GET') return;
    this.#forget();
    const name = idempotencyKey ?? unkeyed(lastSegmentOf(path));
    this.#byName.delete(name);
    this.#byName.set(name, { cause, sentAtMs: this.#elapsedMs() });
  }

  /** The request whose write caused the event, if it is about one of these objects. */
  causeOf({ idempotencyKey, objectId }: CausingWrite, ids: readonly string[]): Cause | undefined {
    // Most processes have sent no write within half a minute when there are no requests.
    if (this.isEmpty) return undefined;
    this.#forget();
    const sent = this.#byName.get(idempotencyKey ?? unkeyed(objectId));
    if (sent === undefined) return undefined;
    const named = new Set(this.#named.get(sent.cause)?.split(separators));
    return [objectId, ...ids].some((id) => named.has(id)) ? sent.cause : undefined;
  }

  #forget(): void {
    const oldestMs = this.#elapsedMs() - keptMs;
    for (const [name, { sentAtMs }] of this.#byName) {
      if (sentAtMs >= oldestMs && this.#byName.size < keptMax) return;
      this.#byName.delete(name);
    }
  }
}

/** The id of the object that a write is about. Its query can contain slashes. */
function lastSegmentOf(path: string): string {
  const [withoutQuery = ''] = path.split('?');
  return withoutQuery.slice(withoutQuery.lastIndexOf('/') + 1);
}

/** Processor keys have no spaces. */
function unkeyed(objectId: string): string {
  return `of ${objectId}`;
}
