import { Failure } from '#core/errors.ts';
import type { PageRequest } from '#core/model/list-request.ts';
import type { WebhookBacklog, WebhookEvent } from '#core/model/webhook-event.ts';
import { auditOperation } from '#core/platform/cause.ts';
import type { Platform } from '#core/platform/platform.ts';
import { type EventFilter, type EventPage, listEvents } from './webhook-event-list-store.ts';
import { WebhookEventStore } from './webhook-event-store.ts';

/** One statement takes well under a second. */
const replayedMax = 1_000;

/** The operator's view of the inbox. */
export class WebhookEventService {
  readonly #context: Platform;
  readonly #store = new WebhookEventStore();
  /** Called when there are new events. */
  readonly #onStored: () => void;

  constructor(context: Platform, onStored: () => void) {
    this.#context = context;
    this.#onStored = onStored;
  }

  list(filter: EventFilter, request: PageRequest): Promise<EventPage> {
    return this.#context.database.read((db) => listEvents(db, filter, request));
  }

  async read(id: string): Promise<WebhookEvent> {
    return found(await this.#store.find(this.#context.database, id));
  }

  /** Safe at any time, because a mirror applies an event only if it is newer or final. */
  async replay(id: string): Promise<WebhookEvent> {
    const { database } = this.#context;
    const event = await database.transaction(async (tx) => {
      const requeued = found(await this.#store.requeue(tx, id));
      auditOperation(tx);
      return requeued;
    });
    this.#onStored();
    return event;
  }

  /** Replays failed events, oldest first. `hasMore`: the same request again replays more. */
  async replayFailed(): Promise<{ readonly replayed: number; readonly hasMore: boolean }> {
    const { database } = this.#context;
    const replayed = await database.transaction(async (tx) => {
      auditOperation(tx);
      return this.#store.requeueFailed(tx, replayedMax);
    });
    this.#onStored();
    return { replayed, hasMore: replayed === replayedMax };
  }

  /** The number of waiting events, and how long they have waited. */
  backlog(): Promise<WebhookBacklog> {
    const { database } = this.#context;
    return database.read((db) => this.#store.backlog(db));
  }

  countPending(): Promise<number> {
    return this.#store.countPending(this.#context.database);
  }
}

function found(event: WebhookEvent | undefined): WebhookEvent {
  if (event === undefined) throw new Failure('not_found', 'No webhook event has this id. Check the id.');
  return event;
}
