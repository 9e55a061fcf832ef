import { readFileSync } from 'node:fs';
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type AddressResolver, isRefusal, refusalTexts } from '../endpoints/address-resolver.ts';
import { signatureOf } from '../endpoints/endpoint-secret.ts';
import { type Outcome, responseBytesMax, responseText } from './delivery.ts';

/** For the whole exchange, from resolving the name to the end of the response. */
const exchangeTimeoutMs = 10_000;
interface SenderLimits {
  /** Tests set another one. */
  readonly timeoutMs?: number | undefined;
}

/** As many idle connections as an endpoint has deliveries at a time. */
const idleSocketsMax = 10;
/** Shorter than servers usually keep an idle connection, so that few are closed while a request is sent. */
const idleSocketMs = 4_000;

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
const userAgent = `Till/${version}`;

interface Message {
  readonly url: string;
  readonly secrets: readonly string[];
  readonly id: string;
  readonly body: string;
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

  /** Never rejects. Undefined if the signal ended it: then nothing is known about the attempt. */
  async send(message: Message, signal: AbortSignal): Promise<Outcome | undefined> {
    const startedAtMs = performance.now();
    const exchange = new Exchange(signal, this.#limits.timeoutMs ?? exchangeTimeoutMs);
    const url = new URL(message.url);
    const refusal = this.#addresses.refusalOf(url);
    if (refusal !== undefined) exchange.fail(refusal);
    else this.#startSafely(url, message, exchange);
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

  /** A request that cannot even be made is a failed attempt, and not the end of the process. */
  #startSafely(url: URL, message: Message, exchange: Exchange): void {
    try {
      this.#start(url, message, exchange);
    } catch (error) {
      exchange.fail(error instanceof Error ? error.name : 'Error');
    }
  }

  #start(url: URL, message: Message, exchange: Exchange, isSecond = false): void {
    const isHttps = url.protocol === 'https:';
    const body = Buffer.from(message.body);
    const request = (isHttps ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      // False: a connection of its own.
      agent: isSecond ? false : isHttps ? this.#agents.https : this.#agents.http,
      lookup: this.#addresses.lookup,
      headers: headersOf(message, body.length),
    });
    exchange.follow(request, (error) => {
      // The server closed an idle connection just when it was used again. A new connection does not have this problem.
      const isStale = request.reusedSocket && error.code === 'ECONNRESET' && !isSecond;
      if (isStale) this.#start(url, message, exchange, true);
      else exchange.fail(error.code ?? error.name);
    });
    request.end(body);
  }
}

function headersOf({ id, body, secrets }: Message, length: number): Record<string, string | number> {
  const timestamp = Math.floor(Date.now() / 1_000);
  return {
    'content-type': 'application/json',
    'content-length': length,
    'user-agent': userAgent,
    // A compressed response could not be shown.
    'accept-encoding': 'identity',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatureOf({ id, timestamp, body }, secrets),
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
    // An exchange that has ended destroys its request, which is then no reason to repeat it.
    request.on('error', (error) => (this.#isEnded ? undefined : onError(error)));
    request.on('response', (response) => this.#read(response));
  }

  /** What has arrived of the response still counts for the list. */
  fail(error: string): void {
    this.#end({ status: this.#status, body: Buffer.concat(this.#chunks), error });
    this.#request?.destroy();
  }

  /** A longer response than is kept is not read: its status says everything, and its connection is closed. */
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
