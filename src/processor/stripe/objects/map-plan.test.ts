import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WireObject } from '../wire/wire-object.ts';
import { obstacleOf } from './map-plan.ts';

const licensed = { interval: 'month', interval_count: 1, usage_type: 'licensed' };
const plain = {
  ...{ id: 'price_1', object: 'price', type: 'recurring', billing_scheme: 'per_unit', unit_amount: 900 },
  ...{ recurring: licensed, transform_quantity: null, custom_unit_amount: null },
};

test('why a price cannot be a plan', () => {
  for (const [changes, obstacle] of [
    [{}, undefined],
    [{ unit_amount: 0 }, undefined],
    [{ type: 'one_time', recurring: null }, 'one_time'],
    [{ billing_scheme: 'tiered', unit_amount: null }, 'tiered'],
    [{ recurring: { ...licensed, usage_type: 'metered' } }, 'metered'],
    [{ transform_quantity: { divide_by: 5, round: 'up' } }, 'packaged'],
    [{ custom_unit_amount: { minimum: 100 }, unit_amount: null }, 'custom_amount'],
    [{ unit_amount: null, unit_amount_decimal: '0.5' }, 'fraction'],
    [{ recurring: { ...licensed, interval: 'decade' } }, 'interval'],
  ] as const)
    assert.equal(obstacleOf(WireObject.parse({ ...plain, ...changes }, 'price')).obstacle, obstacle);
  // A response that shows less of the price says nothing against it.
  assert.deepEqual(obstacleOf(WireObject.parse({ id: 'price_1', object: 'price' }, 'price')), {});
});
