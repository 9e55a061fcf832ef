import { Parameters, type Statement } from '#core/platform/parameters.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { WeeklyTable } from '#core/platform/weeks-store.ts';
import type { EventSelection } from '../event.ts';
import type { EventPlace, FeedPoint } from './event-id.ts';
import type { StoredEvent } from './stored-event.ts';

/** What the database knows about the position of an event. */
interface KnownPlace {
  readonly exists: boolean;
  readonly history: number;
  /** The horizon at that time, so that a reader that continues here needs no statement of its own for it. */
  readonly horizon: number;
}

/** The events after one position and up to another. The horizon must have passed both. */
export interface EventRange {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
  /** Reads from the end of the range. */
  readonly isNewestFirst?: boolean;
}

interface EventRows {
  readonly rows: readonly StoredEvent[];
  /** The last event that was checked, whether it was selected or not. Undefined if there was none. */
  readonly last: EventPlace | undefined;
  /** False if there may be more events in the range. */
  readonly isComplete: boolean;
}

/**
 * How many events one statement checks when it searches for some types. It takes tens of milliseconds at most, so a
 * reader of a rare type neither delays others nor hits a timeout.
 */
export const scannedMax = 10_000;

/** The time of an event, in the form that `EventPlace` uses. */
export const millisOf = (column: string) => `(date_part('epoch', ${column}) * 1000)::bigint`;
/** The checksum of an event's id, in the form that `EventPlace` uses. */
export const checksumOf = (position: string, createdAt: string) =>
  `till.event_checksum((select seed from till.event_seed), ${position}, ${millisOf(createdAt)})`;
const millis = millisOf('created_at');
const checksum = checksumOf('position', 'created_at');
/** The select list of events. */
export const eventColumns = `events.position, ${millisOf('events.created_at')} as "createdAtMs",
  ${checksumOf('events.position', 'events.created_at')} as checksum, type,
  object_type as "objectType", events.object_id as "objectId", events.customer_id as "customerId",
  data, previous, cause, traceparent`;

export const eventWeeks: WeeklyTable = {
  name: 'events',
  primaryKey: 'position, created_at',
  weeksBack: '1 week',
  removeWeek: 'till.drop_event_week($1)',
  // The overview counts each event exactly once.
  isWeekDone: (week) => `till.is_event_week_counted(${week})`,
  isRowDone: 'position <= till.counted_event_position()',
};

/** The SQL that reads events. `till.append_events` writes them. */
export class EventStore {
  /** The spans of the requests that last changed these objects, as far as they were traced. */
  async findRequestTraces(db: Queryable, objectIds: readonly string[]): Promise<readonly string[]> {
    const rows = await db.query<{ traceparent: string }>(
      `select newest.traceparent from unnest($1::uuid[]) as object (id)
         cross join lateral (select traceparent from till.events
           where object_id = object.id and traceparent is not null and cause ->> 'kind' = 'api'
           order by position desc limit 1) as newest`,
      [objectIds],
    );
    return rows.map(({ traceparent }) => traceparent);
  }

  /**
   * Every event up to this position is committed and visible to statements that begin later, or was rolled back. Query
   * it in a separate statement before the one that reads events.
   */
  async horizon(db: Queryable): Promise<FeedPoint> {
    const [row] = await db.query<FeedPoint>(
      'select till.event_horizon() as position, till.history() as history',
      [],
      'horizon',
    );
    return row ?? { position: 0, history: 0 };
  }

  /** The positions of all events that are committed at this time are at most this. */
  async drawn(db: Queryable): Promise<number> {
    const [row] = await db.query<{ drawn: number }>('select till.drawn_event_position() as drawn');
    return row?.drawn ?? 0;
  }

  /** Undefined if Till did not create the id of this place. */
  async findPlace(db: Queryable, place: EventPlace): Promise<KnownPlace | undefined> {
    const [row] = await db.query<KnownPlace & { checksum: number }>(
      `select ${checksumOf('$1::bigint', '$2::timestamptz')} as checksum, till.history() as history,
         till.event_horizon() as horizon, exists (select from till.events where position = $1 and created_at = $2) as exists`,
      [place.position, new Date(place.createdAtMs).toISOString()],
      'find_place',
    );
    return row?.checksum === place.checksum ? row : undefined;
  }

  async find(db: Queryable, place: EventPlace): Promise<StoredEvent | undefined> {
    const [row] = await db.query<StoredEvent>(
      `select ${eventColumns} from till.events where position = $1 and created_at = $2::timestamptz`,
      [place.position, new Date(place.createdAtMs).toISOString()],
    );
    return row?.checksum === place.checksum ? row : undefined;
  }

  /** The beginning of the oldest week of events that are kept. */
  async oldestWeekMs(db: Queryable): Promise<number> {
    const [row] = await db.query<{ ms: number | null }>(
      `select extract(epoch from min(to_date(right(relname, 8), 'YYYYMMDD')))::bigint * 1000 as ms
       from pg_catalog.pg_class join pg_catalog.pg_inherits on inhrelid = pg_class.oid
       where inhparent = 'till.events'::regclass and relname ~ '^events_[0-9]{8}$'`,
    );
    return row?.ms ?? 0;
  }

