import { Failure } from '#core/errors.ts';
import { auditOperation } from '#core/platform/cause.ts';
import { isUuid, newId } from '#core/platform/id.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { type IdCursorPage, pageById } from '../../mirrors/id-cursor.ts';
import {
  type EventEndpoint,
  endpointDisabled,
  endpointsMax,
  foundEndpoint,
  wantsType,
} from '../endpoints/endpoint.ts';
import { EndpointStore } from '../endpoints/endpoint-store.ts';
import { parseEventId } from '../feed/event-id.ts';
import { EventStore } from '../feed/event-store.ts';
import type { StoredEvent } from '../feed/stored-event.ts';
import type { Delivery, DeliveryWalkRequest } from './delivery.ts';
import { DeliveryListStore } from './delivery-list-store.ts';
import { ResendStore } from './resend-store.ts';

/** Failed deliveries that one transaction queues. It holds the lock of the endpoint for under a tenth of a second. */
const resentPerTransaction = 500;
/** Failed deliveries that one request handles. That takes about two seconds. */
const resentPerRequest = 10_000;

/** The use cases of a single event, and of events that are sent again. */
export class EventService {
  readonly #context: Platform;
  readonly #events = new EventStore();
  readonly #endpoints = new EndpointStore();
  readonly #resends = new ResendStore();
  readonly #deliveryList = new DeliveryListStore();
  /** Called when there are resends. The response waits for it. */
  readonly #onChanged: () => Promise<void>;

  constructor(context: Platform, onChanged: () => Promise<void>) {
    this.#context = context;
    this.#onChanged = onChanged;
  }

  async read(id: string): Promise<StoredEvent> {
    const { database } = this.#context;
    const place = parseEventId(id);
    if (place === undefined) throw eventNotFound();
    const event = await this.#events.find(database, place);
    if (event !== undefined) return event;
    const isKnown = (await this.#events.findPlace(database, place)) !== undefined;
    // An event within the weeks that are kept was lost in a failover or a restore.
    if (!isKnown || place.createdAtMs >= (await this.#events.oldestWeekMs(database))) throw eventNotFound();
    throw new Failure(
      'event_expired',
      'The event is older than the events that are kept. Read the object again.',
    );
  }

  async listDeliveries(id: string, walk: DeliveryWalkRequest): Promise<IdCursorPage<Delivery>> {
    const { database } = this.#context;
    const event = await this.read(id);
    const { status } = walk;
    return pageById(`${status ?? 'all'} deliveries of event ${event.position}`, walk, (before, count) =>
      this.#deliveryList.list(database, { event, status }, before, count),
    );
  }

  /**
   * Sends an event again: to one endpoint, or to all that are enabled and want its type. Returns the deliveries that
   * wait for it.
   */
  async resend(id: string, endpointId: string | undefined): Promise<readonly Delivery[]> {
    const { database } = this.#context;
    const event = await this.read(id);
    const deliveries = await database.transaction(async (tx) => {
      const locked =
        endpointId === undefined
          ? await this.#endpoints.lockWanting(tx, event.type)
          : [await this.#lockEnabled(tx, endpointId)];
      if (locked.length === 0) return [];
      const now = new Date();
      const ids = locked.map((endpoint) => endpoint.id);
      this.#resends.queue(
        tx,
        event,
        locked.map((endpoint) => ({
          endpointId: endpoint.id,
          deliveryId: newId(now),
          isWanted: wantsType(endpoint, event.type),
        })),
      );
      this.#endpoints.noteResends(tx, ids);
      auditOperation(tx);
      // An endpoint has at most one delivery of the event that waits in its order, and one resend.
      const waiting = await this.#deliveryList.list(tx, { event, status: 'pending' }, null, 2 * endpointsMax);
      return waiting.filter((delivery) => ids.includes(delivery.endpointId));
    });
    await this.#onChanged();
    return deliveries;
  }

  /**
   * Sends the events of failed deliveries again, oldest first, in small transactions. Each transaction also marks what
   * it queues, so if a request stops half-way, the next one continues.
   */
  async resendFailed(endpointId: string): Promise<number> {
    const { database } = this.#context;
    let [count, taken] = [0, 0];
    // Deliveries whose events are no longer kept are only marked. They count towards the limit, so that many of them do
    // not make a request long. But a count of 0 means that no failures are left, so the loop continues until it finds
    // one to send.
    for (let isFull = true; isFull && (taken < resentPerRequest || count === 0); ) {
      const { marked, queued } = await database.transaction(async (tx) => {
        await this.#lockEnabled(tx, endpointId);
        const now = new Date();
        const ids = Array.from({ length: resentPerTransaction }, () => newId(now));
        const result = await this.#resends.queueFailed(tx, endpointId, ids);
        if (result.queued > 0) this.#endpoints.noteResends(tx, [endpointId]);
        auditOperation(tx);
        return result;
      });
      count += queued;
      taken += marked;
      isFull = marked === resentPerTransaction;
    }
    if (count > 0) await this.#onChanged();
    return count;
  }

  async #lockEnabled(tx: Transaction, id: string): Promise<EventEndpoint> {
    const endpoint = foundEndpoint(isUuid(id) ? await this.#endpoints.lock(tx, id) : undefined);
    if (!endpoint.enabled) throw endpointDisabled();
    return endpoint;
  }
}

function eventNotFound(): Failure {
  return new Failure('not_found', 'No event has this id. Check the id.');
}
