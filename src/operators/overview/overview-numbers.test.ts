import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '#core/errors.ts';
import { monthlyAmount } from '#core/model/monthly-amount.ts';
import type { Cell } from './cells.ts';
import { numbersOf } from './overview-numbers.ts';
import { daysOf, rangeOf } from './overview-range.ts';
import type { Activity } from './overview-schema.ts';

const sumOf = (interval: 'day' | 'week' | 'month' | 'year', intervalCount: number, amount: number) => ({
  ...{ interval, intervalCount },
  amount: BigInt(amount),
});

test('the amount of a month is a twelfth of that of a year', () => {
  assert.equal(monthlyAmount([]), 0n);
  assert.equal(monthlyAmount([sumOf('month', 1, 999)]), 999n);
  assert.equal(monthlyAmount([sumOf('month', 3, 999)]), 333n);
  assert.equal(monthlyAmount([sumOf('year', 1, 12_000)]), 1_000n);
  assert.equal(monthlyAmount([sumOf('year', 2, 12_000)]), 500n);
  assert.equal(monthlyAmount([sumOf('week', 1, 300)]), 1_300n);
  assert.equal(monthlyAmount([sumOf('day', 1, 12)]), 365n);
  assert.equal(monthlyAmount([sumOf('day', 365, 1_200)]), 100n);
});

test('it is rounded once, half up, after everything was added exactly', () => {
  assert.equal(monthlyAmount([sumOf('year', 1, 6)]), 1n);
  assert.equal(monthlyAmount([sumOf('year', 1, 5)]), 0n);
  const thirds = [sumOf('month', 3, 1), sumOf('month', 7, 1), sumOf('year', 1, 2), sumOf('week', 52, 4)];
  // 1/3 + 1/7 + 1/6 + 1/3 of a unit: each alone is nothing.
  assert.equal(monthlyAmount(thirds), 1n);
  const large = 10n ** 18n + 1n;
  assert.equal(monthlyAmount([{ interval: 'year', intervalCount: 1, amount: 12n * large }]), large);
});

test('the value of a day is the current value minus all later changes', () => {
  const cell = (day: string, metric: string, count: number, amount = 0n): Cell => ({
    ...{ day, currency: 'eur', metric, count, amount },
  });
  const cells = [
    cell('infinity', 'subscriptions.active', 5),
    cell('later', 'subscriptions.active', -1),
    cell('2026-11-03', 'subscriptions.active', 2),
    cell('2026-11-02', 'subscriptions.active', 1),
    cell('infinity', 'recurring.active.month.1', 5, 500n),
    cell('later', 'recurring.active.month.1', -1, -100n),
    cell('2026-11-03', 'recurring.active.month.1', 2, 200n),
    cell('2026-11-02', 'payments', 2, 700n),
    cell('2026-11-03', 'payments', 0, -100n),
  ];
  const [numbers] = numbersOf(cells, {
    range: { from: '2026-11-01', to: '2026-11-03' },
    currency: undefined,
    ...{ previous: undefined, interval: 'day' },
    since: '2026-11-02',
    today: '2026-11-09',
  });
  assert.deepEqual(
    numbers?.days.map(({ date, subscriptions, ...activity }) => [
      date,
      (activity as Activity)['volume'],
      subscriptions?.active,
      subscriptions?.monthlyRecurringRevenue.total,
    ]),
    [
      ['2026-11-01', 0, undefined, undefined],
      ['2026-11-02', 700, 4, 400],
      ['2026-11-03', -100, 6, 600],
    ],
  );
  assert.deepEqual([numbers?.totals['volume'], numbers?.totals['payments']], [600, 2]);
  assert.deepEqual([numbers?.subscriptions.active], [5]);
});

test('a currency whose numbers are all zero is left out, unless it was asked for', () => {
  const cells = [{ day: '2026-11-01', currency: 'eur', metric: 'payments', count: 0, amount: 0n }];
  const request = {
    range: { from: '2026-11-01', to: '2026-11-01' },
    ...{ previous: undefined, interval: 'day' as const },
    since: '2026-11-01',
    today: '2026-11-01',
  };
  assert.deepEqual(numbersOf(cells, { ...request, currency: undefined }), []);
  assert.deepEqual(
    numbersOf(cells, { ...request, currency: 'usd' }).map(({ currency }) => currency),
    ['usd'],
  );
});

test('a range is complete, in order, and at most 366 days long', () => {
  const today = '2024-03-01';
  assert.deepEqual(rangeOf({}, today), { from: '2024-02-01', to: '2024-03-01' });
  assert.deepEqual(rangeOf({ to: '2024-01-30' }, today), { from: '2024-01-01', to: '2024-01-30' });
  assert.deepEqual(rangeOf({ from: '2024-02-28' }, today), { from: '2024-02-28', to: '2024-03-01' });
  assert.deepEqual(daysOf({ from: '2024-02-28', to: '2024-03-01' }), [
    '2024-02-28',
    '2024-02-29',
    '2024-03-01',
  ]);
  assert.equal(daysOf(rangeOf({ from: '2024-01-01', to: '2024-12-31' }, today)).length, 366);
  for (const wrong of [{ from: '2024-03-02' }, { from: '2023-01-01' }])
    assert.throws(() => rangeOf(wrong, today), Failure);
});
