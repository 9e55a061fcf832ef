import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayOf, isDay } from './day.ts';

test('only days of the calendar are days', () => {
  for (const day of ['2024-02-29', '0001-01-01', '9999-12-31', '2026-11-15']) assert.ok(isDay(day), day);
  for (const text of [
    '2023-02-29',
    '2024-02-30',
    '2024-13-01',
    '0000-01-01',
    '2024-1-1',
    '20240101',
    '',
    'infinity',
  ])
    assert.ok(!isDay(text), text);
});

test('the day of a time is that of UTC', () => {
  assert.equal(dayOf(Date.parse('2026-11-15T23:30:00-01:00')), '2026-11-16');
});
