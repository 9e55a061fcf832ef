import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { version } from '#core/platform/version.ts';
import { type AddressResolver, isRefusal, refusalTexts } from '../endpoints/address-resolver.ts';
import { signatureOf } from '../endpoints/endpoint-secret.ts';
import { type DeliveryOutcome, responseBytesMax, responseText } from './delivery.ts';

/** For the whole exchange, from the DNS query to the end of the response. */
const exchangeTimeoutMs = 10_000;
interface SenderLimits {
  /** Replaced in tests. */
  readonly timeoutMs?: number | undefined;
}

/** As many idle connections as an endpoint has concurrent deliveries. */
const idleSocketsMax = 10;
/** Shorter than the idle timeout of most servers, so that few connections are closed while a request is sent. */
const idleSocketMs = 4_000;

const userAgent = `Till/${version}`;

interface Message {
  readonly url: string;
  readonly secrets: readonly string[];
  readonly id: string;
  readonly body: string;
  /** The span of the attempt, if it is traced. */
  readonly traceparent?: string | undefined;
}

/** Sends events to endpoints. It follows no redirect, and connects only to addresses that are allowed. */
export class EventSender {
  readonly #addresses: AddressResolver;
  readonly #limits: SenderLimits;
  readonly #agents = {
    http: new HttpAgent({ keepAlive: true, maxFreeSockets: idleSocketsMax, timeout: idleSocketMs }),
    https: new HttpsAgent({ keepAlive: true, maxFreeSockets: idleSocketsMax, timeout: idleSocketMs }),
  };

  constructor(addresses: AddressResolver, limits: SenderLimits = {}) {
    this.#addresses = addresses;
    this.#limits = limits;
  }

  /** Never rejects. Undefined if the signal aborted the attempt: then its result is unknown. */
  async send(message: Message, signal: AbortSignal): Promise<DeliveryOutcome | undefined> {
    const startedAtMs = performance.now();
    const exchange = new Exchange(signal, this.#limits.timeoutMs ?? exchangeTimeoutMs);
    const url = new URL(message.url);
    const refusal = this.#addresses.refusalOf(url);
    if (refusal !== undefined) exchange.fail(refusal);
    else this.#postSafely(url, message, exchange);
    const { status, body, error } = await exchange.ended;
    if (signal.aborted && error !== null) return undefined;
    return {
      succeeded: error === null && status !== null && status >= 200 && status < 300,
      responseStatus: status,
      responseBody: isRefusal(error) ? refusalTexts[error] : responseText(body),
      durationMs: Math.round(performance.now() - startedAtMs),
      error,
    };
  }

  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  /** A request that cannot be created is a failed attempt. It must not end the process. */
  #postSafely(url: URL, message: Message, exchange: Exchange): void {
    try {
      this.#post(url, message, exchange);
    } catch (error) {
      exchange.fail(error instanceof Error ? error.name : 'Error');
    }
  }

  /** Sends the event. The addresses that `lookup` allows are the only ones that it connects to. */
  #post(url: URL, message: Message, exchange: Exchange, isSecond = false): void {
    const isHttps = url.protocol === 'https:';
    const body = Buffer.from(message.body);
    const request = (isHttps ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      // False: a new connection for this request.
      agent: isSecond ? false : isHttps ? this.#agents.https : this.#agents.http,
      lookup: this.#addresses.lookup,
      headers: headersOf(message, body.length),
    });
    exchange.follow(request, (error) => {
      // The server closed an idle connection at the moment of its reuse. A new connection does not have this problem.
      const isStale = request.reusedSocket && error.code === 'ECONNRESET' && !isSecond;
      if (isStale) this.#post(url, message, exchange, true);
      else exchange.fail(error.code ?? error.name);
    });
    request.end(body);
  }
}

function headersOf(
  { id, body, secrets, traceparent }: Message,
  length: number,
): Record<string, string | number> {
  const timestamp = Math.floor(Date.now() / 1_000);
  return {
    'content-type': 'application/json',
    'content-length': length,
    'user-agent': userAgent,
    // A compressed response would be unreadable in the list.
    'accept-encoding': 'identity',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatureOf({ id, timestamp, body }, secrets),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

interface Ended {
  readonly status: number | null;
  readonly body: Buffer;
  readonly error: string | null;
}

/** One request and its response, up to a time limit. */
class Exchange {
  readonly ended: Promise<Ended>;
  readonly #end: (ended: Ended) => void;
  readonly #chunks: Buffer[] = [];
  #request: ClientRequest | undefined;
  #status: number | null = null;
  #isEnded = false;

  constructor(signal: AbortSignal, timeoutMs: number) {
    const { promise, resolve } = Promise.withResolvers<Ended>();
    this.ended = promise;
    const stop = () => this.fail('ABORTED');
    const timer = setTimeout(() => this.fail('TIMEOUT'), timeoutMs);
    if (signal.aborted) queueMicrotask(stop);
    else signal.addEventListener('abort', stop, { once: true });
    this.#end = (ended) => {
      this.#isEnded = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      resolve(ended);
    };
  }

  follow(request: ClientRequest, onError: (error: NodeJS.ErrnoException) => void): void {
    this.#request = request;
    // An exchange that has ended destroys its request. That error must not repeat the request.
    request.on('error', (error) => (this.#isEnded ? undefined : onError(error)));
    request.on('response', (response) => this.#read(response));
  }

  /** The list shows the part of the response that has arrived. */
  fail(error: string): void {
    this.#end({ status: this.#status, body: Buffer.concat(this.#chunks), error });
    this.#request?.destroy();
  }

  /** Stops reading when it has all that is kept, and closes the connection. The status is known by then. */
  #read(response: IncomingMessage): void {
    this.#status = response.statusCode ?? null;
    let length = 0;
    const finish = () => this.#end({ status: this.#status, body: Buffer.concat(this.#chunks), error: null });
    response.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      length += chunk.length;
      if (length <= responseBytesMax) return;
      finish();
      response.destroy();
    });
    response.on('end', finish);
    response.on('error', () => this.fail('ECONNRESET'));
    response.on('aborted', () => this.fail('ECONNRESET'));
  }
}
