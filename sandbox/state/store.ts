import type * as Wire from '../wire/objects.ts';
import { type Cause, type Changes, eventLifetimeSeconds, type StoredEvent } from './changes.ts';
import { Collection } from './collection.ts';
import { Collections } from './collections.ts';
import { Deliveries } from './deliveries.ts';
import type { Journal } from './journal.ts';
import { decodeLine, encodeLine, type JournalLine, snapshotLines } from './journal-line.ts';
import { type Memo, Memos } from './memos.ts';
import { previousAttributes } from './previous-attributes.ts';
import { defaultRetention, type Retention, SpentObjects } from './retention.ts';
import { SandboxClock } from './sandbox-clock.ts';
import { SearchLag } from './search-lag.ts';
import { defaultSettings, type Settings } from './settings.ts';

/** The processor's search shows a change in less than a minute. */
const searchLagSecondsOfProcessor = 30;

/** Pruning is cheap at this rate, and expired events stay a small part of memory. */
const pruneEveryEvents = 10_000;

/**
 * All state of the sandbox. Transactions are synchronous, so two never interleave. The objects, the events and the
 * remembered response of one request form one line of the journal, so a crash keeps all of them or none.
 */
export class Store extends Collections {
  readonly events = new Collection<StoredEvent>({ name: 'events', noun: 'event', idPrefix: 'evt_' });

  readonly clock: SandboxClock;
  readonly memos: Memos;
  readonly deliveries = new Deliveries();
  readonly searchLag = new SearchLag();
  /** The endpoint from the start options, in addition to those registered through the API. */
  builtInEndpointId: string | null = null;
  /** The base address of links to the pages of the world. */
  baseUrl: () => string = () => '';
  settings: Settings = defaultSettings;

  #journal: Journal | null = null;
  #open: (Changes & { readonly undo: (() => void)[]; readonly cause: Cause }) | null = null;
  readonly #listeners: ((changes: Changes) => void)[] = [];
  #eventsSincePruning = 0;
  readonly #retention: Retention;
  readonly #spent: SpentObjects;

  constructor(clock = new SandboxClock(), retention = defaultRetention) {
    super();
    this.clock = clock;
    this.#retention = retention;
    this.memos = new Memos(retention.memosMax);
    this.#spent = new SpentObjects(retention.spentMax);
  }

  /** Calls the listener after each transaction, with its changes. */
  onChanges(listener: (changes: Changes) => void): void {
    this.#listeners.push(listener);
  }

  keepIn(journal: Journal): void {
    this.#journal = journal;
  }

  /** Resolves once all changes so far are in the journal. */
  async written(): Promise<void> {
    await this.#journal?.written();
  }

  /** The time of billing objects, which test clocks can change. */
  now(): number {
    return this.clock.now();
  }

  /** The time of payments and events. As at the processor, test clocks do not change it. */
  worldNow(): number {
    return this.clock.worldNow();
  }

  /** What every new object begins with. The processor creates payments at the time of the world. */
  blank<O extends string>(kind: { newId(): string }, object: O, created = this.now()) {
    return { id: kind.newId(), object, created, livemode: false };
  }

  put<T extends Wire.WireObject>(collection: Collection<T>, value: T): T {
    const open = this.#transaction();
    const previous = collection.put(value);
    this.searchLag.note(value.id, previous, this.worldNow(), this.searchLagSeconds);
    open.undo.push(() => (previous === undefined ? collection.remove(value.id) : collection.put(previous)));
    open.puts.push({ collection: collection.name, value });
    return value;
  }

  /** Replaces the object with a changed copy. */
  change<T extends Wire.WireObject>(collection: Collection<T>, before: T, changes: Partial<T>): T {
    return this.put(collection, { ...before, ...changes });
  }

  /** Stores the object, and emits the event. */
  record<T extends Wire.WireObject>(type: Wire.EventType, collection: Collection<T>, value: T): T {
    this.emit(type, this.put(collection, value));
    return value;
  }

  /** The same for a changed copy. An `updated` event is emitted only if any attribute differs. */
  update<T extends Wire.WireObject>(
    type: Wire.EventType,
    collection: Collection<T>,
    before: T,
    changes: Partial<T>,
  ): T {
    const after = this.change(collection, before, changes);
    if (type.endsWith('.updated')) this.emitUpdated(type, before, after);
    else this.emit(type, after);
    return after;
  }

