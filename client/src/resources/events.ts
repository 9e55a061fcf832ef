import { EventFollower, type FollowOptions } from '../events/event-follower.ts';
import type { EventFilters, TillEvent } from '../events/event-types.ts';
import { TillList } from '../list.ts';
import { cursorList } from '../list-sources.ts';
import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type { DeliveryQuery, EventDelivery, EventDeliveryList, EventResend, ResentEvent } from '../types.ts';

/** A filter that matches no event, as the documentation of the feed recommends it. */
const noObject = 'none';
/** The largest page of the feed. */
const limitMax = 1_000;

export interface EventQuery extends EventFilters {
  /** Only the events after this one: an event's `id`, or `nextCursor`. */
  readonly after?: string | undefined;
  /** `-createdAt`: newest first. Then `after` continues with older events. */
  readonly sort?: 'createdAt' | '-createdAt' | undefined;
  readonly limit?: number | undefined;
  /** Adds `customer` to each event: who it is about. */
  readonly include?: 'customer' | undefined;
  /** If there are no events yet, wait for up to this long. */
  readonly waitSeconds?: number | undefined;
}

export interface EventPage {
  readonly data: readonly TillEvent[];
  /** Where to continue. Null if there are no events after the given place. */
  readonly nextCursor: string | null;
}

/** Every change of an object, oldest first. */
export class Events {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  async get(id: string, options?: RequestOptions): Promise<TillEvent> {
    // As in `#read`.
    return (await this.#api.get('/api/v1/events/{id}', { params: { id } }, options)) as TillEvent;
  }

  /** What was sent of the event, to all endpoints, newest first. */
  deliveries(
    id: string,
    query: DeliveryQuery = {},
    options?: RequestOptions,
  ): TillList<EventDelivery, EventDeliveryList> {
    return cursorList(query, (page) =>
      this.#api.get('/api/v1/events/{id}/deliveries', { params: { id }, query: page }, options),
    );
  }

  /** Sends the event again, outside its order: to one endpoint, or to all that are enabled and want its type. */
  resend(id: string, resend: EventResend = {}, options?: WriteOptions): Promise<ResentEvent> {
    return this.#api.post('/api/v1/events/{id}/resend', { params: { id }, body: resend }, options);
  }

  /** The events that exist now. `follow` also waits for new ones. */
  list(query: EventQuery = {}, options?: RequestOptions): TillList<TillEvent, EventPage> {
    return TillList.of({
      query,
      read: (page: EventQuery) => this.#read(page, options),
      walk: (given) => ({ ...given, limit: given.limit ?? limitMax }),
      next: ({ nextCursor }, given) => (nextCursor === null ? undefined : { ...given, after: nextCursor }),
    });
  }

  /** All events, and then each new one when it happens, through broken connections and restarts of Till. */
  follow(options: FollowOptions = {}): EventFollower {
    return new EventFollower(this.#api.connection, (query, more) => this.#read(query, more), options);
  }

  /**
   * The newest place of the feed, for `after`. Undefined if there are no events yet. To begin with existing objects:
   * get this place, read the objects, then follow from here.
   */
  async latestCursor(options?: RequestOptions): Promise<string | undefined> {
    const { nextCursor } = await this.#read({ objectId: noObject }, options);
    return nextCursor ?? undefined;
  }

  async #read({ types, ...query }: EventQuery, options?: RequestOptions): Promise<EventPage> {
    // In the OpenAPI document the object of an event is any object. It is the object that its own endpoint shows.
    return (await this.#api.get(
      '/api/v1/events',
      { query: { ...query, types: types?.join(',') } },
      options,
    )) as EventPage;
  }
}
