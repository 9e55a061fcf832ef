import assert from 'node:assert/strict';
import { test } from 'node:test';
import { intervalOf, lastDays, presets, todayIn } from './range.ts';

test('today is the day of the time zone', () => {
  const now = new Date('2026-03-01T23:30:00Z');
  assert.equal(todayIn('UTC', now), '2026-03-01');
  assert.equal(todayIn('Europe/Berlin', now), '2026-03-02');
  assert.equal(todayIn('America/New_York', now), '2026-03-01');
});

test('the last days end today', () => {
  assert.deepEqual(lastDays(1, '2026-03-01'), { from: '2026-03-01', to: '2026-03-01' });
  assert.deepEqual(lastDays(30, '2026-03-01'), { from: '2026-01-31', to: '2026-03-01' });
});

test('months and quarters are those of the calendar, and the current ones end today', () => {
  const shown = (today: string) =>
    Object.fromEntries(presets(today).map(({ label, from, to }) => [label, `${from} ${to}`]));
  const march = shown('2026-03-15');
  assert.equal(march['This month'], '2026-03-01 2026-03-15');
  assert.equal(march['Last month'], '2026-02-01 2026-02-28');
  assert.equal(march['This quarter'], '2026-01-01 2026-03-15');
  assert.equal(march['Last quarter'], '2025-10-01 2025-12-31');
  assert.equal(shown('2028-01-31')['Last month'], '2027-12-01 2027-12-31');
  assert.equal(shown('2028-05-31')['Last quarter'], '2028-01-01 2028-03-31');
});

test('without a chosen interval, a longer range has longer ones', () => {
  const range = (days: number) => lastDays(days, '2026-12-31');
  assert.deepEqual(
    [7, 31, 45, 46, 92, 315, 365].map((days) => intervalOf(undefined, range(days))),
    ['day', 'day', 'day', 'week', 'week', 'week', 'month'],
  );
  assert.equal(intervalOf('month', range(7)), 'month');
  assert.equal(intervalOf('year', range(7)), 'day');
});
