export type DeliveryOutcome = 'delivered' | 'given_up';

interface Undelivered {
  /** When the event was created, in real time. Retries end three days later. */
  readonly sinceMs: number;
  readonly waiting: Set<string>;
  readonly givenUp: Set<string>;
}

/** Undelivered events and their endpoints. An event that reached all its endpoints is removed. */
export class Deliveries {
  readonly #undelivered = new Map<string, Undelivered>();

  expect(eventId: string, endpointIds: readonly string[], sinceMs: number): void {
    if (endpointIds.length === 0) return;
    this.#undelivered.set(eventId, { sinceMs, waiting: new Set(endpointIds), givenUp: new Set() });
  }

  note(eventId: string, endpointId: string, outcome: DeliveryOutcome): void {
    const entry = this.#undelivered.get(eventId);
    if (entry === undefined) return;
    entry.waiting.delete(endpointId);
    if (outcome === 'given_up') entry.givenUp.add(endpointId);
    if (entry.waiting.size === 0 && entry.givenUp.size === 0) this.#undelivered.delete(eventId);
  }

  /** The number of endpoints that the event has not reached: its `pending_webhooks`. */
  countOf(eventId: string): number {
    const entry = this.#undelivered.get(eventId);
    return entry === undefined ? 0 : entry.waiting.size + entry.givenUp.size;
  }

  endpointIdsOf(eventId: string): string[] {
    return [...(this.#undelivered.get(eventId)?.waiting ?? [])];
  }

  givenUpOf(eventId: string): string[] {
    return [...(this.#undelivered.get(eventId)?.givenUp ?? [])];
  }

  sinceMsOf(eventId: string): number | undefined {
    return this.#undelivered.get(eventId)?.sinceMs;
  }

  isWaiting(eventId: string, endpointId: string): boolean {
    return this.#undelivered.get(eventId)?.waiting.has(endpointId) ?? false;
  }

  /** All pending deliveries, oldest event first. */
  *waiting(): Generator<{ eventId: string; endpointId: string }> {
    for (const [eventId, entry] of this.#undelivered)
      for (const endpointId of entry.waiting) yield { eventId, endpointId };
  }

  forget(eventId: string): void {
    this.#undelivered.delete(eventId);
  }

  clear(): void {
    this.#undelivered.clear();
  }
}
