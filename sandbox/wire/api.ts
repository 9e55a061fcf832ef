import { createHash } from 'node:crypto';
import type { Fault } from '../control/faults.ts';
import { newId } from '../ids.ts';
import { shapeOf } from '../versions/older-objects.ts';
import type { World } from '../worlds/world.ts';
import { checkVersion } from './api-version.ts';
import { authenticate, noAccess } from './authenticate.ts';
import { canonicalForm, type FormMap, parseForm, shorten } from './form.ts';
import type { Call, Operation } from './operation.ts';
import { requestTime } from './request-clock.ts';
import { badParam, type ErrorBody, refusal, WireError } from './wire-error.ts';

interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: string;
  readonly authorization: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** The API version in the header. */
  readonly version: string | undefined;
  /** The account in the header. */
  readonly account?: string | undefined;
  /** Resolves when the caller disconnects. */
  readonly gone: Promise<void>;
}

export interface ApiResponse {
  readonly status: number;
  readonly body: object;
  readonly requestId: string;
  readonly replayed: boolean;
  /** The API version of the body, if the request names an existing one. */
  readonly version: string | null;
  /** Sandbox time of the response, in Unix seconds. */
  readonly at: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export type LogError = (fields: object, message: string) => void;

/** Finds the world of a request. */
interface WorldLookup {
  /** The world of all API keys without a world name. */
  readonly default: World;
  /** The world with this name. The first request opens it. */
  open(name: string): World | Promise<World>;
}

/** A request with everything that its response depends on. */
interface Exchange {
  readonly request: ApiRequest;
  readonly requestId: string;
  readonly world: World;
  readonly operation: Operation;
  readonly call: Call;
  readonly form: FormMap;
}

/** The wire API without its sockets: turns a request into a response, or into none if a fault requires that. */
export class Api {
  readonly #worlds: WorldLookup;
  readonly #routes = new Map<string, Operation>();
  readonly #logError: LogError;

  constructor(options: {
    readonly worlds: WorldLookup;
    readonly operations: readonly Operation[];
    readonly logError: LogError;
  }) {
    this.#worlds = options.worlds;
    this.#logError = options.logError;
    for (const operation of options.operations) {
      const route = `${operation.method} ${operation.path}`;
      if (this.#routes.has(route)) throw new Error(`two operations have the route ${route}`);
      this.#routes.set(route, operation);
    }
  }

  /** Returns null if the connection must be closed without a response. */
  async respond(request: ApiRequest): Promise<ApiResponse | null> {
    const requestId = newId('req_', 14);
    let world = this.#worlds.default;
    try {
      const { operation, ...ids } = this.#route(request);
      const form = parseForm(request.query);
      if (request.body !== '') parseForm(request.body, form);
      const { fromBrowser, worldName } = authenticate(request.authorization, form);
      if (worldName !== null) world = await this.#worlds.open(worldName);
      if (fromBrowser && !operation.forBrowsers)
        throw refusal(
          401,
          'This request requires a secret key. You sent a publishable key.',
          'secret_key_required',
        );
      const { store, accountId } = world;
      if ((request.account ?? accountId) !== accountId) throw noAccess(request.account ?? '');
      const version =
        request.version === undefined ? (store.settings.apiVersion ?? null) : checkVersion(request.version);
      const call: Call = { store, ...ids, fromBrowser, accountId, version };
      return await this.#respond({ request, requestId, world, operation, call, form });
    } catch (error) {
      const at = world.store.now();
      if (error instanceof WireError) {
        const { status, body, headers } = error;
        return { ...failed(status, body, requestId, at), headers };
      }
      this.#logError(
        { error, method: request.method, path: request.path, requestId },
        'unexpected error in the sandbox',
      );
      const body: ErrorBody = { type: 'api_error', message: 'An unknown error occurred in the sandbox.' };
      return failed(500, body, requestId, at);
    }
  }

  async #respond(exchange: Exchange): Promise<ApiResponse | null> {
    const { request, world, operation } = exchange;
    world.manners.current()?.admit(operation);
    const key = operation.method === 'POST' ? checkedKey(request.idempotencyKey) : null;
    if (key === null) return this.#perform(exchange, null);
    if (world.keysInFlight.has(key)) throw keyInUse(key);
    world.keysInFlight.add(key);
    try {
      return await this.#perform(exchange, key);
    } finally {
      world.keysInFlight.delete(key);
    }
  }

