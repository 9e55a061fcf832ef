import { isSameValue } from '#core/model/facts.ts';
import { type Cause, causeOfKind, currentCause, currentCauseOf } from '#core/platform/cause.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { currentSpan, inSpan } from '#core/platform/tracing.ts';
import { isChanged, type WrittenRow } from '#core/platform/written-rows.ts';
import type { DescribedEvent, EventData, NewEvent } from '../event.ts';
import { EventStore } from '../feed/event-store.ts';
import type { ObjectKind, Shown } from './object-kind.ts';
import { type EventText, type GracePeriod, OutboxStore } from './outbox-store.ts';

/** References of one span to others: as many as the SDK keeps by default. */
const linksMax = 128;
/** Events that are inserted together: enough for any batch, and their JSON is a few megabytes at most. */
const eventsPerStep = 1_000;

/** Values that rows show of each other. They are looked up when a row is read. */
export interface RowLinks {
  /** The numbers of the locks that these rows need, in ascending order. */
  locksOf(rows: readonly WrittenRow[]): readonly number[];
  /**
   * The written rows, and those that show different values because of them, each with the values that it showed before
   * and shows now. The locks must be held.
   */
  complete(tx: Transaction): Promise<readonly WrittenRow[]>;
}

interface OutboxListener {
  nudge(): void;
}

/**
 * Writes an event for every visible change of an object in the API, in the transaction of the change. The stores report
 * every row that they write, so that no other code has to know about events.
 */
export class Outbox {
  readonly #store = new OutboxStore();
  /** What earlier requests have written. */
  readonly #events = new EventStore();
  readonly #links: RowLinks;
  readonly #byTable: ReadonlyMap<string, ObjectKind>;
  #listeners: readonly OutboxListener[] = [];

  constructor(objects: readonly ObjectKind[], links: RowLinks) {
    this.#links = links;
    this.#byTable = new Map(objects.map((object) => [object.table, object]));
  }

  /** Nudges the listeners after each commit of new events by this process. */
  setListeners(listeners: readonly OutboxListener[]): void {
    this.#listeners = listeners;
  }

  /** Runs right before the commit of a transaction that wrote rows. */
  write(tx: Transaction): Promise<void> {
    return inSpan('outbox', async () => {
      await this.#linkToRequests(tx);
      await this.#write(tx);
    });
  }

  async #write(tx: Transaction): Promise<void> {
    const rows = tx.written.all();
    const locks = this.#links.locksOf(rows);
    if (locks.length === 0) return this.#append(tx, await tx.written.stored(), new Map());
    // From here on, no other transaction changes the values that these rows show of each other.
    this.#store.lockLinks(tx, locks);
    const [written, grace] = await Promise.all([
      this.#links.complete(tx),
      this.#findGrace(tx, rows.filter(isChanged)),
    ]);
    const others = await this.#findGrace(
      tx,
      written.filter((one) => !isChanged(one)),
    );
    this.#append(tx, written, new Map([...grace, ...others]));
  }

  /** Writes events that do not report a changed row. Call it last in the transaction, as `write` does. */
  report(tx: Transaction, events: readonly NewEvent[]): void {
    this.#appendTexts(
      tx,
      events.map((event) => eventText(event, JSON.stringify(event.data))),
    );
  }

  #append(tx: Transaction, written: readonly WrittenRow[], graceOf: ReadonlyMap<string, GracePeriod>): void {
    const events: EventText[] = [];
    const current: GracePeriod[] = [];
    const ended: string[] = [];
    for (const { table, row, before } of written) {
      const kind = this.#byTable.get(table);
      if (kind === undefined) continue;
      const grace = graceOf.get(row.id);
      const shown = kind.show(row);
      const shownBefore = before && kind.show(before, { isInGrace: grace !== undefined });
      events.push(...describe(kind, shownBefore, shown));
      const { graceEndsAt } = shown;
      if (graceEndsAt === null && grace !== undefined) ended.push(row.id);
      if (graceEndsAt !== null && graceEndsAt.getTime() !== grace?.endsAt.getTime())
        current.push({ subscriptionId: row.id, endsAt: graceEndsAt });
    }
    if (current.length > 0) this.#store.recordGrace(tx, current);
    if (ended.length > 0) this.#store.removeGrace(tx, ended);
    if (events.length > 0) this.#appendTexts(tx, events);
  }

  #appendTexts(tx: Transaction, events: readonly EventText[]): void {
    currentSpan()?.set({ 'till.events.count': events.length });
    for (let start = 0; start < events.length; start += eventsPerStep)
      this.#store.append(tx, events.slice(start, start + eventsPerStep));
    tx.afterCommit(() => {
      for (const listener of this.#listeners) listener.nudge();
    });
  }

  /** If a webhook is traced, its trace refers to the requests that changed the same objects before. */
  async #linkToRequests(tx: Transaction): Promise<void> {
    const span = currentSpan();
    // Undefined for a batch of webhooks.
    const kind = currentCause()?.kind ?? 'webhook';
    if (span === undefined || kind !== 'webhook') return;
    const changed = tx.written.all().flatMap(({ row, before }) => (before === undefined ? [] : [row.id]));
    if (changed.length === 0) return;
    const found = await this.#events.findRequestTraces(tx, changed.slice(0, linksMax));
    for (const traceparent of new Set(found)) span.link(traceparent);
  }

  /** The grace periods that the newest events of these subscriptions show. */
  async #findGrace(tx: Transaction, rows: readonly WrittenRow[]): Promise<ReadonlyMap<string, GracePeriod>> {
    const ids = rows.flatMap(({ table, row, before }) => {
      const kind = this.#byTable.get(table);
      return kind?.mayBeInGrace(row) || kind?.mayBeInGrace(before ?? row) ? [row.id] : [];
    });
    const found = ids.length === 0 ? [] : await this.#store.findGrace(tx, ids);
    return new Map(found.map((one) => [one.subscriptionId, one]));
  }
}

