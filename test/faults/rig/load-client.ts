import { setTimeout } from 'node:timers/promises';
import { type Client, createClient } from '../../support/client.ts';

/** Between two attempts of the same request; doubles up to a second, as in a well-behaved client. */
const retryDelayMs = 50;
const retryDelayMsMax = 1_000;
/** Longer than any fault here lasts, with its leases; a longer wait is a defect. */
const patienceMs = 150_000;
/** Past the service's own 30 s: a response that takes longer is a hang, and counts as none. */
const attemptTimeoutMsDefault = 40_000;
/** Conflicts that pass by themselves: another attempt of the same request is still in progress. */
const passingConflicts = ['idempotency_key_in_flight', 'refund_in_flight'];

/** One request on the wire, and its result. */
export interface Attempt {
  readonly what: string;
  readonly atMs: number;
  readonly tookMs: number;
  /** 0 where the connection broke or nothing came in time. */
  readonly status: number;
  /** The problem's code, or why there is no response. */
  readonly code: string | undefined;
  readonly hasRetryAfter: boolean;
}

export interface Settled<Body> {
  readonly isOk: boolean;
  readonly status: number;
  readonly code: string | undefined;
  readonly body: Body;
}

/** Till's API as used by a client that repeats a request with the same idempotency key until it is done. */
export class LoadClient {
  readonly attempts: Attempt[] = [];
  readonly #client: Client;
  readonly #abandoned: AbortSignal;
  readonly #attemptTimeoutMs: number;

  constructor(url: () => string, abandoned: AbortSignal, attemptTimeoutMs = attemptTimeoutMsDefault) {
    this.#client = createClient({
      get url() {
        return url();
      },
    });
    this.#abandoned = abandoned;
    this.#attemptTimeoutMs = attemptTimeoutMs;
  }

  async call<Body>(method: string, path: string, body?: object, key?: string): Promise<Settled<Body>> {
    const what = `${method} ${path.replaceAll(/[0-9a-f-]{36}/g, '{id}').replace(/\?.*/, '')}`;
    const deadlineMs = performance.now() + patienceMs;
    for (let delayMs = retryDelayMs; ; delayMs = Math.min(2 * delayMs, retryDelayMsMax)) {
      const settled = await this.#try<Body>(what, method, path, body, key);
      if (settled !== undefined) return settled;
      if (performance.now() > deadlineMs) throw new Error(`${what} could not be done in ${patienceMs} ms`);
      await setTimeout(delayMs, undefined, { signal: this.#abandoned });
    }
  }

  /** Undefined if a retry is right. */
  async #try<Body>(
    what: string,
    method: string,
    path: string,
    body: object | undefined,
    key: string | undefined,
  ): Promise<Settled<Body> | undefined> {
    const atMs = performance.now();
    const note = (status: number, code: string | undefined, hasRetryAfter = false) =>
      this.attempts.push({ what, atMs, tookMs: performance.now() - atMs, status, code, hasRetryAfter });
    try {
      const response = await this.#client.fetch(`/api/v1/${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([AbortSignal.timeout(this.#attemptTimeoutMs), this.#abandoned]),
      });
      const parsed = parse(await response.text());
      const { status } = response;
      note(status, parsed?.code, response.headers.has('retry-after'));
      if (parsed === undefined) return undefined;
      const isPassing = status >= 500 || status === 429 || passingConflicts.includes(parsed.code ?? '');
      if (isPassing) return undefined;
      // The API tests check what the load reads of the responses.
      return { isOk: response.ok, status, code: parsed.code, body: parsed as Body };
    } catch (error) {
      this.#abandoned.throwIfAborted();
      note(0, error instanceof Error ? `${error.name}: ${String(error.cause ?? error.message)}` : 'unknown');
      return undefined;
    }
  }
}

/** What is recorded for a body that is not a JSON object. */
export const unparseable = 'unparseable';

function parse(text: string): { readonly code?: string } | undefined {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : { code: unparseable };
  } catch {
    return { code: unparseable };
  }
}
