import type { WireObject } from '../wire/objects.ts';
import type { Collection } from './collection.ts';
import type { DeliveryOutcome } from './deliveries.ts';
import { type Memo, memoLifetimeMs } from './memos.ts';
import type { Changes, Store, StoredEvent } from './store.ts';

export type DeliveryMode = 'normal' | 'paused' | 'duplicate' | 'shuffle' | 'drop';

export interface Settings {
  readonly deliveryMode: DeliveryMode;
  /** What becomes of a subscription whose renewal was never paid. */
  readonly afterDunning: 'cancel' | 'unpaid';
}

/** An event without its subject, which stands among the line's objects. */
type EventPart = Omit<StoredEvent, 'object' | 'subject'>;

/**
 * One line of the journal. Events and remembered answers mostly show objects that the same line stores, so each
 * object version is written once (`v`) and the others name it by its position.
 */
export interface JournalLine {
  readonly at: number;
  /** Object versions, in order. */
  readonly v?: readonly WireObject[];
  /** Puts: collection and position in `v`. */
  readonly p?: readonly (readonly [string, number])[];
  /** Removals: collection and id. */
  readonly r?: readonly (readonly [string, string])[];
  /** Events: the event, the position of its subject in `v`, and the endpoints that await it. */
  readonly e?: readonly (readonly [EventPart, number, readonly string[]])[];
  /** A remembered answer: its body is a position in `v` where that is the same object. */
  readonly m?: { readonly key: string; readonly memo: Omit<Memo, 'body'>; readonly body: object | number };
  /** What became of a delivery. */
  readonly n?: readonly [string, string, DeliveryOutcome];
  readonly s?: Settings;
  readonly o?: number;
}

export interface RestoredLine {
  readonly atMs: number;
  readonly puts: readonly (readonly [string, WireObject])[];
  readonly removals: readonly (readonly [string, string])[];
  readonly events: readonly { readonly event: StoredEvent; readonly endpointIds: readonly string[] }[];
  readonly memo: { readonly key: string; readonly memo: Memo } | null;
  readonly delivery: readonly [string, string, DeliveryOutcome] | null;
  readonly settings: Settings | null;
  readonly offsetSeconds: number | null;
}

export function encodeLine(
  changes: Changes,
  atMs: number,
  endpointIdsOf: (eventId: string) => readonly string[],
): JournalLine {
  const versions: WireObject[] = [];
  const positions = new Map<object, number>();
  const positionOf = (value: WireObject): number => {
    const known = positions.get(value);
    if (known !== undefined) return known;
    positions.set(value, versions.length);
    return versions.push(value) - 1;
  };
  const puts = changes.puts.map(({ collection, value }) => [collection, positionOf(value)] as const);
  const events = changes.events.map(({ object: _, subject, ...event }) => {
    return [event, positionOf(subject), endpointIdsOf(event.id)] as const;
  });
  return {
    at: atMs,
    v: versions,
    p: puts,
    ...(changes.removals.length === 0
      ? {}
      : { r: changes.removals.map(({ collection, id }) => [collection, id]) }),
    e: events,
    ...(changes.memo === null ? {} : { m: encodeMemo(changes.memo.key, changes.memo.memo, positions) }),
  };
}

function encodeMemo(key: string, { body, ...memo }: Memo, positions: ReadonlyMap<object, number>) {
  return { key, memo, body: positions.get(body) ?? body };
}

export function decodeLine(raw: unknown): RestoredLine {
  // The sandbox reads only what it wrote itself: `encodeLine`, `snapshotLines` and the two notes in the store.
  const line = raw as JournalLine;
  const versions = line.v ?? [];
  const version = (position: number): WireObject => {
    const value = versions[position];
    if (value === undefined)
      throw new Error(`a journal line names object ${position}, which it does not hold`);
    return value;
  };
  return {
    atMs: line.at,
    puts: (line.p ?? []).map(([name, position]) => [name, version(position)] as const),
    removals: line.r ?? [],
    events: (line.e ?? []).map(([event, position, endpointIds]) => ({
      event: { ...event, object: 'event' as const, subject: version(position) },
      endpointIds,
    })),
    memo:
      line.m === undefined
        ? null
        : {
            key: line.m.key,
            memo: {
              ...line.m.memo,
              body: typeof line.m.body === 'number' ? version(line.m.body) : line.m.body,
            },
          },
    delivery: line.n ?? null,
    settings: line.s ?? null,
    offsetSeconds: line.o ?? null,
  };
}

/** The processor shows events for 30 days; older ones go when the journal is rewritten. */
export const eventLifetimeSeconds = 30 * 24 * 60 * 60;

export function* snapshotLines(
  store: Store,
  collections: ReadonlyMap<string, Collection<WireObject>>,
): Generator<JournalLine> {
  const nowMs = store.clock.realNowMs();
  yield { at: nowMs, s: store.settings, o: store.clock.offsetSeconds };
  for (const [name, collection] of collections)
    for (const value of collection.values()) yield { at: nowMs, v: [value], p: [[name, 0]] };
  const oldest = store.now() - eventLifetimeSeconds;
  for (const { object: _, subject, ...event } of store.events.values()) {
    const endpointIds = store.deliveries.endpointIdsOf(event.id);
    const givenUp = store.deliveries.givenUpOf(event.id);
    if (event.created < oldest && endpointIds.length === 0) continue;
    const at = store.deliveries.sinceMsOf(event.id) ?? nowMs;
    yield { at, v: [subject], e: [[event, 0, [...endpointIds, ...givenUp]]] };
    for (const endpointId of givenUp) yield { at, n: [event.id, endpointId, 'given_up'] };
  }
  for (const [key, { body, ...memo }] of store.memos.entries())
    if (memo.atMs > nowMs - memoLifetimeMs) yield { at: nowMs, m: { key, memo, body } };
}