  remove<T extends Wire.WireObject>(collection: Collection<T>, id: string): void {
    const open = this.#transaction();
    const previous = collection.get(id);
    if (previous === undefined) return;
    collection.remove(id);
    open.undo.push(() => collection.put(previous));
    open.removals.push({ collection: collection.name, id });
  }

  emit(type: Wire.EventType, subject: Wire.WireObject, previous: object | null = null): void {
    const open = this.#transaction();
    const { cause } = open;
    const event: StoredEvent = {
      id: this.events.newId(),
      object: 'event',
      type,
      created: this.worldNow(),
      subject,
      previous,
      request:
        cause === null
          ? { id: null, idempotency_key: null }
          : { id: cause.requestId, idempotency_key: cause.idempotencyKey },
    };
    this.events.put(event);
    this.clock.note(event.created);
    open.undo.push(() => this.events.remove(event.id));
    open.events.push(event);
  }

  /** Emits the event, with the previous values, if any attribute differs. */
  emitUpdated(type: Wire.EventType, before: Wire.WireObject, after: Wire.WireObject): void {
    const previous = previousAttributes(before, after);
    if (previous !== null) this.emit(type, after, previous);
  }

  remember(key: string, memo: Memo): void {
    this.#transaction().memo = { key, memo };
    this.memos.set(key, memo);
  }

  /** The events of the open transaction. */
  get openEvents(): readonly StoredEvent[] {
    return this.#transaction().events;
  }

  /** Reverts everything that the open transaction has done so far. */
  undo(): void {
    const open = this.#transaction();
    for (const step of open.undo.splice(0).reverse()) step();
    open.puts.length = 0;
    open.removals.length = 0;
    open.events.length = 0;
  }

