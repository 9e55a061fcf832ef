import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { turnsOf } from '#features/subscriptions/subscription-overview.ts';
import { assertProperty } from '../../../test/support/seeds.ts';
import { type Cell, CellSum, now } from './cells.ts';
import type { Growth } from './growth-schema.ts';
import { growthOf } from './overview-growth.ts';
import { type DayRange, periodsOf, rangeBefore } from './overview-range.ts';
import { SubscriberMoves } from './subscription-moves.ts';

const growth = (
  cells: readonly Cell[],
  range: DayRange,
  known = { since: '2026-01-01', today: '2026-12-31' },
) =>
  growthOf(
    Map.groupBy(cells, ({ day }) => day),
    { range, interval: 'month', ...known },
  );

/** The cells after some changes of subscribers, each with its day. */
function cellsOf(changes: readonly { day: string; customer: number; to: number }[]): readonly Cell[] {
  const sum = new CellSum();
  const moves = new SubscriberMoves([]);
  const amounts = new Map<number, bigint>();
  for (const { day, customer, to } of changes) {
    const difference = BigInt(to) - (amounts.get(customer) ?? 0n);
    amounts.set(customer, BigInt(to));
    if (difference === 0n) continue;
    const { total, move } = moves.make(
      { customerId: `${customer}`, currency: 'eur', difference },
      { now, day },
    );
    sum.addAll([total, move]);
  }
  return sum.all();
}

const bridgeOf = ({ mrr }: Growth) => {
  const { start, new: fresh, expansion, contraction, churned, reactivated, end } = mrr ?? assert.fail();
  return [start, fresh, expansion, contraction, churned, reactivated, end];
};

test('a customer is new once, then expands, contracts, churns, and is reactivated', () => {
  const cells = cellsOf([
    { day: '2026-10-30', customer: 1, to: 500 },
    { day: '2026-11-01', customer: 1, to: 700 },
    { day: '2026-11-02', customer: 1, to: 600 },
    { day: '2026-11-02', customer: 2, to: 50 },
    { day: '2026-11-03', customer: 1, to: 0 },
    { day: '2026-11-04', customer: 1, to: 900 },
    { day: '2026-12-01', customer: 2, to: 0 },
  ]);
  const november = growth(cells, { from: '2026-11-01', to: '2026-11-30' });
  assert.deepEqual(bridgeOf(november), [500, 50, 200, 100, 600, 900, 950]);
  assert.deepEqual(november.subscribers, { start: 1, gained: 2, lost: 1, end: 2, churnRate: 1 });
  assert.deepEqual(bridgeOf(growth(cells, { from: '2026-10-01', to: '2026-10-31' })), [
    ...[0, 500, 0, 0, 0, 0, 500],
  ]);
  const year = growth(cells, { from: '2026-10-01', to: '2026-12-31' });
  assert.deepEqual(
    year.mrr?.series.map(({ from, to, start, end }) => [from, to, start, end]),
    [
      ['2026-10-01', '2026-10-31', 0, 500],
      ['2026-11-01', '2026-11-30', 500, 950],
      ['2026-12-01', '2026-12-31', 950, 900],
    ],
  );
});

test('the bridge begins with the first known day, and ends today', () => {
  const cells = cellsOf([
    { day: '2026-11-05', customer: 1, to: 500 },
    { day: '2026-11-06', customer: 2, to: 500 },
  ]);
  const known = { since: '2026-11-06', today: '2026-11-10' };
  const shown = growth(cells, { from: '2026-10-01', to: '2026-12-31' }, known);
  assert.deepEqual(bridgeOf(shown), [500, 500, 0, 0, 0, 0, 1_000]);
  assert.deepEqual(
    shown.mrr?.series.map(({ from, to }) => [from, to]),
    [['2026-11-06', '2026-11-10']],
  );
  for (const range of [
    { from: '2026-10-01', to: '2026-11-05' },
    { from: '2026-11-11', to: '2026-11-12' },
  ]) {
    const { netVolume, ...rest } = growth(cells, range, known);
    assert.deepEqual(rest, { mrr: null, subscribers: null, trials: null, recovery: null });
    assert.deepEqual(netVolume, { gross: 0, refunded: 0, disputed: 0, net: 0 });
  }
});

