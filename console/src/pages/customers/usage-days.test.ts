import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastDays } from './usage-days.ts';

test('days without usage are 0, and the last day is today in UTC', () => {
  const totals = [
    { date: '2026-11-15', quantity: 5 },
    { date: '2026-11-17', quantity: 2 },
    { date: '2026-01-01', quantity: 9 },
  ];
  const days = lastDays(totals, new Date('2026-11-17T23:59:59Z'));
  assert.equal(days.length, 30);
  assert.deepEqual(days.slice(-3), [
    { date: '2026-11-15', quantity: 5 },
    { date: '2026-11-16', quantity: 0 },
    { date: '2026-11-17', quantity: 2 },
  ]);
  assert.equal(days[0]?.date, '2026-10-19');
});

test('the days end with the last one that has usage, if the clock of the sandbox is ahead', () => {
  const days = lastDays([{ date: '2026-12-20', quantity: 5 }], new Date('2026-11-17T23:59:59Z'));
  assert.deepEqual([days[0]?.date, days.at(-1)], ['2026-11-21', { date: '2026-12-20', quantity: 5 }]);
});
