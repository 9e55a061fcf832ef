import { type CallFacts, TillConnectionError, TillTimeoutError } from '../errors.ts';

export interface Message {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** A response that was read to its end. */
export interface ReadResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Sends a request once. Throws a connection error, a timeout error, or the reason of the caller's signal. The timeout
 * includes reading the body. `AbortSignal.any` would be shorter, but a long-lived signal would keep every derived
 * signal in memory.
 */
export async function attempt(
  send: typeof fetch,
  { url, ...message }: Message,
  { timeoutMs, signal, call }: { timeoutMs: number; signal: AbortSignal | undefined; call: CallFacts },
): Promise<ReadResponse> {
  signal?.throwIfAborted();
  const request = new AbortController();
  const end = () => request.abort(signal?.reason);
  const timer = setTimeout(
    () => request.abort(new TillTimeoutError(`no response within ${Math.round(timeoutMs)} ms`, call)),
    timeoutMs,
  );
  signal?.addEventListener('abort', end, { once: true });
  try {
    // Follows no redirect, so that the API key is only sent to the configured address.
    const response = await send(url, { ...init(message), redirect: 'manual', signal: request.signal });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    request.signal.throwIfAborted();
    throw new TillConnectionError(`no response: ${reasonOf(error)}`, call, { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

function init({ method, headers, body }: Omit<Message, 'url'>): RequestInit {
  return { method, headers: { ...headers }, ...(body === undefined ? {} : { body }) };
}

/** The message of `fetch` is the same for every failure. Its cause says what happened. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
