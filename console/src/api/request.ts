import { signal } from '@preact/signals';
import { apiKey, signOut } from '../session.ts';
import { ApiError } from './api-error.ts';
import { requestTimeoutMs } from './time-limit.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface RequestOptions {
  readonly query?: Query;
  readonly body?: object;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** False after a request got no response, until one does. */
export const isReachable = signal(true);

/** Calls the API and returns the parsed body. Throws an ApiError, or an AbortError if `signal` aborts. */
export async function request<T>(
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE',
  path: string,
  options: RequestOptions = {},
): Promise<T> {
  const { body, idempotencyKey } = options;
  const response = await send(withQuery(path, options.query), {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: withTimeout(options.signal),
  });
  if (response.status === 204) return undefined as T;
  return response.json().catch((error: unknown) => {
    if (options.signal?.aborted === true) throw error;
    throw ApiError.unreadable(response);
  });
}

export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return request('GET', path, { query, ...(signal === undefined ? {} : { signal }) });
}

/** Sends a request with the key of this session. A key that is no longer valid ends the session. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const key = apiKey.value ?? '';
  const response = await fetch(`/api/v1${path}`, {
    ...init,
    headers: { ...init.headers, 'x-api-key': key },
    credentials: 'omit',
  }).catch((error: unknown) => {
    if (init.signal?.aborted === true && !isTimeout(init.signal.reason)) throw error;
    isReachable.value = false;
    throw ApiError.unreachable();
  });
  isReachable.value = true;
  if (response.ok) return response;
  const error = await ApiError.of(response);
  if (error.status === 401 && apiKey.value === key) signOut('The API key is no longer valid.');
  throw error;
}

export function withQuery(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`;
}

function withTimeout(signal: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(requestTimeoutMs);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}
