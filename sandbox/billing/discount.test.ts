import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DiscountTerms, discountAmounts, totalDiscounts } from './discount.ts';

const line = (amount: number, discountable = true, product: string | null = null) => ({
  amount,
  discountable,
  product,
});
const percent = (percentOff: number, id = 'di_p'): DiscountTerms => ({
  id,
  percentOff,
  amountOff: null,
  products: null,
});
const fixed = (amountOff: number, id = 'di_f'): DiscountTerms => ({
  id,
  percentOff: null,
  amountOff,
  products: null,
});
const amounts = (lines: ReturnType<typeof line>[], ...discounts: DiscountTerms[]) =>
  discountAmounts(lines, discounts).map((taken) => taken.map(({ amount }) => amount));

test('a percentage is taken off each line and rounded', () => {
  assert.deepEqual(amounts([line(1_500), line(999)], percent(25)), [[375], [250]]);
  assert.deepEqual(amounts([line(1_000)], percent(33.33)), [[333]]);
  assert.deepEqual(amounts([line(1_000)], percent(100)), [[1_000]]);
});

test('a fixed amount is split by the amounts of the lines, to the last cent', () => {
  assert.deepEqual(amounts([line(1_000), line(500)], fixed(500)), [[333], [167]]);
  assert.deepEqual(amounts([line(1), line(1), line(1)], fixed(2)), [[], [1], [1]]);
});

test('the amount that is taken off is a multiple of the unit', () => {
  const inTens = (lines: ReturnType<typeof line>[], terms: DiscountTerms) =>
    discountAmounts(lines, [terms], 10).map((taken) => taken.map(({ amount }) => amount));
  assert.deepEqual(inTens([line(1_010), line(990), line(-200)], percent(33)), [[330], [330], [-70]]);
  assert.deepEqual(inTens([line(1_000), line(500)], fixed(500)), [[330], [170]]);
});

test('a fixed amount never exceeds the lines', () => {
  assert.deepEqual(amounts([line(300)], fixed(500)), [[300]]);
  assert.deepEqual(amounts([line(0)], fixed(500)), [[]]);
  assert.deepEqual(amounts([line(-100), line(300)], fixed(500)), [[], [200]]);
  assert.deepEqual(amounts([line(-400), line(300)], fixed(500)), [[], []]);
});

test('lines that are not discountable keep their amount, and credits shrink by the percentage', () => {
  assert.deepEqual(amounts([line(1_000, false), line(1_000), line(-200)], percent(10)), [[], [100], [-20]]);
});

test('a discount for some products takes nothing off the lines of others', () => {
  const lines = [
    line(1_000, true, 'prod_a'),
    line(500, true, 'prod_b'),
    line(500, true, 'prod_c'),
    line(300),
  ];
  const forTwo = { products: ['prod_b', 'prod_c'] };
  assert.deepEqual(amounts(lines, { ...percent(10), ...forTwo }), [[], [50], [50], []]);
  assert.deepEqual(amounts(lines, { ...fixed(101), ...forTwo }), [[], [50], [51], []]);
  assert.deepEqual(amounts(lines, { ...fixed(5_000), ...forTwo }, percent(50)), [[500], [500], [500], [150]]);
  assert.deepEqual(amounts(lines, { ...percent(10), products: ['prod_d'] }), [[], [], [], []]);
});

test('each discount applies to the amount that remains after the one before it', () => {
  const discounts = [percent(50), fixed(700)];
  const taken = discountAmounts([line(1_000)], discounts);
  assert.deepEqual(taken, [
    [
      { amount: 500, discount: 'di_p' },
      { amount: 500, discount: 'di_f' },
    ],
  ]);
  assert.deepEqual(totalDiscounts(taken, discounts), [
    { amount: 500, discount: 'di_p' },
    { amount: 500, discount: 'di_f' },
  ]);
});

test('a discount that takes nothing off is listed with 0', () => {
  assert.deepEqual(totalDiscounts(discountAmounts([line(0)], [percent(10)]), [percent(10)]), [
    { amount: 0, discount: 'di_p' },
  ]);
});
