import type { TillConnectionError, TillError } from './errors.ts';

export interface TillOptions {
  /** Where Till is: `https://till.example.com`. A path is kept, for a proxy that serves Till below one. */
  readonly url: string | undefined;
  /** An API key with the scopes that your calls need. Null if something else admits them, such as a proxy. */
  readonly apiKey: string | null | undefined;
  /** Headers of every request, for what is between your application and Till. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How long one attempt may take, in milliseconds. Default: 35,000, a little longer than Till takes at most. */
  readonly timeoutMs?: number | undefined;
  /** How long a call may take with all its retries, in milliseconds. Default: 90,000. */
  readonly totalTimeoutMs?: number | undefined;
  /** How often a failed call is sent again. Default: 3. */
  readonly retries?: number | undefined;
  /** The longest delay before the first retry, in milliseconds. It doubles with each further one. Default: 500. */
  readonly retryDelayMs?: number | undefined;
  /** Another `fetch` than the global one. */
  readonly fetch?: typeof fetch | undefined;
  /** Called before each retry, for your log or metrics. The client itself logs nothing. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

export interface Retry {
  readonly error: TillError | TillConnectionError;
  /** How often the request was sent so far. */
  readonly attempts: number;
  readonly delayMs: number;
}

/** The last argument of every method. */
export interface RequestOptions {
  /** Ends the call. It rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly totalTimeoutMs?: number | undefined;
  readonly retries?: number | undefined;
}

/** The last argument of every method that sends a POST or PATCH. */
export interface WriteOptions extends RequestOptions {
  /**
   * Calls with the same idempotency key have an effect once. Use one that survives your process, such as the id of an
   * order, if you may repeat the call after a crash. Default: a random idempotency key for each call, which its retries
   * share.
   */
  readonly idempotencyKey?: string | undefined;
}
