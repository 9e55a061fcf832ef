import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '@till/client';
import { newTerms, noTerms, periodAmount } from './new-terms.ts';

const addOns = [{ planId: 'seats', quantity: '3' }];

test('new terms have a plan, quantities and a trial that the API accepts', () => {
  const inputs = { planId: 'gold', quantity: ' 2 ', addOns, trialDays: '14' };
  const terms = {
    planId: 'gold',
    quantity: 2,
    addOns: [{ planId: 'seats', quantity: 3 }],
    trialPeriodDays: 14,
  };
  assert.deepEqual(newTerms(inputs), terms);
  assert.equal(newTerms({ ...inputs, trialDays: '' })?.trialPeriodDays, 0);
  for (const wrong of [{ planId: '' }, { quantity: '0' }, { trialDays: '731' }, { trialDays: 'x' }])
    assert.equal(newTerms({ ...inputs, ...wrong }), undefined);
  assert.equal(newTerms(noTerms), undefined);
});

test('the amount of a period counts each unit of the plan and of the add-ons', () => {
  const plan = (id: string, amount: number) => ({ id, amount }) as Plan;
  const terms = newTerms({ planId: 'gold', quantity: '2', addOns, trialDays: '' });
  assert.ok(terms !== undefined);
  assert.equal(periodAmount([plan('gold', 900), plan('seats', 200), plan('other', 1)], terms), 2_400);
});
