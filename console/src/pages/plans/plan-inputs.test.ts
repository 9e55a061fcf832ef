import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '@till/client';
import {
  featureEntries,
  metadataChange,
  metadataEntries,
  parseFeatures,
  parseMetadata,
} from '../../parts/entries.ts';
import { type NewPlanInputs, newPlan, parseIntervalCount, planChange } from './plan-inputs.ts';

const features = { seats: 5, sso: true, trial: false, support: 'email', code: '5' };
const plan = {
  name: 'Gold',
  group: 'base',
  addOn: false,
  repeatable: false,
  features,
  metadata: { edition: '2026', owner: 'sales' },
} as unknown as Plan;
const inputs = {
  name: plan.name,
  group: 'base',
  addOn: false,
  repeatable: false,
  features: featureEntries(plan.features),
  metadata: metadataEntries(plan.metadata),
};

test('features keep their types through the inputs', () => {
  assert.deepEqual(parseFeatures(featureEntries(features)), features);
  assert.deepEqual(parseFeatures([{ name: '', value: '', type: 'text' }]), {});
});

test('features and metadata that the API would refuse are explained', () => {
  const entry = { name: 'seats', value: '1.5', type: 'number' } as const;
  assert.match(String(parseFeatures([entry])), /must be whole/);
  assert.match(String(parseFeatures([{ ...entry, name: 'a"b', value: '1' }])), /cannot be used/);
  const twice = { ...entry, value: '1' };
  assert.match(String(parseFeatures([twice, twice])), /twice/);
  assert.match(String(parseMetadata([twice, twice])), /twice/);
  assert.match(String(parseMetadata([{ ...twice, value: '' }])), /must have 1 to 500/);
  assert.match(String(parseMetadata([{ ...twice, name: '' }])), /1 to 40 characters/);
  for (const name of ['a key', 'a[0]', 'till_id'])
    assert.match(String(parseMetadata([{ ...twice, name }])), /cannot be used/);
});

test('a change of metadata sets changed keys and drops removed ones', () => {
  assert.deepEqual(metadataChange({ a: '1', b: '2', c: '3' }, { a: '1', b: '4', d: '5' }), {
    c: null,
    b: '4',
    d: '5',
  });
});

test('a change of a plan sends only what differs', () => {
  assert.equal(planChange(plan, inputs).body, undefined);
  assert.deepEqual(planChange(plan, { ...inputs, name: ' Platinum ', group: '' }).body, {
    name: 'Platinum',
    group: null,
  });
  assert.deepEqual(planChange(plan, { ...inputs, metadata: [] }).body, {
    metadata: { edition: null, owner: null },
  });
  assert.deepEqual(planChange(plan, { ...inputs, features: [] }).body, { features: {} });
  assert.equal(planChange(plan, { ...inputs, name: '' }).body, undefined);
});

const blank: NewPlanInputs = {
  ...{ name: 'Gold', group: '', addOn: false, repeatable: false, features: [], metadata: [] },
  ...{ amount: '19.00', currency: 'EUR', interval: 'month', intervalCount: '1' },
};

test('an add-on sends no group, whatever is typed there', () => {
  const addOn = { ...inputs, addOn: true, group: ' ' };
  assert.deepEqual(planChange(plan, addOn).body, { addOn: true });
  assert.deepEqual(planChange({ ...plan, addOn: true, group: null }, { ...inputs, group: 'base' }).body, {
    ...{ addOn: false, group: 'base' },
  });
  const { body } = newPlan({ ...blank, addOn: true, group: 'base' });
  assert.deepEqual([body?.addOn, body?.group], [true, null]);
});

test('whether a plan is repeatable is sent if it differs', () => {
  assert.deepEqual(planChange(plan, { ...inputs, repeatable: true }).body, { repeatable: true });
  assert.equal(planChange({ ...plan, repeatable: true }, { ...inputs, repeatable: true }).body, undefined);
  assert.deepEqual(
    [newPlan(blank).body?.repeatable, newPlan({ ...blank, repeatable: true }).body?.repeatable],
    [false, true],
  );
});

test('a new plan has its amount in the smallest unit of its currency', () => {
  const amountOf = (values: Partial<NewPlanInputs>) => newPlan({ ...blank, ...values }).body?.amount;
  assert.equal(amountOf({}), 1_900);
  assert.equal(amountOf({ currency: 'jpy', amount: '1200' }), 1_200);
  assert.equal(amountOf({ currency: 'jpy', amount: '12.5' }), undefined);
  assert.equal(amountOf({ currency: 'kwd', amount: '1.234' }), 1_234);
  assert.equal(amountOf({ amount: '0' }), 0);
  assert.equal(amountOf({ currency: 'e' }), undefined);
  assert.equal(newPlan(blank).body?.currency, 'eur');
});

test('a plan bills at least every three years', () => {
  assert.equal(parseIntervalCount('36', 'month'), 36);
  assert.equal(parseIntervalCount('37', 'month'), undefined);
  assert.equal(parseIntervalCount('4', 'year'), undefined);
  assert.equal(parseIntervalCount('52', 'week'), 52);
  assert.equal(parseIntervalCount('0', 'day'), undefined);
});
