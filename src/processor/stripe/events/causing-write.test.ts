import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEventContent } from './map-event.ts';

const event = {
  ...{ id: 'evt_1', object: 'event', type: 'unknown.type', created: 1_767_225_600 },
  data: { object: { id: 'cus_1', object: 'customer' } },
};
const writeOf = (request: unknown) => readEventContent(JSON.stringify({ ...event, request })).write;

test('an event names the call that caused it, and its object', () => {
  assert.deepEqual(writeOf({ id: 'req_1', idempotency_key: 'key' }), {
    idempotencyKey: 'key',
    objectId: 'cus_1',
  });
  for (const request of [{ id: 'req_1', idempotency_key: null }, { id: 'req_1' }])
    assert.deepEqual(writeOf(request), { idempotencyKey: null, objectId: 'cus_1' });
});

test('an event without a call, or with an unreadable one, names none', () => {
  for (const request of [undefined, null, { id: null, idempotency_key: null }, {}, 'req_1', { id: 7 }])
    assert.equal(writeOf(request), null);
});
