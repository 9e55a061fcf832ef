import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../test/support/seeds.ts';
import { addIntervals } from './calendar.ts';
import { creditsFor, type ProratedItem, proratedAmount, prorationsBetween } from './proration.ts';

const at = (text: string) => Date.parse(`${text}Z`) / 1_000;
const month = (start: string) => ({
  start: at(`${start}T00:00:00`),
  end: addIntervals(at(`${start}T00:00:00`), 'month', 1),
});
const item = (unitAmount: number, quantity = 1, price = `price_${unitAmount}`) => ({
  id: 'si_1',
  price,
  quantity,
  amount: unitAmount * quantity,
});
type Period = ProratedItem['period'];
const amounts = (
  before: Omit<ProratedItem, 'period'>,
  after: Omit<ProratedItem, 'period'>,
  period: Period,
  when: number,
) => prorationsBetween([{ ...before, period }], [{ ...after, period }], when).map(({ amount }) => amount);

test('an upgrade from 10 to 20 USD halfway costs 5 USD, as in the documentation', () => {
  const period = month('2026-04-01');
  assert.deepEqual(amounts(item(1_000), item(2_000), period, at('2026-04-16T00:00:00')), [-500, 1_000]);
});

test('a downgrade from 100 to 10 USD halfway credits 45 USD, as in the documentation', () => {
  const period = month('2026-04-01');
  assert.deepEqual(amounts(item(10_000), item(1_000), period, at('2026-04-16T00:00:00')), [-5_000, 500]);
});

test('a third of a month is 6.67 USD of 20 and 3.33 USD of 10, as in the documentation', () => {
  const period = month('2026-04-01');
  assert.deepEqual(amounts(item(2_000), item(1_000), period, at('2026-04-21T00:00:00')), [-667, 333]);
});

test("the documentation's preview of Silver to Gold is prorated to the second", () => {
  const period = { start: 1_596_749_288, end: 1_599_427_688 };
  const prorations = prorationsBetween(
    [{ ...item(1_000), period }],
    [{ ...item(3_252), period }],
    1_598_982_148,
  );
  assert.deepEqual(
    prorations.map(({ kind, amount, period: rest }) => [kind, amount, rest]),
    [
      ['credit', -166, { start: 1_598_982_148, end: 1_599_427_688 }],
      ['debit', 541, { start: 1_598_982_148, end: 1_599_427_688 }],
    ],
  );
});

test('each month has its own number of days: 17 of the 31 days from 15 January, 14 of the 28 from 15 February', () => {
  assert.equal(proratedAmount(31_000, month('2027-01-15'), at('2027-01-29T00:00:00')), 17_000);
  assert.equal(proratedAmount(28_000, month('2027-02-15'), at('2027-03-01T00:00:00')), 14_000);
  // In a leap year the same month is a day longer.
  assert.equal(proratedAmount(29_000, month('2028-02-15'), at('2028-03-01T00:00:00')), 14_000);
});

test('a period from the last day of January ends with February', () => {
  const period = month('2027-01-31');
  assert.equal(period.end, at('2027-02-28T00:00:00'));
  assert.equal(proratedAmount(2_800, period, at('2027-02-14T00:00:00')), 1_400);
});

test('a leap year has 366 days', () => {
  const year = { start: at('2028-01-01T00:00:00'), end: at('2029-01-01T00:00:00') };
  assert.equal(proratedAmount(36_600, year, at('2028-03-01T00:00:00')), 30_600);
});

test('the amount of all units is rounded once', () => {
  const period = month('2026-04-01');
  const when = at('2026-04-21T00:00:00');
  assert.deepEqual(amounts(item(100, 2), item(100, 4), period, when), [-67, 133]);
  assert.deepEqual(amounts(item(100, 55), item(100, 54), period, when), [-1_833, 1_800]);
});

test('halves are rounded away from zero, for credits and charges alike', () => {
  const period = month('2026-04-01');
  assert.deepEqual(amounts(item(5), item(7), period, at('2026-04-16T00:00:00')), [-3, 4]);
});

