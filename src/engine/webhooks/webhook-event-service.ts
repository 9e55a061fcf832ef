import { Failure } from '#core/errors.ts';
import type { PageRequest } from '#core/model/list-request.ts';
import type { WebhookBacklog, WebhookEvent } from '#core/model/webhook-event.ts';
import { auditOperation } from '#core/platform/cause.ts';
import type { Database } from '#core/platform/postgres.ts';
import { type EventFilter, type EventPage, listEvents } from './webhook-event-list-store.ts';
import type { WebhookEventStore } from './webhook-event-store.ts';

/** One statement takes well under a second. */
const replayedMax = 1_000;

interface EventParts {
  readonly database: Database;
  readonly store: WebhookEventStore;
  /** Called when there are new events. */
  readonly onStored: () => void;
}

/** The operator's view of the inbox. */
export class WebhookEventService {
  readonly #parts: EventParts;

  constructor(parts: EventParts) {
    this.#parts = parts;
  }

  list(filter: EventFilter, request: PageRequest): Promise<EventPage> {
    return this.#parts.database.read((db) => listEvents(db, filter, request));
  }

  async read(id: string): Promise<WebhookEvent> {
    return found(await this.#parts.store.find(this.#parts.database, id));
  }

  /** Safe at any time, because a mirror applies an event only if it is newer or final. */
  async replay(id: string): Promise<WebhookEvent> {
    const { database, store, onStored } = this.#parts;
    const event = await database.transaction(async (tx) => {
      const requeued = found(await store.requeue(tx, id));
      auditOperation(tx);
      return requeued;
    });
    onStored();
    return event;
  }

  /** Replays failed events, oldest first. `hasMore`: the same request again replays more. */
  async replayFailed(): Promise<{ readonly replayed: number; readonly hasMore: boolean }> {
    const { database, store, onStored } = this.#parts;
    const replayed = await database.transaction(async (tx) => {
      auditOperation(tx);
      return store.requeueFailed(tx, replayedMax);
    });
    onStored();
    return { replayed, hasMore: replayed === replayedMax };
  }

  /** The number of waiting events, and how long they have waited. */
  backlog(): Promise<WebhookBacklog> {
    const { database, store } = this.#parts;
    return database.read((db) => store.backlog(db));
  }

  countPending(): Promise<number> {
    return this.#parts.store.countPending(this.#parts.database);
  }
}

function found(event: WebhookEvent | undefined): WebhookEvent {
  if (event === undefined) throw new Failure('not_found', 'No webhook event has this id. Check the id.');
  return event;
}