  transact<T>(cause: Cause, work: () => T): T {
    if (this.#open !== null) throw new Error('transactions cannot be nested');
    const open = { puts: [], removals: [], events: [], memo: null, undo: [], cause };
    this.#open = open;
    let result: T;
    try {
      result = work();
    } catch (error) {
      this.undo();
      this.#open = null;
      throw error;
    }
    this.#open = null;
    this.#commit(open);
    return result;
  }

  /** Changes the settings and writes them to the journal, together with the clock's offset. */
  changeSettings(settings: Partial<Settings>): void {
    this.settings = { ...this.settings, ...settings };
    if (this.searchLagSeconds === 0) this.searchLag.clear();
    this.#journal?.append({ at: this.clock.realNowMs(), s: this.settings, o: this.clock.offsetSeconds });
  }

  /** How long search takes to show a change. */
  get searchLagSeconds(): number {
    const { searchLagSeconds = 0, mannersSeed = null } = this.settings;
    return mannersSeed === null ? searchLagSeconds : Math.max(searchLagSeconds, searchLagSecondsOfProcessor);
  }

  noteDelivery(eventId: string, endpointId: string, outcome: 'delivered' | 'given_up'): void {
    this.deliveries.note(eventId, endpointId, outcome);
    this.#journal?.append({ at: this.clock.realNowMs(), n: [eventId, endpointId, outcome] });
  }

  /** The number of objects of each kind. */
  counts(): Record<string, number> {
    const kinds = [...this.byName.values(), this.events];
    return Object.fromEntries(kinds.map(({ name, size }) => [name, size]));
  }

  /** The number of objects, events and remembered responses. */
  get size(): number {
    return Object.values(this.counts()).reduce((sum, count) => sum + count, this.memos.size);
  }

  /** Applies one line of the journal. Returns the real time at which it was written. */
  restore(raw: unknown): number {
    const line = decodeLine(raw);
    for (const [name, value] of line.puts) {
      this.byName.get(name)?.put(value);
      this.#forgetSpent(name, value);
    }
    for (const [name, id] of line.removals) this.byName.get(name)?.remove(id);
    for (const { event, endpointIds } of line.events) {
      this.events.put(event);
      this.deliveries.expect(event.id, endpointIds, line.atMs);
      this.clock.note(event.created);
    }
    if (line.memo !== null) this.memos.set(line.memo.key, line.memo.memo);
    if (line.delivery !== null) this.deliveries.note(...line.delivery);
    if (line.settings !== null) this.settings = line.settings;
    if (line.offsetSeconds !== null) this.clock.offsetSeconds = line.offsetSeconds;
    this.#pruneAfter(line.events.length);
    return line.atMs;
  }

  /** Removes expired responses. Also removes events without a pending delivery that are expired or exceed the limit. */
  forgetExpired(): void {
    this.#eventsSincePruning = 0;
    this.memos.forgetExpired(this.clock.realNowMs());
    const oldest = this.worldNow() - eventLifetimeSeconds;
    const hasNoPending = ({ id }: StoredEvent) => this.deliveries.endpointIdsOf(id).length === 0;
    for (const { id } of this.events.removeOldest(oldest, hasNoPending)) this.deliveries.forget(id);
    for (const { id } of this.events.removeExcess(this.#retention.eventsMax, hasNoPending))
      this.deliveries.forget(id);
  }

  /** The shortest journal that restores the current state. */
  snapshot(): Iterable<JournalLine> {
    return snapshotLines(this, this.byName);
  }

  /** When it was last reset, in real time. 0: never. */
  get lastResetMs(): number {
    return this.settings.lastResetMs ?? 0;
  }

  async reset(): Promise<void> {
    // The memory is cleared together with the journal, so that a concurrent change is never in only one of them.
    if (this.#journal === null) this.#clear();
    else
      await this.#journal.rewrite(() => {
        this.#clear();
        return this.snapshot();
      });
  }

  #clear(): void {
    for (const collection of this.byName.values()) collection.clear();
    this.events.clear();
    this.memos.clear();
    this.deliveries.clear();
    this.#spent.clear();
    this.searchLag.clear();
    this.clock.reset();
    // Two resets differ, even within a millisecond or after the machine's clock went back.
    const lastResetMs = Math.max(this.clock.realNowMs(), this.lastResetMs + 1);
    this.settings = { ...defaultSettings, lastResetMs };
  }

  /** Rewrites the journal without obsolete lines. */
  async compact(): Promise<void> {
    await this.#journal?.rewrite(() => this.snapshot());
  }

  #transaction() {
    if (this.#open === null) throw new Error('the state can only change inside a transaction');
    return this.#open;
  }

  #commit(changes: Changes): void {
    for (const event of changes.events)
      this.deliveries.expect(event.id, this.#endpointIdsFor(event), this.clock.realNowMs());
    const somethingChanged =
      changes.puts.length > 0 ||
      changes.removals.length > 0 ||
      changes.events.length > 0 ||
      changes.memo !== null;
    if (somethingChanged && this.#journal !== null)
      this.#journal.append(
        encodeLine(changes, this.clock.realNowMs(), (id) => this.deliveries.endpointIdsOf(id)),
      );
    for (const listener of this.#listeners) listener(changes);
    for (const { collection, value } of changes.puts) this.#forgetSpent(collection, value);
    this.#pruneAfter(changes.events.length);
  }

  #pruneAfter(newEvents: number): void {
    this.#eventsSincePruning += newEvents;
    if (this.#eventsSincePruning >= Math.min(pruneEveryEvents, this.#retention.eventsMax))
      this.forgetExpired();
  }

  /** Not written to the journal: reading the journal removes the same objects. */
  #forgetSpent(collection: string, value: Wire.WireObject): void {
    const forgotten = this.#spent.note(collection, value);
    if (forgotten === undefined) return;
    const isUsed = [this.paymentIntents, this.setupIntents].some(
      (intents) => intents.allWithin('payment_method', forgotten.id).length > 0,
    );
    if (!isUsed) this.byName.get(forgotten.collection)?.remove(forgotten.id);
  }

  #endpointIdsFor(event: StoredEvent): string[] {
    const ids = this.builtInEndpointId === null ? [] : [this.builtInEndpointId];
    for (const endpoint of this.webhookEndpoints.values())
      if (endpoint.status === 'enabled' && subscribes(endpoint, event.type)) ids.push(endpoint.id);
    return ids;
  }
}

function subscribes(endpoint: Wire.WebhookEndpoint, type: string): boolean {
  return endpoint.enabled_events.includes('*') || endpoint.enabled_events.includes(type);
}