test('amounts in yen have no smaller unit, and are prorated as they are', () => {
  const period = month('2026-09-01');
  assert.deepEqual(amounts(item(980), item(1_980), period, at('2026-09-11T00:00:00')), [-653, 1_320]);
});

test('amounts are rounded to a multiple of the unit, halves away from zero', () => {
  const period = { start: 0, end: 8 };
  assert.deepEqual(
    [1, 3, 4, 7].map((when) => proratedAmount(1_000, period, when, 10)),
    [880, 630, 500, 130],
  );
  assert.deepEqual(
    prorationsBetween([{ ...item(1_010), period }], [{ ...item(2_030), period }], 1, 10).map(
      ({ amount }) => amount,
    ),
    [-880, 1_780],
  );
});

test('nothing is prorated at the end of a period, everything at its start, and a free item costs nothing', () => {
  const period = month('2026-04-01');
  assert.deepEqual(amounts(item(1_000), item(2_000), period, period.end), [0, 0]);
  assert.deepEqual(amounts(item(1_000), item(2_000), period, period.start), [-1_000, 2_000]);
  assert.deepEqual(amounts(item(0), item(2_000), period, period.start), [0, 2_000]);
  assert.equal(proratedAmount(1_000, { start: 5, end: 5 }, 5), 0);
});

test('only changed items are prorated; an added item is charged, and a removed one credited', () => {
  const period = month('2026-04-01');
  const when = at('2026-04-16T00:00:00');
  const kept = { ...item(1_000), period };
  const other = { ...item(400), id: 'si_2', period };
  const added = { ...item(600), id: 'si_3', period };
  const lines = prorationsBetween([kept, other], [kept, added], when);
  assert.deepEqual(
    lines.map(({ kind, item: { id }, amount }) => [kind, id, amount]),
    [
      ['credit', 'si_2', -200],
      ['debit', 'si_3', 300],
    ],
  );
  assert.deepEqual(
    creditsFor([kept, other], when).map(({ amount }) => amount),
    [-500, -200],
  );
});

test('each item is prorated in its own period, and credited only since it was added', () => {
  const [april, year] = [
    month('2026-04-01'),
    { start: at('2026-01-01T00:00:00'), end: at('2027-01-01T00:00:00') },
  ];
  const when = at('2026-04-16T00:00:00');
  const monthly = { ...item(3_000), period: april };
  const yearly = { ...item(36_500), id: 'si_2', period: year };
  const late = { ...item(3_000), id: 'si_3', period: april, since: at('2026-04-21T00:00:00') };
  assert.deepEqual(
    prorationsBetween([monthly, late], [yearly], when).map(({ amount, period }) => [amount, period.start]),
    [
      [-1_500, when],
      [-1_000, late.since],
      [26_000, when],
    ],
  );
});

test('a price of the same amount is still a change', () => {
  const period = month('2026-04-01');
  const when = at('2026-04-16T00:00:00');
  assert.deepEqual(amounts(item(1_000), item(1_000, 1, 'price_other'), period, when), [-500, 500]);
});

test('the largest amounts are exact, and the used and the remaining part add up to the whole', async () => {
  await assertProperty(
    fc.property(
      fc.integer({ min: 0, max: 99_999_999 }),
      fc.integer({ min: 0, max: 1_000_000 }),
      fc.integer({ min: 1, max: 3 * 366 * 86_400 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (unit, quantity, length, share) => {
        const period = { start: 1_800_000_000, end: 1_800_000_000 + length };
        const passed = Math.floor(length * share);
        const amount = unit * quantity;
        const rest = proratedAmount(amount, period, period.start + passed);
        const used = proratedAmount(amount, period, period.end - passed);
        assert.ok(Number.isSafeInteger(rest) && rest >= 0 && rest <= amount);
        // Both halves of a unit are rounded up, so the two parts can exceed the whole by one.
        assert.ok(rest + used - amount === 0 || rest + used - amount === 1, `${rest} + ${used} of ${amount}`);
      },
    ),
  );
});
