import type { StoredEvent } from '../state/changes.ts';
import type { DeliveryMode } from '../state/settings.ts';
import type { Store } from '../state/store.ts';
import { shapeOf } from '../versions/older-objects.ts';
import { apiVersion } from '../wire/api-version.ts';
import { inFlightMax, Lane } from './lane.ts';
import { Poster } from './post.ts';
import { olderEvent, renderEvent, signatureHeader } from './render-event.ts';

export interface BuiltInEndpoint {
  readonly url: string;
  readonly secret: string;
}

interface Receiver extends BuiltInEndpoint {
  readonly apiVersion: string;
}

/** The processor gives up after three days. This is real time, because outages happen in real time. */
const retriesEndAfterMs = 3 * 24 * 60 * 60 * 1_000;
/** Wide enough to reorder the events of one request, which are created within a millisecond. */
const shuffleWindowMs = 200;

export const builtInEndpointId = 'we_builtin';

/** Delivers every event to the endpoints subscribed to it, according to the delivery mode. */
export class Deliverer {
  readonly #store: Store;
  readonly #builtIn: BuiltInEndpoint | null;
  readonly #lanes = new Map<string, Lane>();
  readonly #poster = new Poster(inFlightMax);
  #aborter = new AbortController();
  readonly #attemptListeners = new Set<(eventId: string, endpointId: string) => void>();
  #closed = false;
  readonly #onProblem: (fields: object, message: string) => void;

  constructor(
    store: Store,
    builtIn: BuiltInEndpoint | null,
    onProblem: (fields: object, message: string) => void,
  ) {
    this.#store = store;
    this.#builtIn = builtIn;
    this.#onProblem = onProblem;
    store.builtInEndpointId = builtIn === null ? null : builtInEndpointId;
    store.onChanges(({ events, removals }) => {
      this.#enqueue(events);
      for (const { collection, id } of removals)
        if (collection === store.webhookEndpoints.name) this.#forget(id);
    });
  }

