import type { TillList } from '../list.ts';
import { cursorList } from '../list-sources.ts';
import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type {
  CursorQuery,
  DeliveryQuery,
  EventDelivery,
  EventDeliveryList,
  EventEndpoint,
  EventEndpointChange,
  EventEndpointList,
  EventEndpointWithSecret,
  EventReplay,
  EventSecretRotation,
  NewEventEndpoint,
  ResentEvents,
} from '../types.ts';

/** Addresses to which Till sends events. `verifyEvent` verifies what arrives there. */
export class EventEndpoints {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Creates an endpoint. Only this response has its secret. */
  create(endpoint: NewEventEndpoint, options?: WriteOptions): Promise<EventEndpointWithSecret> {
    return this.#api.post('/api/v1/event-endpoints', { body: endpoint }, options);
  }

  get(id: string, options?: RequestOptions): Promise<EventEndpoint> {
    return this.#api.get('/api/v1/event-endpoints/{id}', { params: { id } }, options);
  }

  update(id: string, change: EventEndpointChange, options?: WriteOptions): Promise<EventEndpoint> {
    return this.#api.patch('/api/v1/event-endpoints/{id}', { params: { id }, body: change }, options);
  }

  delete(id: string, options?: RequestOptions): Promise<void> {
    return this.#api.remove('/api/v1/event-endpoints/{id}', { params: { id } }, options);
  }

  list(query: CursorQuery = {}, options?: RequestOptions): TillList<EventEndpoint, EventEndpointList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/event-endpoints', { query: page }, options));
  }

  /** A new secret. The old one stays valid for a day. */
  rotateSecret(
    id: string,
    rotation: EventSecretRotation = {},
    options?: WriteOptions,
  ): Promise<EventEndpointWithSecret> {
    const call = { params: { id }, body: rotation };
    return this.#api.post('/api/v1/event-endpoints/{id}/rotate-secret', call, options);
  }

  /** Sends all events after one again. */
  replay(id: string, replay: EventReplay, options?: WriteOptions): Promise<EventEndpoint> {
    return this.#api.post('/api/v1/event-endpoints/{id}/replay', { params: { id }, body: replay }, options);
  }

  /**
   * Sends the events of failed deliveries again, outside their order, and returns how many. At most 10,000: repeat it
   * until `count` is 0.
   */
  resendFailed(id: string, options?: WriteOptions): Promise<ResentEvents> {
    return this.#api.post('/api/v1/event-endpoints/{id}/resend-failed', { params: { id } }, options);
  }

  /** What was sent to the endpoint, newest first. */
  deliveries(
    id: string,
    query: DeliveryQuery = {},
    options?: RequestOptions,
  ): TillList<EventDelivery, EventDeliveryList> {
    return cursorList(query, (page) =>
      this.#api.get('/api/v1/event-endpoints/{id}/deliveries', { params: { id }, query: page }, options),
    );
  }
}