  /** The newest event up to a position. */
  async newest(db: Queryable, upTo: number): Promise<EventPlace | undefined> {
    const [row] = await db.query<EventPlace>(
      `select position, ${millis} as "createdAtMs", ${checksum} as checksum from till.events
       where position <= $1 order by position desc limit 1`,
      [upTo],
    );
    return row;
  }

  /** Events in the order of the feed. */
  async read(db: Queryable, range: EventRange, selection: EventSelection): Promise<EventRows> {
    const { text, values, name } = eventStatement(range, selection);
    if (selection.types === undefined) {
      const rows = await db.query<StoredEvent>(text, values, name);
      return { rows, last: rows.at(-1), isComplete: rows.length < range.limit };
    }
    const found = await db.query<StoredEvent & Scanned>(text, values);
    const [scanned] = found;
    const rows = found.filter(({ position }) => position !== null);
    if (rows.length === range.limit) return { rows, last: rows.at(-1), isComplete: false };
    const last =
      scanned === undefined || scanned.lastPosition === null
        ? undefined
        : {
            position: scanned.lastPosition,
            createdAtMs: scanned.lastMs,
            checksum: scanned.lastChecksum,
          };
    return { rows, last, isComplete: (scanned?.scanned ?? 0) < scannedMax };
  }

  /** How many events there are in a range, up to its limit, and the last of them. Reads only an index. */
  async measure(db: Queryable, { after, upTo, limit }: EventRange): Promise<EventBatch> {
    const [row] = await db.query<EventBatch>(
      `select count(*) as size, coalesce(max(position), 0) as position, max(created_at) as "createdAt"
       from (select position, created_at from till.events where position > $1 and position <= $2
         order by position limit $3) as batch`,
      [after, upTo, limit],
    );
    return row ?? { size: 0, position: 0, createdAt: null };
  }

  /** The events of a range that are about some types of objects, in the order of the feed. */
  readChanges(
    db: Queryable,
    { after, upTo }: Omit<EventRange, 'limit'>,
    objectTypes: readonly string[],
  ): Promise<readonly EventChange[]> {
    return db.query(
      `select ${millis} as "createdAtMs", type, object_type as "objectType", data, previous
       from till.events where position > $1 and position <= $2 and object_type = any($3) order by position`,
      [after, upTo, objectTypes],
    );
  }
}

/** Some events in a row. */
interface EventBatch {
  readonly size: number;
  /** The position of the last event. */
  readonly position: number;
  /** The time of the newest event. Null if there is none. */
  readonly createdAt: Date | null;
}

type EventChange = Pick<StoredEvent, 'createdAtMs' | 'type' | 'objectType' | 'data' | 'previous'>;

/** What the statement reports about the events that it checked. */
type Scanned = { readonly scanned: number } & (
  | { readonly lastPosition: number; readonly lastMs: number; readonly lastChecksum: number }
  | { readonly lastPosition: null; readonly lastMs: null; readonly lastChecksum: null }
);

/**
 * The statement that reads events. It scans the index of the object, of the customer or of the whole feed, in the order
 * of positions. With types, it checks a limited number of events, and also returns how many it checked.
 */
export function eventStatement(
  { after, upTo, limit, isNewestFirst = false }: EventRange,
  { types, objectId, customerId }: EventSelection,
): Statement & { readonly name?: string } {
  const range = [after, upTo, limit];
  const parameters = new Parameters(range);
  const { add } = parameters;
  const conditions = [
    ...(objectId === undefined ? [] : [`object_id = ${add(objectId)}::uuid`]),
    ...(customerId === undefined ? [] : [`customer_id = ${add(customerId)}::uuid`]),
  ];
  // Readers that follow the feed ask this most often, so its plan is kept.
  if (types === undefined && conditions.length === 0 && !isNewestFirst)
    return {
      text: `select ${eventColumns} from till.events_after($1, $2, $3) as events order by position`,
      values: range,
      name: 'feed_page',
    };
  const [direction, opposite] = isNewestFirst ? ['desc', 'asc'] : ['asc', 'desc'];
  const selected = `from till.events
    where ${['position > $1', 'position <= $2', ...conditions].join(' and ')} order by position ${direction}`;
  if (types === undefined) return parameters.statement(`select ${eventColumns} ${selected} limit $3`);
  return parameters.statement(`
    with scanned as materialized (
      select position, created_at, type ${selected} limit ${scannedMax}
    ),
    last as (
      select position, ${millis} as ms, ${checksum} as checksum from scanned order by position ${opposite} limit 1
    ),
    found as (
      select position, created_at from scanned where type = any(${add([...types])}::text[])
      order by position ${direction} limit $3
    )
    select (select count(*) from scanned) as scanned, (select position from last) as "lastPosition",
      (select ms from last) as "lastMs", (select checksum from last) as "lastChecksum", event.*
    from (values (1)) as one
    left join (select ${eventColumns} from found join till.events using (position, created_at)) as event on true
    order by event.position ${direction}`);
}
