import type { WireObject } from '../wire/objects.ts';
import { type Changes, eventLifetimeSeconds, type StoredEvent } from './changes.ts';
import type { Collection } from './collection.ts';
import type { Deliveries, DeliveryOutcome } from './deliveries.ts';
import { type Memo, type Memos, memoLifetimeMs } from './memos.ts';
import type { SandboxClock } from './sandbox-clock.ts';
import type { Settings } from './settings.ts';

/** An event without its subject. The line contains the subject among its object versions. */
type EventPart = Omit<StoredEvent, 'object' | 'subject'>;

/**
 * One line of the journal. Events and remembered responses mostly contain objects that the same line stores. So each
 * object version is written once, in `v`, and the other parts refer to it by position.
 */
export interface JournalLine {
  readonly at: number;
  /** Object versions, in order. */
  readonly v?: readonly WireObject[];
  /** Puts: collection and position in `v`. */
  readonly p?: readonly (readonly [string, number])[];
  /** Removals: collection and id. */
  readonly r?: readonly (readonly [string, string])[];
  /** Events: the event, the position of its subject in `v`, and the endpoints to deliver it to. */
  readonly e?: readonly (readonly [EventPart, number, readonly string[]])[];
  /** A remembered response. Its body is a position in `v` if the line stores the same object. */
  readonly m?: { readonly key: string; readonly memo: Omit<Memo, 'body'>; readonly body: object | number };
  /** The outcome of a delivery: event, endpoint and outcome. */
  readonly n?: readonly [string, string, DeliveryOutcome];
  readonly s?: Settings;
  /** The clock's offset in seconds. */
  readonly o?: number;
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
    ...(changes.removals.length !== 0 && {
      r: changes.removals.map(({ collection, id }) => [collection, id]),
    }),
    e: events,
    ...(changes.memo !== null && { m: encodeMemo(changes.memo.key, changes.memo.memo, positions) }),
  };
}

function encodeMemo(key: string, { body, ...memo }: Memo, positions: ReadonlyMap<object, number>) {
  return { key, memo, body: positions.get(body) ?? body };
}

export function decodeLine(raw: unknown) {
  // Only the sandbox writes this file: `encodeLine`, `snapshotLines`, and two methods of the store.
  const line = raw as JournalLine;
  const versions = line.v ?? [];
  const version = (position: number): WireObject => {
    const value = versions[position];
    if (value === undefined)
      throw new Error(`a journal line refers to object ${position}, which it does not contain`);
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

interface State {
  readonly clock: SandboxClock;
  readonly settings: Settings;
  readonly events: Collection<StoredEvent>;
  readonly deliveries: Deliveries;
  readonly memos: Memos;
}

/** The lines that restore this state. Expired events and responses are left out. */
export function* snapshotLines(
  { clock, settings, events, deliveries, memos }: State,
  collections: ReadonlyMap<string, Collection<WireObject>>,
): Generator<JournalLine> {
  const nowMs = clock.realNowMs();
  yield { at: nowMs, s: settings, o: clock.offsetSeconds };
  for (const [name, collection] of collections)
    for (const value of collection.values()) yield { at: nowMs, v: [value], p: [[name, 0]] };
  const oldest = clock.now() - eventLifetimeSeconds;
  for (const { object: _, subject, ...event } of events.values()) {
    const endpointIds = deliveries.endpointIdsOf(event.id);
    const givenUp = deliveries.givenUpOf(event.id);
    if (event.created < oldest && endpointIds.length === 0) continue;
    const at = deliveries.sinceMsOf(event.id) ?? nowMs;
    yield { at, v: [subject], e: [[event, 0, [...endpointIds, ...givenUp]]] };
    for (const endpointId of givenUp) yield { at, n: [event.id, endpointId, 'given_up'] };
  }
  for (const [key, { body, ...memo }] of memos.entries())
    if (memo.atMs > nowMs - memoLifetimeMs) yield { at: nowMs, m: { key, memo, body } };
}
