import { type EntitlementOptions, EntitlementReader, type Who } from './entitlements.ts';
import type { TillList } from './list.ts';
import { cursorList } from './list-sources.ts';
import type { RequestOptions, TillOptions, WriteOptions } from './options.ts';
import { Api } from './requests/api.ts';
import type { ReadResponse } from './requests/attempt.ts';
import { type Call, Connection } from './requests/connection.ts';
import { readBody, requireSuccess } from './requests/read-response.ts';
import { readSettings } from './requests/settings.ts';
import { Checkouts } from './resources/checkouts.ts';
import { Customers } from './resources/customers.ts';
import { EventEndpoints } from './resources/event-endpoints.ts';
import { Events } from './resources/events.ts';
import { Invoices } from './resources/invoices.ts';
import { ApiKeys, AuditLog, Resyncs, Sandbox, WebhookEvents } from './resources/operators.ts';
import { Payments, Refunds } from './resources/payments.ts';
import { Plans } from './resources/plans.ts';
import { Subscriptions } from './resources/subscriptions.ts';
import { Meters, Usage } from './resources/usage.ts';
import type {
  Attention,
  Entitlements,
  Health,
  Liveness,
  NewPortalSession,
  Overview,
  OverviewMove,
  OverviewMoveList,
  OverviewMoveQuery,
  OverviewQuery,
  OverviewSubscriber,
  OverviewSubscriberList,
  OverviewSubscriberQuery,
  PortalSession,
  Readiness,
  SearchResult,
} from './types.ts';

/**
 * A client of one Till. Create one for the whole process: `isEntitled` remembers its last responses. It keeps no
 * connection open, so only a process that records usage closes it.
 */
export class Till {
  readonly customers: Customers;
  readonly plans: Plans;
  readonly payments: Payments;
  readonly refunds: Refunds;
  readonly subscriptions: Subscriptions;
  readonly meters: Meters;
  readonly usage: Usage;
  readonly invoices: Invoices;
  readonly checkouts: Checkouts;
  readonly events: Events;
  readonly eventEndpoints: EventEndpoints;
  readonly apiKeys: ApiKeys;
  readonly auditLog: AuditLog;
  readonly webhookEvents: WebhookEvents;
  readonly resyncs: Resyncs;
  readonly sandbox: Sandbox;
  readonly #api: Api;
  readonly #entitlements: EntitlementReader;

  constructor(options: TillOptions) {
    const connection = new Connection(readSettings(options));
    const api = new Api(connection);
    this.#api = api;
    this.#entitlements = new EntitlementReader(connection);
    this.customers = new Customers(api, this.#entitlements);
    this.plans = new Plans(api);
    this.payments = new Payments(api);
    this.refunds = new Refunds(api);
    this.subscriptions = new Subscriptions(api);
    this.meters = new Meters(api);
    this.usage = new Usage(api);
    this.invoices = new Invoices(api);
    this.checkouts = new Checkouts(api);
    this.events = new Events(api);
    this.eventEndpoints = new EventEndpoints(api);
    this.apiKeys = new ApiKeys(api);
    this.auditLog = new AuditLog(api);
    this.webhookEvents = new WebhookEvents(api);
    this.resyncs = new Resyncs(api);
    this.sandbox = new Sandbox(api);
  }

  /** What a customer may use now, by Till's id or by your own. */
  entitlements(who: Who, options?: EntitlementOptions): Promise<Entitlements> {
    return this.#entitlements.get(who, options);
  }

  /**
   * Whether a customer may use a feature now: its value is true, a number above 0, or a text. Without a feature:
   * whether a subscription entitles the customer. False for a customer that Till does not know. Rejects if Till cannot
   * be reached: decide yourself what to do then.
   */
  isEntitled(who: Who, feature?: string, options?: EntitlementOptions): Promise<boolean> {
    return this.#entitlements.isEntitled(who, feature, options);
  }

  /**
   * The address of Stripe's portal for a customer. Send the customer there at once: it lets its holder act as the
   * customer.
   */
  portal(customerId: string, session: NewPortalSession, options?: RequestOptions): Promise<PortalSession> {
    const call = { params: { id: customerId }, body: session };
    return this.#api.post('/api/v1/customers/{id}/portal-sessions', call, options);
  }

  /** Finds objects by an id, an email or a number. */
  async search(q: string, options?: RequestOptions): Promise<readonly SearchResult[]> {
    return (await this.#api.get('/api/v1/search', { query: { q } }, options)).data;
  }

  /** The numbers of a range of days. */
  overview(query: OverviewQuery = {}, options?: RequestOptions): Promise<Overview> {
    return this.#api.get('/api/v1/overview', { query }, options);
  }

  /** The changes of subscriptions that one number of the overview adds up, newest first. */
  overviewMoves(
    query: OverviewMoveQuery,
    options?: RequestOptions,
  ): TillList<OverviewMove, OverviewMoveList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/overview/moves', { query: page }, options));
  }

  /** The customers who pay for subscriptions now, the newest first. */
  overviewSubscribers(
    query: OverviewSubscriberQuery,
    options?: RequestOptions,
  ): TillList<OverviewSubscriber, OverviewSubscriberList> {
    return cursorList(query, (page) =>
      this.#api.get('/api/v1/overview/subscribers', { query: page }, options),
    );
  }

  /** What needs attention, the most urgent first. */
  attention(options?: RequestOptions): Promise<Attention> {
    return this.#api.get('/api/v1/attention', {}, options);
  }

  /**
   * Sends the usage that waits to be sent, for at most 20 seconds, and accepts no more. Rejects if events could not be
   * sent, and says how many. Call it before your process ends.
   */
  close(): Promise<void> {
    return this.usage.close();
  }

  /** Whether the database and the cache are up. Does not reject if they are down: `status` says so. */
  health(options?: RequestOptions): Promise<Health> {
    // The OpenAPI document describes the body.
    return this.#readState('/health', options) as Promise<Health>;
  }

  /** Whether the process can serve requests. Does not reject if it cannot: `status` says so. */
  readiness(options?: RequestOptions): Promise<Readiness> {
    return this.#readState('/health/ready', options) as Promise<Readiness>;
  }

  /** Resolves if the process is alive. */
  liveness(options?: RequestOptions): Promise<Liveness> {
    return this.#api.get('/health/live', {}, options);
  }

  /** The metrics in the Prometheus text format. */
  async metrics(options?: RequestOptions): Promise<string> {
    const call = { method: 'GET', path: '/metrics', headers: { accept: 'text/plain' } } as const;
    return (await this.request(call, options)).text;
  }

  /** Sends a call that has no method: a list as a CSV file, or a control of the sandbox. */
  async request(call: Call, options?: WriteOptions): Promise<ReadResponse> {
    return (await this.#api.connection.send(call, options)).response;
  }

  async #readState(path: '/health' | '/health/ready', options: RequestOptions | undefined): Promise<unknown> {
    const { response, facts } = await this.#api.connection.send(
      { method: 'GET', path, accepted: [503] },
      options,
    );
    const body = readBody(response, facts);
    if (!isState(body)) requireSuccess(response, facts);
    return body;
  }
}

/** A proxy may respond with the status of an unhealthy service and any body. */
function isState(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'status' in body && typeof body.status === 'string';
}