/** The events of a change, as the store takes them. */
function describe(kind: ObjectKind, before: Shown | undefined, after: Shown): readonly EventText[] {
  const events = describeChange(kind, before, after);
  if (events.length === 0) return [];
  const data = JSON.stringify(after.view);
  const cause = currentCauseOf(after.ids) ?? unknownCause;
  const object = { objectType: kind.type, objectId: after.id, customerId: after.customerId };
  const source = { cause, traceparent: traceparentOf(cause) };
  return events.map((event) => eventText({ ...event, ...object, ...source }, data));
}

/**
 * The current span, if it is part of the request's trace, else the span of the request: a statement that several
 * requests share has a trace of its own.
 */
function traceparentOf({ traceparent }: Cause): string | undefined {
  const current = currentSpan()?.traceparent;
  const isOther =
    traceparent !== undefined && current?.slice(0, traceIdEnd) !== traceparent.slice(0, traceIdEnd);
  return isOther ? traceparent : current;
}

/** The length of the version and the trace id at the beginning of a `traceparent`. */
const traceIdEnd = 35;

/** For work that has no cause. */
const unknownCause = causeOfKind('sweeper');

/**
 * The events of a change, given what the API showed of the object before and shows now. Usually there is one, or none
 * if nothing has changed in what the API shows.
 */
export function describeChange(
  kind: ObjectKind,
  before: Shown | undefined,
  after: Shown,
): readonly DescribedEvent[] {
  if (before?.isVisible !== true) return after.isVisible ? describeCreation(kind, after) : [];
  const changed = changedFields(before.view, after.view);
  if (changed === undefined) return [];
  const previous = after.erased.length === 0 ? changed : without(changed, after.erased);
  return [{ type: kind.typeOf(before, after), previous }];
}

function describeCreation(kind: ObjectKind, created: Shown): readonly DescribedEvent[] {
  const creation: DescribedEvent = { type: `${kind.type}.created`, previous: {} };
  const followedBy = kind.afterCreation(created);
  return followedBy === undefined ? [creation] : [creation, followedBy];
}

function without(view: EventData, fields: readonly string[]): EventData {
  return Object.fromEntries(Object.entries(view).filter(([field]) => !fields.includes(field)));
}

/** The old values of the fields that differ. Undefined if nothing differs. */
function changedFields(before: EventData, after: EventData): EventData | undefined {
  const names = Object.keys(after).filter((name) => !isSameValue(before[name], after[name]));
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, before[name]]));
}

/**
 * An event as `till.append_events` takes it. `data` is its JSON. Readers of events see the cause, and not its trace.
 */
export function eventText(
  { type, objectType, objectId, customerId, previous, cause, traceparent }: Omit<NewEvent, 'data'>,
  data: string,
): EventText {
  const shown = cause.traceparent === undefined ? cause : { ...cause, traceparent: undefined };
  return {
    ...{ type, objectType, objectId, customerId, data, traceparent: traceparent ?? null },
    ...{ previous: JSON.stringify(previous), cause: JSON.stringify(shown) },
  };
}
