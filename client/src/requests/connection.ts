import type { CallFacts } from '../errors.ts';
import type { WriteOptions } from '../options.ts';
import { attempt, type Message, type ReadResponse } from './attempt.ts';
import { NewestPosition } from './newest-position.ts';
import { readResponse, requireSuccess } from './read-response.ts';
import { isTemporary, retryDelayMs } from './retry.ts';
import { limitsOf, type Settings } from './settings.ts';
import { wait } from './wait.ts';

/** A timer can fire this much early. An attempt with less time left is pointless. */
const leastTimeMs = 1;
const keyPattern = /^[\x21-\x7e]{1,255}$/;
/** More random bits than a UUID has. */
const keyBytes = 18;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path as the OpenAPI document has it. */
  readonly path: string;
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: object | undefined;
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Statuses that are results of this call, in addition to the successful ones. */
  readonly accepted?: readonly number[] | undefined;
}

/** Sends calls to one Till, with its API key and time limits, and retries temporary failures. */
export class Connection {
  readonly #settings: Settings;
  readonly #position = new NewestPosition();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get retryDelayMs(): number {
    return this.#settings.retryDelayMs;
  }

  get onRetry(): Settings['onRetry'] {
    return this.#settings.onRetry;
  }

  /** The JSON of the response. */
  async json(call: Call, options: WriteOptions = {}): Promise<unknown> {
    const { response, facts } = await this.send(call, options);
    return readResponse(response, facts);
  }

  /** The response, if it is a success or accepted by the call. */
  async send(call: Call, options: WriteOptions = {}): Promise<{ response: ReadResponse; facts: CallFacts }> {
    const { body, idempotencyKey } = toBody(call, options);
    const { headers } = this.#settings;
    const message = {
      method: call.method,
      url: `${this.#settings.url}${toPath(call)}`,
      headers: {
        accept: 'application/json',
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        ...call.headers,
      },
      body,
    };
    const { signal } = options;
    return this.#retry(options, async (attempts, timeoutMs) => {
      const facts = { method: call.method, path: call.path, idempotencyKey, attempts };
      const response = await this.#attempt(call, message, { timeoutMs, signal, call: facts });
      if (!call.accepted?.includes(response.status)) requireSuccess(response, facts);
      return { response, facts };
    });
  }

  /** Each attempt sends the position that is the newest by then. */
  async #attempt(
    call: Call,
    message: Message,
    options: Parameters<typeof attempt>[2],
  ): Promise<ReadResponse> {
    const request = this.#position.begin(call);
    const headers = { ...request.headers, ...message.headers };
    let response: ReadResponse | undefined;
    try {
      response = await attempt(this.#settings.fetch, { ...message, headers }, options);
      return response;
    } finally {
      request.end(response);
    }
  }

  async #retry<Result>(
    options: WriteOptions,
    run: (attempts: number, timeoutMs: number) => Promise<Result>,
  ): Promise<Result> {
    const { timeoutMs, totalTimeoutMs, retries } = limitsOf(this.#settings, options);
    const endsAtMs = performance.now() + totalTimeoutMs;
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await run(attempts, Math.min(timeoutMs, endsAtMs - performance.now()));
      } catch (error) {
        if (!isTemporary(error) || attempts > retries) throw error;
        const delayMs = retryDelayMs(error, { attempts, firstDelayMs: this.#settings.retryDelayMs });
        // There would be no time for the next attempt.
        if (performance.now() + delayMs + leastTimeMs > endsAtMs) throw error;
        this.#settings.onRetry?.({ error, attempts, delayMs });
        await wait(delayMs, options.signal);
      }
    }
  }
}

function toBody(
  { method, body }: Call,
  options: WriteOptions,
): { readonly body: string | undefined; readonly idempotencyKey: string | undefined } {
  const { idempotencyKey: inBody, ...fields } = { idempotencyKey: undefined, ...body };
  const json = body === undefined ? undefined : JSON.stringify(fields);
  if (method !== 'POST' && method !== 'PATCH') return { body: json, idempotencyKey: undefined };
  // Every attempt has the same idempotency key, so that the call has its effect once.
  const idempotencyKey = options.idempotencyKey ?? inBody ?? newIdempotencyKey();
  if (typeof idempotencyKey !== 'string' || !keyPattern.test(idempotencyKey))
    throw new TypeError('`idempotencyKey` must be 1 to 255 visible ASCII characters');
  return { body: json, idempotencyKey };
}

/**
 * A random idempotency key. Not `crypto.randomUUID`: browsers offer it only over HTTPS and on localhost, and a private
 * network may serve Till over plain HTTP.
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(keyBytes));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function toPath({ path, params = {}, query = {} }: Call): string {
  const filled = path.replace(/\{(\w+)\}/g, (_match, name: string) => toSegment(name, params[name]));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) search.append(name, String(value));
  const text = search.toString();
  return text === '' ? filled : `${filled}?${text}`;
}

/** An empty value, or one that a URL resolves as a folder, would lead to another path. */
function toSegment(name: string, value: string | undefined): string {
  if (typeof value === 'string' && value !== '' && value !== '.' && value !== '..')
    return encodeURIComponent(value);
  throw new TypeError(`\`${name}\` must be an id`);
}
