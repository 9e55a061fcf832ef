import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createdIn, lastDays } from './range.ts';

test('the last days end today, in UTC', () => {
  const now = new Date('2026-03-01T23:59:59Z');
  assert.deepEqual(lastDays(1, now), { from: '2026-03-01', to: '2026-03-01' });
  assert.deepEqual(lastDays(30, now), { from: '2026-01-31', to: '2026-03-01' });
});

test('rows of a range were created before the day after its last one', () => {
  assert.deepEqual(createdIn({ from: '2026-02-01', to: '2026-02-28' }), {
    createdAfter: '2026-02-01T00:00:00.000Z',
    createdBefore: '2026-03-01T00:00:00.000Z',
  });
});
