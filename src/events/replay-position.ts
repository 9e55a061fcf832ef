import { Failure } from '../errors.ts';
import type { Database } from '../platform/postgres.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { parseEventId } from './event-id.ts';

interface Parts {
  readonly database: Database;
  readonly store: Pick<DeliveryStore, 'hasEvent' | 'oldestWeekMs'>;
}

/** The position of the event after which a replay begins. Fails if there is no such event. */
export async function replayPosition({ database, store }: Parts, eventId: string): Promise<number> {
  const place = parseEventId(eventId);
  if (place !== undefined && (await store.hasEvent(database, place))) return place.position;
  if (place !== undefined && place.createdAtMs < (await store.oldestWeekMs(database)))
    throw new Failure(
      'event_expired',
      'The event of body.after is older than the events that are kept. Send null to replay all that are kept.',
    );
  const [path, message] = ['body.after', 'is not the id of an event'];
  throw new Failure('invalid_request', `${path} ${message}`, { errors: [{ path, message }] });
}