  #route({ method, path }: ApiRequest): { operation: Operation; id: string; childId?: string } {
    if (!path.startsWith(root)) throw unrecognized(method, path);
    const parts = path.slice(root.length).split('/').map(decodeSegment);
    const [resource = '', id = '', ...rest] = parts;
    const fixed = this.#routes.get(`${method} ${parts.join('/')}`);
    if (fixed !== undefined && !parts.includes('*')) return { operation: fixed, id: '' };
    const operation = this.#routes.get([`${method} ${resource}`, '*', ...rest].join('/'));
    // Some resources have a path of two parts, such as `test_helpers/test_clocks`.
    const nested = this.#routes.get([`${method} ${resource}/${id}`, '*', ...rest.slice(1)].join('/'));
    if (operation === undefined && nested !== undefined && rest[0] !== undefined && rest[0] !== '')
      return { operation: nested, id: rest[0] };
    const [list = '', childId = ''] = rest;
    const child = this.#routes.get(`${method} ${resource}/*/${list}/*`);
    if (child !== undefined && operation === undefined && rest.length === 2 && id !== '' && childId !== '')
      return { operation: child, id, childId };
    if (operation === undefined || parts.length < 2 || id === '') throw unrecognized(method, path);
    return { operation, id };
  }

  async #perform(exchange: Exchange, key: string | null): Promise<ApiResponse | null> {
    const { request, operation, form } = exchange;
    const { faults } = exchange.world;
    const fingerprint = key === null ? '' : fingerprintOf(form);
    const replay = key === null ? null : this.#replay(exchange, key, fingerprint);
    if (replay !== null) return replay;

    const fault = faults.take(operation.name);
    if (fault?.kind === 'reset_before') return null;
    if (fault?.kind === 'hang') {
      await faults.hang(request.gone);
      return null;
    }
    if (fault?.kind === 'latency') await faults.wait(fault.latencyMs, request.gone);

    const work = () => this.#work(exchange, key, fingerprint, fault);
    const manners = exchange.world.manners.current();
    const response =
      manners === null ? await work() : await manners.serve({ ...exchange, gone: request.gone }, work);
    return fault?.kind === 'reset_after' ? null : response;
  }

  async #work(
    exchange: Exchange,
    key: string | null,
    fingerprint: string,
    fault: Fault | undefined,
  ): Promise<ApiResponse> {
    const { request, requestId, operation, call, form } = exchange;
    const { store } = exchange.world;
    const memoOf = (status: number, body: object) => ({
      path: request.path,
      fingerprint,
      status,
      body,
      atMs: store.clock.realNowMs(),
    });
    const cause = { requestId, idempotencyKey: key };
    const time = requestTime(operation, call, form);
    const work = () => {
      const { status, body, remembered, headers } = this.#outcome(exchange, fault);
      if (key !== null && remembered) store.remember(key, memoOf(status, body));
      const at = store.worldNow();
      return { status, body, requestId, replayed: false, version: call.version, at, headers };
    };
    const response = store.clock.at(time, () => store.transact(cause, work));
    if (operation.method !== 'GET') await store.written();
    return response;
  }

  /** Runs the operation inside the open transaction. An error reverts its changes, unless it is a decline. */
  #outcome({ world, operation, call, form, requestId }: Exchange, fault: Fault | undefined) {
    try {
      if (fault?.kind === 'error') throw faultError(fault);
      const body = operation.run(call, form);
      world.manners.current()?.checkWork(operation, call, call.store.openEvents);
      return { status: 200, body, remembered: true, headers: {} };
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      if (!error.keepsChanges) call.store.undo();
      // The processor's own address: the sandbox has no page for requests.
      const logUrl = `https://dashboard.stripe.com/${call.accountId}/test/workbench/logs?object=${requestId}`;
      // An error can contain the object that it is about.
      const shape = shapeOf(call.store, call.version) ?? ((value) => value);
      const body = { error: shape({ ...error.body, request_log_url: logUrl }) };
      return { status: error.status, body, remembered: error.remembered, headers: error.headers };
    }
  }

  #replay({ call, requestId, request }: Exchange, key: string, fingerprint: string): ApiResponse | null {
    const { store, version } = call;
    const { path } = request;
    const memo = store.memos.find(key, store.clock.realNowMs());
    if (memo === undefined) return null;
    if (memo.path !== path)
      throw idempotencyError(
        `This idempotency key was first used for ${memo.path}, so it cannot be used for ${path}.`,
      );
    if (memo.fingerprint !== fingerprint)
      throw idempotencyError(
        `The idempotency key '${shorten(key)}' was first used with other parameters. Use a new key for a different request.`,
      );
    return { status: memo.status, body: memo.body, requestId, replayed: true, version, at: store.now() };
  }
}

/** `hash` of node:crypto is shorter, but newer than the oldest Node under which the package runs. */
function fingerprintOf(form: FormMap): string {
  return createHash('sha1').update(canonicalForm(form)).digest('base64');
}

function failed(status: number, error: ErrorBody, requestId: string, at: number): ApiResponse {
  return { status, body: { error }, requestId, replayed: false, version: null, at };
}

/** All routes are below this path. */
const root = '/v1/';

function unrecognized(method: string, path: string): WireError {
  const url = `${method}: ${shorten(path)}`;
  return refusal(404, `Unrecognized request URL (${url}). The sandbox supports only part of the API.`);
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badParam('Invalid request: the path is not valid percent-encoded UTF-8.');
  }
}

/** The processor's own limit. */
const keyLengthMax = 255;

function checkedKey(key: string | undefined): string | null {
  if (key === undefined || key === '') return null;
  if (key.length > keyLengthMax)
    throw badParam(`An idempotency key can have at most ${keyLengthMax} characters.`);
  return key;
}

function idempotencyError(message: string): WireError {
  return new WireError(400, { type: 'idempotency_error', message });
}

function keyInUse(key: string): WireError {
  return new WireError(409, {
    type: 'idempotency_error',
    code: 'idempotency_key_in_use',
    message: `Another request with the idempotency key '${shorten(key)}' is still in progress.`,
  });
}

/** Only a 500 is remembered: the processor's API returns it after it has stored the idempotency key. */
function faultError(fault: Fault & { readonly kind: 'error' }): WireError {
  return new WireError(
    fault.status,
    {
      type: fault.status >= 500 ? 'api_error' : fault.status === 402 ? 'card_error' : 'invalid_request_error',
      message: `A fault in the sandbox returns ${fault.status} here.`,
      ...(fault.code !== undefined && { code: fault.code }),
    },
    { remembered: fault.status === 500 },
  );
}
