import { Failure, invalidRequest } from '#core/errors.ts';
import type { Database } from '#core/platform/postgres.ts';
import { type FeedStart, parseEventId } from './event-id.ts';
import type { EventStore } from './event-store.ts';

/** Names the field that contains the id, and says how to start with the oldest event instead. */
interface Source {
  readonly field: string;
  readonly toStart: 'leave it out' | 'send null';
}

/**
 * The position of the event with this id. Throws if Till did not create the id, or if the event is no longer kept. An
 * event that was lost in a failover or a restore still has its position: no other event gets it.
 */
export async function locateEvent(
  database: Database,
  store: Pick<EventStore, 'findPlace' | 'oldestWeekMs'>,
  id: string,
  { field, toStart }: Source,
): Promise<FeedStart> {
  const place = parseEventId(id);
  if (place === undefined) throw unknownId(field, toStart);
  const { position, createdAtMs } = place;
  const found = await store.findPlace(database, place);
  if (found === undefined) throw unknownId(field, toStart);
  const isKept = found.exists || createdAtMs >= (await store.oldestWeekMs(database));
  const { history, horizon } = found;
  if (isKept) return { position, history, end: { position: horizon, history } };
  throw new Failure(
    'event_expired',
    `The event of ${field} is older than the events that are kept, so you may have missed some. ` +
      `Read the objects again, and ${toStart} to start with the oldest event.`,
  );
}

function unknownId(path: string, toStart: Source['toStart']): Failure {
  return invalidRequest(
    path,
    'is not the id of an event',
    `. Send the id of an event or nextCursor unchanged, or ${toStart} to start with the oldest event.`,
  );
}
