import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../test/support/seeds.ts';
import { addIntervals, type Interval, periodAt } from './calendar.ts';

const at = (text: string) => Date.parse(`${text}:00Z`) / 1_000;

test('months keep the anchor day where they can', () => {
  const anchor = at('2027-01-31T12:30');
  const days = [1, 2, 3, 4, 13].map((count) =>
    new Date(addIntervals(anchor, 'month', count) * 1_000).toISOString().slice(0, 16),
  );
  assert.deepEqual(days, [
    '2027-02-28T12:30',
    '2027-03-31T12:30',
    '2027-04-30T12:30',
    '2027-05-31T12:30',
    '2028-02-29T12:30',
  ]);
});

test('a year from a leap day is the 28th, and a leap day again after four', () => {
  const anchor = at('2028-02-29T00:00');
  assert.equal(addIntervals(anchor, 'year', 1), at('2029-02-28T00:00'));
  assert.equal(addIntervals(anchor, 'year', 4), at('2032-02-29T00:00'));
});

test('days and weeks have a fixed length', () => {
  assert.equal(addIntervals(100, 'day', 3), 100 + 3 * 86_400);
  assert.equal(addIntervals(100, 'week', 2), 100 + 14 * 86_400);
});

test('each period begins where the last one ended, aligned with the anchor', async () => {
  await assertProperty(
    fc.property(
      fc.integer({ min: 0, max: 4_000_000_000 }),
      fc.constantFrom<Interval>('day', 'week', 'month', 'year'),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 400 }),
      (anchor, interval, count, periods) => {
        const start = addIntervals(anchor, interval, periods * count);
        const end = addIntervals(anchor, interval, (periods + 1) * count);
        assert.deepEqual(periodAt(anchor, interval, count, start), { start, end });
        assert.deepEqual(periodAt(anchor, interval, count, end - 1), { start, end });
      },
    ),
  );
});
