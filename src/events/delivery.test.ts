import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, idOfEvent, responseText, retryDelayAfter } from './delivery.ts';

test('the body is the event as the feed shows it', () => {
  const event = {
    position: 7,
    createdAt: new Date('2026-11-15T09:30:00.123Z'),
    type: 'plan.updated',
    objectType: 'plan',
    objectId: '0199c1f2-3c4d-7a5b-8e6f-1a2b3c4d5e6f',
    customerId: null,
    data: '{"name":"Gold"}',
    previous: '{}',
    cause: '{"kind":"api"}',
  };
  assert.deepEqual(JSON.parse(bodyOf(event)), {
    ...{ id: idOfEvent(event), type: event.type, createdAt: '2026-11-15T09:30:00.123Z' },
    ...{ objectType: 'plan', objectId: event.objectId, customerId: null },
    ...{ data: { name: 'Gold' }, previous: {}, cause: { kind: 'api' } },
  });
});

test('the delay doubles from 5 s up to 4 h, and jitter takes off up to half of it', () => {
  assert.deepEqual(
    [1, 2, 3, 12, 13, 100].map((attempt) => retryDelayAfter(attempt, 1)),
    [5_000, 10_000, 20_000, 10_240_000, 14_400_000, 14_400_000],
  );
  assert.equal(retryDelayAfter(1, 0), 2_500);
});

test('of a response the first kilobyte is kept, as text that PostgreSQL accepts', () => {
  assert.equal(responseText(Buffer.from('')), null);
  assert.equal(responseText(Buffer.from('a\0b')), 'a\ufffdb');
  assert.equal(responseText(Buffer.from([0xff, 0xfe, 0x41])), '\ufffd\ufffdA');
  assert.equal(responseText(Buffer.from('x'.repeat(2_000))), 'x'.repeat(1_024));
  assert.equal(responseText(Buffer.from(`${'x'.repeat(1_022)}漢`)), 'x'.repeat(1_022));
});
