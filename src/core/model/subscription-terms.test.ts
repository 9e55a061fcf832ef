import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Discount, type SubscriptionTermFacts, termsOf } from './subscription-terms.ts';

const forever: Discount = {
  ...{ processorDiscountId: 'di_1', code: 'HALF', percentOff: 50, amountOff: null, currency: null },
  endsAt: null,
};
const once: Discount = { ...forever, isOnce: true };
const used: Discount = { ...once, usedBy: 'in_1' };

function terms(current: Discount | null, facts: Partial<SubscriptionTermFacts>) {
  const all = { discount: null, pendingChange: null, processorLatestInvoiceId: 'in_1', ...facts };
  const { discount, isIncomplete } = termsOf(
    { discount: current, pendingChange: null },
    all,
    { processorItemId: 'si_1', processorPriceId: 'gold', quantity: 1 },
    () => undefined,
  );
  return [discount, isIncomplete];
}

describe('an event about a subscription without a discount', () => {
  test('ends a discount that is not for one invoice', () => {
    assert.deepEqual(terms(forever, {}), [null, false]);
    assert.deepEqual(terms(null, {}), [null, false]);
  });

  test('does not say whether an invoice has used a discount for one invoice', () => {
    assert.deepEqual(terms(once, {}), [once, true]);
  });

  test('keeps the discount that the latest invoice has used, and no other', () => {
    assert.deepEqual(terms(used, {}), [used, false]);
    assert.deepEqual(terms(used, { processorLatestInvoiceId: 'in_2' }), [null, false]);
  });
});

test('a response says which discount the latest invoice has used', () => {
  for (const current of [null, forever, once, used]) {
    assert.deepEqual(terms(current, { usedDiscount: used }), [used, false]);
    assert.deepEqual(terms(current, { usedDiscount: null }), [null, false]);
  }
  const id = { processorDiscountId: 'di_1' };
  assert.deepEqual(terms(used, { usedDiscount: id }), [used, false]);
  assert.deepEqual(terms(null, { usedDiscount: id }), [null, true]);
});
