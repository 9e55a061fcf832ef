import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { NewEvent } from '#engine/events/event.ts';
import { eventId } from '#engine/events/feed/event-id.ts';
import type { Sql } from './backend.ts';
import { appendEvents, newEvent } from './event-feed.ts';

interface TestEvent {
  readonly type?: string;
  readonly objectId?: string;
  readonly customerId?: string | null;
  readonly data?: object;
}

const cause = { kind: 'api', keyName: null, person: null, requestId: null, processorEventId: null } as const;

/**
 * Appends events, all in one transaction, and returns their ids, in order. No other process may append at the same
 * time.
 */
export async function appendForIds(sql: Sql, events: readonly TestEvent[]): Promise<readonly string[]> {
  await appendEvents(sql, ...events.map(eventOf));
  const stored = await sql<{ position: number; created_at: Date }>(
    'select position, created_at from till.events order by position desc limit $1',
    [events.length],
  );
  const places = stored.toReversed();
  return Promise.all(
    places.map(({ position, created_at }) => idOfPlace(sql, position, created_at.getTime())),
  );
}

/** The id that an event at this place has, or would have. */
export async function idOfPlace(sql: Sql, position: number, createdAtMs: number): Promise<string> {
  const [row] = await sql<{ checksum: number }>(
    'select till.event_checksum(seed, $1, $2) as checksum from till.event_seed',
    [position, createdAtMs],
  );
  assert.ok(row !== undefined);
  return eventId({ position, createdAtMs, ...row });
}

function eventOf({
  type = 'plan.updated',
  objectId = randomUUID(),
  customerId = null,
  data,
}: TestEvent): NewEvent {
  const [objectType = ''] = type.split('.');
  return newEvent({
    ...{ type, objectType, objectId, customerId, cause },
    data: { id: objectId, ...data },
  });
}
