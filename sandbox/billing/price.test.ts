import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Price, PriceTiers } from '../wire/objects.ts';
import { priceAmount } from './price.ts';

const perUnit = {
  billing_scheme: 'per_unit',
  recurring: null,
  tiers_mode: null,
  transform_quantity: null,
} as const;
const tier = (up_to: number | null, unit_amount: number | null, flat_amount: number | null = null) => ({
  up_to,
  unit_amount,
  unit_amount_decimal: unit_amount === null ? null : String(unit_amount),
  flat_amount,
  flat_amount_decimal: flat_amount === null ? null : String(flat_amount),
});
/** The amounts of these quantities. */
const amounts = (mode: 'volume' | 'graduated', tiers: PriceTiers['tiers'], ...quantities: number[]) =>
  quantities.map((quantity) =>
    priceAmount(
      { ...perUnit, billing_scheme: 'tiered', tiers_mode: mode, unit_amount_decimal: null },
      tiers,
      quantity,
    ),
  );

test('volume: all units have the price of the tier of the quantity', () => {
  const tiers = [tier(5, 700), tier(10, 650), tier(null, 600)];
  assert.deepEqual(
    amounts('volume', tiers, 0, 1, 5, 6, 10, 11, 20),
    [0, 700, 3_500, 3_900, 6_500, 6_600, 12_000],
  );
});

test('graduated: each tier prices its own units', () => {
  const tiers = [tier(5, 700), tier(10, 650), tier(null, 600)];
  assert.deepEqual(
    amounts('graduated', tiers, 0, 1, 5, 6, 10, 11, 20),
    [0, 700, 3_500, 4_150, 6_750, 7_350, 12_750],
  );
});

test('a flat amount is due for each tier that is reached, and that of the first tier always', () => {
  const tiers = [tier(5, 500, 1_000), tier(10, null, 2_000), tier(null, 200)];
  assert.deepEqual(amounts('volume', tiers, 0, 5, 6, 11), [1_000, 3_500, 2_000, 2_200]);
  assert.deepEqual(amounts('graduated', tiers, 0, 5, 6, 11), [1_000, 3_500, 5_500, 5_700]);
});

test('a transformed quantity is divided and rounded before it is priced', () => {
  const inTens = (round: 'up' | 'down', quantity: number) =>
    priceAmount(
      { ...perUnit, unit_amount_decimal: '300', transform_quantity: { divide_by: 10, round } },
      [],
      quantity,
    );
  assert.deepEqual([inTens('up', 11), inTens('down', 19), inTens('up', 0)], [600, 300, 0]);
});

test('a metered price costs nothing', () => {
  const recurring: Price['recurring'] = {
    interval: 'month',
    interval_count: 1,
    meter: 'mtr_1',
    trial_period_days: null,
    usage_type: 'metered',
  };
  assert.equal(priceAmount({ ...perUnit, unit_amount_decimal: '300', recurring }, [], 5), 0);
});

test('an amount with decimals is rounded once', () => {
  const price = { ...perUnit, unit_amount_decimal: '0.4' };
  assert.deepEqual(
    [1, 2, 100].map((quantity) => priceAmount(price, [], quantity)),
    [0, 1, 40],
  );
});
