import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventId } from './event-id.ts';
import { bodyOf, type StoredEvent } from './stored-event.ts';

test('the body is the event as the API shows it', () => {
  const event: StoredEvent = {
    position: 7,
    createdAtMs: Date.UTC(2026, 10, 15, 9, 30, 0, 123),
    checksum: 8,
    type: 'plan.updated',
    objectType: 'plan',
    objectId: '0199c1f2-3c4d-7a5b-8e6f-1a2b3c4d5e6f',
    customerId: null,
    data: '{"name":"Gold"}',
    previous: '{}',
    cause: '{"kind":"api"}',
    traceparent: null,
  };
  assert.deepEqual(JSON.parse(bodyOf(event)), {
    ...{ id: eventId(event), type: event.type, createdAt: '2026-11-15T09:30:00.123Z' },
    ...{ objectType: 'plan', objectId: event.objectId, customerId: null },
    ...{ data: { name: 'Gold' }, previous: {}, cause: { kind: 'api' } },
  });
});