test('the parts always add up, in every series, and one range follows from the one before it', async () => {
  const days = fc.integer({ min: 1, max: 28 }).map((day) => `2026-02-${String(day).padStart(2, '0')}`);
  const change = fc.record({
    day: days,
    customer: fc.integer({ min: 1, max: 4 }),
    to: fc.constantFrom<number>(0, 0, 100, 250, 999),
  });
  await assertProperty(
    fc.property(
      fc.array(change, { maxLength: 40 }),
      days,
      days,
      fc.constantFrom('day', 'week', 'month'),
      (some, a, b, interval) => {
        const changes = some.toSorted((one, other) => (one.day < other.day ? -1 : 1));
        const cells = cellsOf(changes);
        const range = a < b ? { from: a, to: b } : { from: b, to: a };
        const at = (day: string) => {
          const last = new Map(
            changes.filter((one) => one.day <= day).map(({ customer, to }) => [customer, to]),
          );
          return [...last.values()];
        };
        const byDay = Map.groupBy(cells, ({ day }) => day);
        const shown = growthOf(byDay, { range, interval, since: '2026-01-01', today: '2026-03-01' });
        const mrr = shown.mrr ?? assert.fail();
        const bridges = [mrr, ...mrr.series];
        for (const { start, new: fresh, expansion, contraction, churned, reactivated, end } of bridges)
          assert.equal(start + fresh + expansion + reactivated - contraction - churned, end);
        const standing = at(range.to);
        assert.equal(
          mrr.end,
          standing.reduce((sum, amount) => sum + amount, 0),
        );
        assert.equal(shown.subscribers?.end, standing.filter((amount) => amount > 0).length);
        const ends = [mrr.start, ...mrr.series.map(({ end }) => end)];
        assert.deepEqual(
          ends.slice(0, -1),
          mrr.series.map(({ start }) => start),
        );
        assert.equal(ends.at(-1), mrr.end);
        const before = rangeBefore(range) ?? assert.fail();
        const previous = growthOf(byDay, {
          range: before,
          interval,
          since: '2026-01-01',
          today: '2026-03-01',
        });
        assert.deepEqual(
          [previous.mrr?.end, previous.subscribers?.end],
          [mrr.start, shown.subscribers?.start],
        );
      },
    ),
  );
});

test('weeks begin on Monday, and the range cuts the first and the last off', () => {
  const range = { from: '2026-02-27', to: '2026-03-10' };
  const shown = (interval: 'week' | 'month') =>
    periodsOf(range, interval).map(({ from, to }) => `${from} ${to}`);
  assert.deepEqual(shown('week'), [
    '2026-02-27 2026-03-01',
    '2026-03-02 2026-03-08',
    '2026-03-09 2026-03-10',
  ]);
  assert.deepEqual(shown('month'), ['2026-02-27 2026-02-28', '2026-03-01 2026-03-10']);
  assert.deepEqual(
    periodsOf({ from: '2026-12-28', to: '2027-01-04' }, 'week').map(({ to }) => to),
    ['2027-01-03', '2027-01-04'],
  );
});

test('the range before has the same length', () => {
  assert.deepEqual(rangeBefore({ from: '2026-03-01', to: '2026-03-31' }), {
    from: '2026-01-29',
    to: '2026-02-28',
  });
  assert.deepEqual(rangeBefore({ from: '2026-03-01', to: '2026-03-01' }), {
    from: '2026-02-28',
    to: '2026-02-28',
  });
  assert.equal(rangeBefore({ from: '0001-01-05', to: '0001-01-09' }), undefined);
});

test('a change of status starts or ends a trial or a failed renewal', () => {
  const turns = [
    [null, 'trialing', 'trials.started'],
    ['incomplete', 'trialing', 'trials.started'],
    ['trialing', 'active', 'trials.converted'],
    ['trialing', 'past_due', 'trials.converted recovery.failed'],
    ['trialing', 'canceled', 'trials.expired'],
    ['trialing', 'unpaid', 'trials.expired'],
    ['active', 'past_due', 'recovery.failed'],
    ['past_due', 'active', 'recovery.recovered'],
    ['past_due', 'trialing', 'trials.started recovery.recovered'],
    ['past_due', 'unpaid', 'recovery.lost'],
    ['past_due', 'canceled', 'recovery.lost'],
    ['past_due', 'past_due', ''],
    [null, 'active', ''],
    ['active', 'canceled', ''],
  ] as const;
  for (const [before, after, expected] of turns)
    assert.equal(turnsOf(before, after).join(' '), expected, `${before} → ${after}`);
});
