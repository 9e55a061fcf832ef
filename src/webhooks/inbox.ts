import { Failure } from '../errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { type Database, isOutage } from '../platform/postgres.ts';
import type { Processor, ProcessorEvent } from '../processor/processor.ts';
import { eventTypeLabel, isKnownEventType } from './event-types.ts';
import type { NewWebhookEvent, WebhookEventStore } from './webhook-event-store.ts';

/** More rows in one statement save little and delay its first caller. */
const batchMax = 200;
/** At a few thousand stored per second this is about a second of waiting; past it the processor had better retry. */
const waitingMax = 5_000;

export type Receipt = 'stored' | 'duplicate' | 'ignored';

interface Waiting {
  readonly event: NewWebhookEvent;
  readonly resolve: (receipt: Receipt) => void;
  readonly reject: (error: unknown) => void;
}

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
  readonly #waiting: Waiting[] = [];
  readonly #warned = new Set<string>();
  #flushing = false;

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  /** Resolves only once the event is on disk, here or from an earlier time. */
  receive(event: ProcessorEvent): Promise<Receipt> {
    const { processor } = this.#parts;
    if (event.livemode !== processor.livemode) return Promise.resolve(this.#refuseMode(event));
    if (!processor.understands(event.apiVersion)) {
      this.#warnOnce(
        `an event has the API version ${event.apiVersion}, which is not one that we know; it is processed all the same`,
      );
    }
    if (this.#waiting.length >= waitingMax) {
      return Promise.reject(
        new Failure('overloaded', 'More events arrive than can be stored; please send this one again.', {
          retryAfterSeconds: 1,
        }),
      );
    }
    const state = event.objectId !== null && isKnownEventType(event.type) ? 'pending' : 'ignored';
    const { promise, resolve, reject } = Promise.withResolvers<Receipt>();
    this.#waiting.push({ event: { ...event, state }, resolve, reject });
    if (!this.#flushing) void this.#flush();
    return promise;
  }

  async #flush(): Promise<void> {
    this.#flushing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchMax);
      try {
        await this.#store(batch);
      } catch (error) {
        // One bad row must not sink the others. If it is the database itself, trying each would only add to the wait.
        if (batch.length === 1 || isOutage(error)) for (const one of batch) one.reject(error);
        else await Promise.all(batch.map((one) => this.#store([one]).catch(one.reject)));
      }
    }
    this.#flushing = false;
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    const { database, store, metrics, onStored } = this.#parts;
    const unique = new Map(batch.map(({ event }) => [event.id, event]));
    const inserted = new Set(await store.insert(database, [...unique.values()]));
    for (const { event, resolve } of batch) {
      // Of two with the same id in one batch, the first is the one that was stored.
      if (inserted.delete(event.id)) {
        const type = eventTypeLabel(event.type);
        metrics.webhookEventsReceived.inc({ type });
        if (event.state === 'ignored') metrics.webhookEventsIgnored.inc({ type });
        resolve('stored');
      } else {
        metrics.webhookEventsDuplicate.inc();
        resolve('duplicate');
      }
    }
    onStored();
  }

  #refuseMode(event: ProcessorEvent): Receipt {
    const { processor, metrics } = this.#parts;
    const mode = (live: boolean) => (live ? 'live' : 'test');
    this.#warnOnce(
      `events of ${mode(event.livemode)} mode arrive, but our key is of ${mode(processor.livemode)} mode; they are ignored`,
    );
    metrics.webhookEventsIgnored.inc({ type: eventTypeLabel(event.type) });
    return 'ignored';
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message) || this.#warned.size >= warningsMax) return;
    this.#warned.add(message);
    this.#parts.logger.warn(message);
  }
}

/** Versions and modes are few; whoever makes them up does not fill our memory or the log. */
const warningsMax = 100;
