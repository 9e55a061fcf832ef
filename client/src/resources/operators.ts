import type { TillList } from '../list.ts';
import { cursorList, numberedList } from '../list-sources.ts';
import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type {
  ApiKey,
  ApiKeyList,
  AuditEntry,
  AuditLog as AuditLogPage,
  AuditLogQuery,
  CreatedApiKey,
  CurrentApiKey,
  CursorQuery,
  NewApiKey,
  NewResync,
  ReplayedWebhookEvents,
  Resync,
  SandboxReset,
  WebhookEvent,
  WebhookEventList,
  WebhookEventQuery,
  WebhookEventWithPayload,
} from '../types.ts';

/** The API keys of applications. */
export class ApiKeys {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Creates an API key. Only this response contains the key itself. */
  create(key: NewApiKey, options?: WriteOptions): Promise<CreatedApiKey> {
    return this.#api.post('/api/v1/api-keys', { body: key }, options);
  }

  /** The name and the scopes of the API key that this client uses. */
  current(options?: RequestOptions): Promise<CurrentApiKey> {
    return this.#api.get('/api/v1/api-keys/current', {}, options);
  }

  list(query: CursorQuery = {}, options?: RequestOptions): TillList<ApiKey, ApiKeyList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/api-keys', { query: page }, options));
  }

  revoke(id: string, options?: RequestOptions): Promise<void> {
    return this.#api.remove('/api/v1/api-keys/{id}', { params: { id } }, options);
  }
}

/** Who did what, and from where. */
export class AuditLog {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Newest first. */
  list(query: AuditLogQuery = {}, options?: RequestOptions): TillList<AuditEntry, AuditLogPage> {
    return cursorList(query, (page) => this.#api.get('/api/v1/audit-log', { query: page }, options));
  }
}

/** What Stripe has sent to Till. Not to be confused with `till.events`, which Till sends to applications. */
export class WebhookEvents {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  get(id: string, options?: RequestOptions): Promise<WebhookEventWithPayload> {
    return this.#api.get('/api/v1/webhook-events/{id}', { params: { id } }, options);
  }

  /** Newest first. A walk reads by page number: an event that arrives meanwhile can make another one appear twice. */
  list(query: WebhookEventQuery = {}, options?: RequestOptions): TillList<WebhookEvent, WebhookEventList> {
    return numberedList(query, (page) => this.#api.get('/api/v1/webhook-events', { query: page }, options));
  }

  replay(id: string, options?: WriteOptions): Promise<WebhookEvent> {
    return this.#api.post('/api/v1/webhook-events/{id}/replay', { params: { id } }, options);
  }

  replayFailed(options?: WriteOptions): Promise<ReplayedWebhookEvents> {
    return this.#api.post('/api/v1/webhook-events/replay-failed', {}, options);
  }
}

/** Comparisons of Till's objects with Stripe's. */
export class Resyncs {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Starts a comparison. `get` shows its progress. */
  start(resync: NewResync = {}, options?: WriteOptions): Promise<Resync> {
    return this.#api.post('/api/v1/resyncs', { body: resync }, options);
  }

  get(id: string, options?: RequestOptions): Promise<Resync> {
    return this.#api.get('/api/v1/resyncs/{id}', { params: { id } }, options);
  }

  /** The latest ones. */
  async list(options?: RequestOptions): Promise<readonly Resync[]> {
    return (await this.#api.get('/api/v1/resyncs', {}, options)).data;
  }
}

/** The embedded sandbox of a Till for tests. */
export class Sandbox {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /**
   * Deletes all objects of the sandbox, and everything that Till has stored about them. API keys, event endpoints and
   * the audit log stay.
   */
  reset(options?: RequestOptions): Promise<SandboxReset> {
    return this.#api.post('/api/v1/sandbox/reset', {}, options);
  }
}
