import type { Settlement, WebhookEvent } from '../model/webhook-event.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import { SharedStatement } from '../platform/shared-statement.ts';
import type { LateRow } from '../platform/written-rows.ts';
import type { ProcessorEvent } from '../processor/port/event-calls.ts';
import type { Processor } from '../processor/port/processor.ts';
import type { NewWebhookEvent, WebhookEventStore } from './webhook-event-store.ts';

export type Receipt = 'stored' | 'duplicate' | 'ignored';

interface InboxParts {
  readonly database: Database;
  readonly store: WebhookEventStore;
  readonly processor: Processor;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Called when there are new events. */
  readonly onStored: () => void;
}

/**
 * Stores each event durably once, and gives events to workers. Requests that arrive while a statement is running share
 * the next one, so a busy second needs a few dozen commits instead of thousands.
 */
export class Inbox {
  readonly #parts: InboxParts;
  readonly #warned = new Set<string>();
  readonly #storing = new SharedStatement<NewWebhookEvent, Receipt>({ run: (events) => this.#store(events) });

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  /** Resolves only when the event is on disk, from this delivery or an earlier one. */
  receive(event: ProcessorEvent): Promise<Receipt> {
    const { processor } = this.#parts;
    if (event.livemode !== processor.livemode) return Promise.resolve(this.#refuseMode(event));
    if (!processor.understands(event.apiVersion)) {
      this.#warnOnce({ apiVersion: event.apiVersion }, 'event with an unknown API version processed');
    }
    const state = event.objectId !== null && processor.eventTypes.has(event.type) ? 'pending' : 'ignored';
    return this.#storing.add({ ...event, state });
  }

  /** Locks due events that no other worker has locked. */
  claim(tx: Transaction, limit: number): Promise<readonly WebhookEvent[]> {
    return this.#parts.store.claim(tx, limit);
  }

  /** Locks the events among these that are still due and that no other worker has locked. */
  claimAgain(tx: Transaction, events: readonly WebhookEvent[]): Promise<readonly WebhookEvent[]> {
    return this.#parts.store.claimAgain(tx, events);
  }

  /** Returns the ids of the events with a new outcome. */
  settle(db: Queryable, settlements: readonly Settlement[]): Promise<ReadonlySet<string>> {
    return this.#parts.store.settle(db, settlements);
  }

  /**
   * Returns events to the queue that found no row of these objects, because responses were still creating the rows.
   * Call it after the commit: an event that arrives later finds the rows.
   */
  async bringBack(rows: readonly LateRow[]): Promise<void> {
    const { database, store, onStored } = this.#parts;
    const since = new Date(Math.min(...rows.map((row) => row.since.getTime())));
    const keys = [...new Set(rows.map(({ key }) => key))];
    let requeued = 0;
    for (let start = 0; start < keys.length; start += keysPerSearchMax)
      requeued += await store.requeueIgnored(database, keys.slice(start, start + keysPerSearchMax), since);
    if (requeued > 0) onStored();
  }

  async #store(events: readonly NewWebhookEvent[]): Promise<readonly Receipt[]> {
    const { database, store, metrics, onStored } = this.#parts;
    const unique = new Map(events.map((event) => [event.id, event]));
    const inserted = new Set(await store.insert(database, [...unique.values()]));
    onStored();
    return events.map((event) => {
      // If two events in a batch have the same id, the second is a duplicate.
      if (!inserted.delete(event.id)) {
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
    const { processor, metrics } = this.#parts;
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
    this.#parts.logger.warn(fields, message);
  }
}

/**
 * Objects whose ignored events one statement returns to the queue. For each object it searches every event since
 * the earliest `since`. The few that it finds stay locked until it ends: for milliseconds, with this many objects.
 */
const keysPerSearchMax = 100;

/** There are few versions and modes. The limit keeps made-up values from filling the memory and the log. */
const warningsMax = 100;
