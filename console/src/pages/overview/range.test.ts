import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastDays } from '../../format/periods.ts';
import { intervalOf, presets } from './range.ts';

test('a month, a quarter or a year that has not ended ends today', () => {
  const shown = (today: string) =>
    Object.fromEntries(presets(today).map(({ label, from, to }) => [label, `${from} ${to}`]));
  const march = shown('2026-03-15');
  assert.equal(march['This month'], '2026-03-01 2026-03-15');
  assert.equal(march['Last month'], '2026-02-01 2026-02-28');
  assert.equal(march['This quarter'], '2026-01-01 2026-03-15');
  assert.equal(march['This year'], '2026-01-01 2026-03-15');
  assert.equal(march['Last year'], '2025-01-01 2025-12-31');
  assert.equal(shown('2026-03-31')['This month'], '2026-03-01 2026-03-31');
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
