import { randomUUID } from 'node:crypto';
import { eventId } from '../../src/events/event-id.ts';
import type { Sql } from './backend.ts';

interface TestEvent {
  readonly type?: string;
  readonly objectId?: string;
  readonly customerId?: string | null;
  readonly data?: object;
}

const cause = { kind: 'api', keyName: null, requestId: null, processorEventId: null };

/** Writes events as the transactions of Till do, all in one transaction. Returns their ids, in order. */
export async function appendEvents(sql: Sql, events: readonly TestEvent[]): Promise<readonly string[]> {
  const rows = events.map(
    ({ type = 'plan.updated', objectId = randomUUID(), customerId = null, data = {} }) => ({
      ...{ type, objectType: type.split('.')[0], objectId, customerId },
      ...{ data: { id: objectId, ...data }, previous: {}, cause, changesAt: null },
    }),
  );
  // A transaction of Till writes one event of an object. Here, an object may have several.
  await sql('select till.append_events(json_build_array(value)) from json_array_elements($1::json)', [
    JSON.stringify(rows),
  ]);
  const stored = await sql<{ position: number; created_at: Date }>(
    'select position, created_at from till.events order by position desc limit $1',
    [rows.length],
  );
  return stored
    .toReversed()
    .map(({ position, created_at }) => eventId({ position, createdAtMs: created_at.getTime() }));
}
