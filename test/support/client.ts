import assert from 'node:assert/strict';

/** The API key of every Till that a test starts. */
export const testKey = 'test-key-0123456789-0123456789';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A response that may be a refusal. */
export interface Answer {
  readonly status: number;
  /** Whether the response repeats the one to an earlier request under the same idempotency key. */
  readonly replayed: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The HTTP client of every test. All requests carry a valid API key. */
export interface Client {
  /** Any path of the service. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** A request below /api/v1. A body is sent as JSON. */
  call(
    method: Method,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>;
  /** A GET below /api/v1 that must succeed. */
  get<Body>(path: string): Promise<Body>;
  /** A POST below /api/v1 that must succeed. */
  post<Body>(path: string, body?: object): Promise<Body>;
  /** A GET below /api/v1 that may be refused. */
  tryGet(path: string): Promise<Answer>;
  /** A POST below /api/v1 that may be refused. */
  tryPost(path: string, body: object, idempotencyKey?: string): Promise<Answer>;
  /** A PATCH below /api/v1 that may be refused. */
  tryPatch(path: string, body: object, idempotencyKey?: string): Promise<Answer>;
}

/** The address is read for each request, because a Till that starts again gets another port. */
export function createClient(address: { readonly url: string }, key = testKey): Client {
  const request: Client['fetch'] = (path, init = {}) =>
    fetch(`${address.url}${path}`, { ...init, headers: { 'x-api-key': key, ...init.headers } });
  const call: Client['call'] = (method, path, body, headers) =>
    request(`/api/v1${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    fetch: request,
    call,
    get: async (path) => readSuccess(await call('GET', path)),
    post: async (path, body = {}) => readSuccess(await call('POST', path, body)),
    tryGet: async (path) => toResponse(await call('GET', path)),
    tryPost: async (path, body, key) => toResponse(await call('POST', path, body, keyHeader(key))),
    tryPatch: async (path, body, key) => toResponse(await call('PATCH', path, body, keyHeader(key))),
  };
}

function keyHeader(key: string | undefined): Readonly<Record<string, string>> {
  return key === undefined ? {} : { 'idempotency-key': key };
}

/** Reads a response that must be JSON with this status. */
export async function readJson<Body>(response: Response, status: number): Promise<Body> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  return JSON.parse(text);
}

/** Reads a response that must be a success. */
export async function readSuccess<Body>(response: Response): Promise<Body> {
  const text = await response.text();
  assert.ok(response.ok, `${response.status}: ${text}`);
  return JSON.parse(text === '' ? 'null' : text);
}

async function toResponse(response: Response): Promise<Answer> {
  return {
    status: response.status,
    replayed: response.headers.get('idempotent-replayed') === 'true',
    // Every response of the API is a JSON object.
    body: (await response.json()) as Readonly<Record<string, unknown>>,
  };
}