  /** Resumes the deliveries that an earlier process left pending. */
  start(): void {
    for (const { eventId, endpointId } of this.#store.deliveries.waiting())
      this.#laneOf(endpointId).push(eventId);
  }

  get mode(): DeliveryMode {
    return this.#store.settings.deliveryMode;
  }

  setMode(mode: DeliveryMode): void {
    this.#store.changeSettings({ deliveryMode: mode });
    for (const lane of this.#lanes.values()) lane.hold(mode === 'paused');
  }

  /** Attempts every pending delivery once. Resolves when all attempts are done. */
  async flush(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map((lane) => lane.flush()));
    await this.#store.written();
  }

  /** Resolves when all endpoints have responded to the event, or after this time. */
  async attempted(eventId: string, timeoutMs: number): Promise<void> {
    const left = new Set(this.#store.deliveries.endpointIdsOf(eventId));
    if (left.size === 0 || this.mode === 'paused') return;
    const ended = AbortSignal.any([this.#aborter.signal, AbortSignal.timeout(timeoutMs)]);
    await new Promise<void>((resolve) => {
      const note = (attempted: string, endpointId: string) => {
        if (attempted === eventId && left.delete(endpointId) && left.size === 0) finish();
      };
      const finish = () => {
        this.#attemptListeners.delete(note);
        resolve();
      };
      ended.addEventListener('abort', finish);
      this.#attemptListeners.add(note);
    });
  }

  /** The number of pending deliveries for each endpoint. */
  waiting(): { endpoint: string; url: string; waiting: number }[] {
    return [...this.#lanes].flatMap(([endpoint, lane]) => {
      const receiver = this.#receiver(endpoint);
      return receiver === undefined ? [] : [{ endpoint, url: receiver.url, waiting: lane.size }];
    });
  }

  /** Drops all pending deliveries. */
  async reset(): Promise<void> {
    const lanes = [...this.#lanes.values()];
    this.#lanes.clear();
    this.#aborter.abort();
    this.#aborter = new AbortController();
    await Promise.all(lanes.map((lane) => lane.close()));
  }

  /** Ends all deliveries. Events of requests that are still running are not sent. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#aborter.abort();
    await Promise.all([...this.#lanes.values()].map((lane) => lane.close()));
    this.#poster.close();
  }

  #enqueue(events: readonly StoredEvent[]): void {
    if (this.#closed) return;
    for (const { id } of events)
      for (const endpointId of this.#store.deliveries.endpointIdsOf(id)) {
        if (this.mode === 'drop') this.#store.noteDelivery(id, endpointId, 'given_up');
        else
          this.#laneOf(endpointId).push(
            id,
            this.mode === 'shuffle' ? 1 + Math.random() * shuffleWindowMs : 0,
          );
      }
  }

  /** Drops the pending deliveries to a deleted endpoint. */
  #forget(endpointId: string): void {
    const lane = this.#lanes.get(endpointId);
    if (lane === undefined) return;
    for (const { eventId, endpointId: waitsFor } of [...this.#store.deliveries.waiting()])
      if (waitsFor === endpointId) this.#store.noteDelivery(eventId, endpointId, 'given_up');
    lane.close().finally(() => this.#lanes.delete(endpointId));
  }

  #laneOf(endpointId: string): Lane {
    const existing = this.#lanes.get(endpointId);
    if (existing !== undefined) return existing;
    const lane = new Lane(
      (eventId) => this.#attempt(eventId, endpointId),
      () => this.#store.clock.realNowMs(),
      (error, eventId) => this.#onProblem({ error, event: eventId }, 'a webhook could not be sent'),
    );
    lane.hold(this.mode === 'paused');
    this.#lanes.set(endpointId, lane);
    return lane;
  }

  /** Returns true if the delivery is finished: delivered, abandoned, or no longer pending. */
  async #attempt(eventId: string, endpointId: string): Promise<boolean> {
    const { deliveries, events, clock } = this.#store;
    const event = events.get(eventId);
    if (event === undefined || !deliveries.isWaiting(eventId, endpointId)) return true;
    const receiver = this.#receiver(endpointId);
    const isLate = clock.realNowMs() - (deliveries.sinceMsOf(eventId) ?? 0) > retriesEndAfterMs;
    if (receiver === undefined || isLate) {
      this.#store.noteDelivery(eventId, endpointId, 'given_up');
      return true;
    }
    const delivered = await this.#send(event, receiver);
    for (const listener of this.#attemptListeners) listener(eventId, endpointId);
    if (delivered && this.mode === 'duplicate') await this.#send(event, receiver);
    if (!delivered) {
      if (!this.#aborter.signal.aborted)
        this.#onProblem(
          { event: eventId, type: event.type, url: receiver.url },
          'webhook delivery failed, retry scheduled',
        );
      return false;
    }
    this.#store.noteDelivery(eventId, endpointId, 'delivered');
    await this.#store.written();
    return true;
  }

  async #send(event: StoredEvent, receiver: Receiver): Promise<boolean> {
    const shape = shapeOf(this.#store, receiver.apiVersion);
    const payload = JSON.stringify(
      shape === undefined
        ? renderEvent(this.#store, event)
        : olderEvent(this.#store, event, receiver.apiVersion, shape),
    );
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Stripe/1.0 (till sandbox)',
      'stripe-signature': signatureHeader(payload, receiver.secret, this.#store.clock.realNowMs()),
      // A receiver can tell events of before a reset, however late they arrive.
      'till-sandbox-last-reset': String(this.#store.lastResetMs),
    };
    return this.#poster.post(receiver.url, payload, headers, this.#aborter.signal);
  }

  #receiver(endpointId: string): Receiver | undefined {
    const version = this.#store.settings.apiVersion ?? apiVersion;
    if (endpointId === builtInEndpointId)
      return this.#builtIn === null ? undefined : { ...this.#builtIn, apiVersion: version };
    const endpoint = this.#store.webhookEndpoints.get(endpointId);
    if (endpoint === undefined) return undefined;
    return { url: endpoint.url, secret: endpoint.secret, apiVersion: endpoint.api_version ?? version };
  }
}
