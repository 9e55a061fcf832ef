import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastDays, periods } from './periods.ts';

const shown = (today: string) =>
  Object.fromEntries(periods(today).map(({ label, from, to }) => [label, `${from} ${to}`]));

test('the last days end today', () => {
  assert.deepEqual(lastDays(1, '2026-03-01'), { from: '2026-03-01', to: '2026-03-01' });
  assert.deepEqual(lastDays(30, '2026-03-01'), { from: '2026-01-31', to: '2026-03-01' });
});

test('months, quarters and years are those of the calendar, with all of their days', () => {
  assert.deepEqual(shown('2026-03-15'), {
    'This month': '2026-03-01 2026-03-31',
    'Last month': '2026-02-01 2026-02-28',
    'This quarter': '2026-01-01 2026-03-31',
    'Last quarter': '2025-10-01 2025-12-31',
    'This year': '2026-01-01 2026-12-31',
    'Last year': '2025-01-01 2025-12-31',
  });
});

test('the first and the last day of a year belong to it', () => {
  assert.equal(shown('2028-01-31')['Last month'], '2027-12-01 2027-12-31');
  assert.equal(shown('2028-03-01')['Last month'], '2028-02-01 2028-02-29');
  assert.equal(shown('2028-05-31')['Last quarter'], '2028-01-01 2028-03-31');
  assert.equal(shown('2027-12-31')['This year'], '2027-01-01 2027-12-31');
  assert.equal(shown('2028-01-01')['Last year'], '2027-01-01 2027-12-31');
});
