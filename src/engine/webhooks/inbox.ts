import type { StoredStates } from '#core/model/webhook-event.ts';
import { isOutage, type Transaction } from '#core/platform/postgres.ts';
import { SharedStatement } from '#core/platform/shared-statement.ts';
import type { LateRow } from '#core/platform/written-rows.ts';
import type { ProcessorEvent } from '#processor/port/event-calls.ts';
import type { EventContent, ReadableContent } from '#processor/port/event-facts.ts';
import type { MirrorContext } from '../mirrors/mirror.ts';
import { type EventPosition, type NewWebhookEvent, WebhookEventStore } from './webhook-event-store.ts';

export type Receipt = 'stored' | 'duplicate' | 'ignored';

/** An event that is applied while it is stored. */
export interface ReceivedEvent {
  readonly row: NewWebhookEvent;
  readonly content: ReadableContent;
  readonly receivedAt: Date;
}

/** Applies events on receipt. */
interface OnReceipt {
  /** Whether this process applies events, and has none to apply at the moment. */
  readonly isIdle: boolean;
  /** Stores the events and applies them in one transaction. Returns the new ones. */
  applyReceived(events: readonly ReceivedEvent[]): Promise<StoredStates>;
}

/** The stored events, for the parts that apply them. */
export type EventQueue = Pick<
  WebhookEventStore,
  'claim' | 'claimAgain' | 'settle' | 'hasDue' | 'findStored' | 'insert'
>;

/**
 * Stores each event durably once. Requests that arrive while a statement is running share the next one, so a busy
 * second needs a few dozen commits instead of thousands.
 */
