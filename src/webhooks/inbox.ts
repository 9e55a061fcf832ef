import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Database } from '../platform/postgres.ts';
import { SharedStatement } from '../platform/shared-statement.ts';
import type { Processor, ProcessorEvent } from '../processor/processor.ts';
import { eventTypeLabel, isKnownEventType } from './event-types.ts';
import type { NewWebhookEvent, WebhookEventStore } from './webhook-event-store.ts';

export type Receipt = 'stored' | 'duplicate' | 'ignored';

interface InboxParts {
  readonly database: Database;
  readonly store: WebhookEventStore;
  readonly processor: Processor;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Called whenever there is new work. */
  readonly onStored: () => void;
}

/**
 * Stores events durably, once each. Requests that come while a statement is under way share the next one: a commit
 * is the price of durability, and a busy second pays it a few dozen times instead of thousands.
 */
export class Inbox {
  readonly #parts: InboxParts;
  readonly #warned = new Set<string>();
  readonly #storing = new SharedStatement<NewWebhookEvent, Receipt>({ run: (events) => this.#store(events) });

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  /** Resolves only once the event is on disk, here or from an earlier time. */
  receive(event: ProcessorEvent): Promise<Receipt> {
    const { processor } = this.#parts;
    if (event.livemode !== processor.livemode) return Promise.resolve(this.#refuseMode(event));
    if (!processor.understands(event.apiVersion)) {
      this.#warnOnce({ apiVersion: event.apiVersion }, 'event with an unknown API version processed');
    }
    const state = event.objectId !== null && isKnownEventType(event.type) ? 'pending' : 'ignored';
    return this.#storing.add({ ...event, state });
  }

  async #store(events: readonly NewWebhookEvent[]): Promise<readonly Receipt[]> {
    const { database, store, metrics, onStored } = this.#parts;
    const unique = new Map(events.map((event) => [event.id, event]));
    const inserted = new Set(await store.insert(database, [...unique.values()]));
    onStored();
    return events.map((event) => {
      // Of two with the same id in one batch, one was stored, and the other is its duplicate.
      if (!inserted.delete(event.id)) {
        metrics.webhookEventsDuplicate.inc();
        return 'duplicate';
      }
      const type = eventTypeLabel(event.type);
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
    metrics.webhookEventsIgnored.inc({ type: eventTypeLabel(event.type) });
    return 'ignored';
  }

  #warnOnce(fields: Readonly<Record<string, string | null>>, message: string): void {
    const warning = JSON.stringify([message, fields]);
    if (this.#warned.has(warning) || this.#warned.size >= warningsMax) return;
    this.#warned.add(warning);
    this.#parts.logger.warn(fields, message);
  }
}

/** Versions and modes are few; whoever makes them up does not fill our memory or the log. */
const warningsMax = 100;
