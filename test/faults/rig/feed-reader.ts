import { EventEmitter, once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { Client } from '../../support/client.ts';
import type { EventBody, EventPage } from '../../support/event-feed.ts';

/** Before the next attempt after a failed one. */
const retryDelayMs = 50;

/** An application that follows the feed by pages, through broken connections and refusals. */
export class FeedReader {
  readonly events: EventBody[] = [];
  readonly #client: Client;
  readonly #stopping = new AbortController();
  readonly #arrived = new EventEmitter();
  readonly #running: Promise<void>;
  #cursor: string | undefined;

  constructor(client: Client) {
    this.#client = client;
    this.#running = this.#run();
  }

  get ids(): readonly string[] {
    return this.events.map(({ id }) => id);
  }

  /** Resolves once it has read an event of this object. */
  async hasRead(objectId: string): Promise<void> {
    while (!this.events.some((event) => event.objectId === objectId)) await once(this.#arrived, 'events');
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const page = await this.#read().catch(() => undefined);
      if (page === undefined) {
        await setTimeout(retryDelayMs);
        continue;
      }
      this.events.push(...page.data);
      this.#cursor = page.nextCursor ?? this.#cursor;
      this.#arrived.emit('events');
    }
  }

  /** Undefined after a refusal. */
  async #read(): Promise<EventPage | undefined> {
    const after = this.#cursor === undefined ? '' : `&after=${this.#cursor}`;
    const { signal } = this.#stopping;
    const response = await this.#client.fetch(`/api/v1/events?limit=100&waitSeconds=10${after}`, { signal });
    const text = await response.text();
    // The API tests check the shape.
    return response.ok ? (JSON.parse(text) as EventPage) : undefined;
  }
}