export class Inbox {
  readonly #context: Omit<MirrorContext, 'ownerLock'>;
  readonly #store = new WebhookEventStore();
  readonly #onReceipt: OnReceipt;
  /** Called when there are new events for a worker. */
  readonly #onStored: () => void;
  readonly #warned = new Set<string>();
  readonly #storing = new SharedStatement<NewWebhookEvent, Receipt>({
    run: (events) => this.#storeEvents(events),
  });
  readonly #applying = new SharedStatement<ReceivedEvent, Receipt>({ run: (events) => this.#apply(events) });

  constructor(context: Omit<MirrorContext, 'ownerLock'>, onReceipt: OnReceipt, onStored: () => void) {
    this.#context = context;
    this.#onReceipt = onReceipt;
    this.#onStored = onStored;
  }

  /**
   * Resolves only when the event is on disk, from this delivery or an earlier one. With `read`, which returns its
   * content, the event is applied in the transaction that stores it, if this process also runs a worker and the worker
   * is idle.
   */
  receive(event: ProcessorEvent, read?: () => EventContent): Promise<Receipt> {
    const { processor, clock } = this.#context;
    if (event.livemode !== processor.livemode) return Promise.resolve(this.#refuseMode(event));
    if (!processor.understands(event.apiVersion)) {
      this.#warnOnce({ apiVersion: event.apiVersion }, 'event with an unknown API version processed');
    }
    const isFollowed = event.objectId !== null && processor.eventTypes.has(event.type);
    const row: NewWebhookEvent = {
      ...event,
      state: isFollowed ? 'pending' : 'ignored',
      attempts: 0,
      delayMs: 0,
    };
    const content = read !== undefined && isFollowed && this.#onReceipt.isIdle ? ifReadable(read) : undefined;
    return content === undefined
      ? this.#storing.add(row)
      : this.#applying.add({ row, content, receivedAt: clock.now() });
  }

  /**
   * Returns events to the queue that found no row of these objects, because responses were still creating the rows.
   * Call it after the commit: an event that arrives later finds the rows.
   */
  async bringBack(rows: readonly LateRow[]): Promise<void> {
    const { database } = this.#context;
    const since = new Date(Math.min(...rows.map((row) => row.since.getTime())));
    const keys = [...new Set(rows.map(({ key }) => key))];
    let requeued = 0;
    for (let start = 0; start < keys.length; start += keysPerSearchMax)
      requeued += await this.#store.requeueIgnored(
        database,
        keys.slice(start, start + keysPerSearchMax),
        since,
      );
    if (requeued > 0) this.#onStored();
  }

  /**
   * The same for all rows, for work that may have died after its rows were committed and before `bringBack`. Part of
   * the transaction that continues this work.
   */
  async bringBackSince(tx: Transaction, since: Date): Promise<void> {
    let last: EventPosition | undefined = { createdAt: since, id: '' };
    while (last !== undefined) last = await this.#store.requeueIgnoredAfter(tx, last, eventsPerBatch);
    tx.afterCommit(this.#onStored);
  }

  async #storeEvents(events: readonly NewWebhookEvent[]): Promise<readonly Receipt[]> {
    const { database, metrics } = this.#context;
    metrics.webhookBatchSize.observe(events.length);
    const stored = await this.#store.insert(database, unique(events));
    this.#onStored();
    return this.#count(events, stored);
  }

  /** If the transaction fails, the events are stored for the worker, which finds the one that cannot be applied. */
  async #apply(events: readonly ReceivedEvent[]): Promise<readonly Receipt[]> {
    const { metrics, logger } = this.#context;
    const rows = events.map(({ row }) => row);
    const byId = new Map(events.map((event) => [event.row.id, event]));
    metrics.webhookBatchSize.observe(events.length);
    let stored: StoredStates;
    try {
      stored = await this.#onReceipt.applyReceived([...byId.values()]);
    } catch (error) {
      if (isOutage(error)) throw error;
      logger.info(
        { err: error, events: byId.size },
        'webhook events not applied on receipt; left to the worker',
      );
      return this.#storeEvents(rows);
    }
    return this.#count(rows, stored);
  }

  #count(events: readonly NewWebhookEvent[], stored: StoredStates): readonly Receipt[] {
    const { metrics } = this.#context;
    const uncounted = new Set(stored.keys());
    return events.map((event) => {
      // If two events in a batch have the same id, the second is a duplicate.
      if (!uncounted.delete(event.id)) {
        metrics.webhookEventsDuplicate.inc();
        return 'duplicate';
      }
      const type = metrics.eventTypeLabel(event.type);
      metrics.webhookEventsReceived.inc({ type });
      if (event.state === 'ignored') metrics.webhookEventsIgnored.inc({ type });
      return 'stored';
    });
  }

  #refuseMode(event: ProcessorEvent): Receipt {
    const { processor, metrics } = this.#context;
    const mode = (live: boolean) => (live ? 'live' : 'test');
    this.#warnOnce(
      { eventMode: mode(event.livemode), keyMode: mode(processor.livemode) },
      'event of the other mode ignored',
    );
    metrics.webhookEventsIgnored.inc({ type: metrics.eventTypeLabel(event.type) });
    return 'ignored';
  }

  #warnOnce(fields: Readonly<Record<string, string | null>>, message: string): void {
    const warning = JSON.stringify([message, fields]);
    if (this.#warned.has(warning) || this.#warned.size >= warningsMax) return;
    this.#warned.add(warning);
    this.#context.logger.warn(fields, message);
  }
}

function unique(events: readonly NewWebhookEvent[]): readonly NewWebhookEvent[] {
  return [...new Map(events.map((event) => [event.id, event])).values()];
}

/**
 * Undefined if the content cannot be read, or is empty. Such an event is stored too: the worker reads it again, and
 * decides its outcome.
 */
function ifReadable(read: () => EventContent): ReadableContent | undefined {
  try {
    const content = read();
    return content.subject === 'none' ? undefined : content;
  } catch {
    return undefined;
  }
}

/**
 * Objects whose ignored events one statement returns to the queue. For each object it searches every event since
 * the earliest `since`. The few that it finds stay locked until it ends: for milliseconds, with this many objects.
 */
const keysPerSearchMax = 100;

/** Few enough for a statement of milliseconds. */
const eventsPerBatch = 1_000;

/** There are few versions and modes. The limit keeps invented values from filling the memory and the log. */
const warningsMax = 100;
