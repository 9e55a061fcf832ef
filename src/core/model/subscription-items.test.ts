import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ItemListFacts, type SubscriptionItemFacts, valuesOfItems } from './subscription-items.ts';

const start = new Date('2026-01-01T00:00:00Z');

/** Items are named after their prices. */
function itemOf(name: string, values: Partial<SubscriptionItemFacts> = {}): SubscriptionItemFacts {
  return {
    processorItemId: `si_${name}`,
    processorPriceId: name,
    planLocalId: null,
    nickname: null,
    quantity: 1,
    createdAt: start,
    currentPeriodStart: start,
    currentPeriodEnd: new Date('2026-02-01T00:00:00Z'),
    ...values,
  };
}

const [gold, silver, seats, support] = [itemOf('gold'), itemOf('silver'), itemOf('seats'), itemOf('support')];
const traffic = itemOf('traffic', { quantity: null, nickname: 'Traffic' });

/** Traffic is not a Till plan. Seats and support are add-ons. */
function planOf(price: string) {
  return price === 'traffic'
    ? undefined
    : { id: `plan-${price}`, addOn: ['seats', 'support'].includes(price) };
}

function valuesOf(
  items: ItemListFacts['items'],
  { mark = null, recorded = null }: { readonly mark?: string | null; readonly recorded?: string | null } = {},
) {
  const row = { planId: 'plan-before', processorMainItemId: recorded };
  return valuesOfItems({ items, mainMark: mark }, row, planOf);
}

describe('the main plan', () => {
  test('is the oldest that is not an add-on', () => {
    assert.equal(valuesOf([gold, silver, seats]).planId, 'plan-gold');
    assert.equal(valuesOf([traffic, seats, silver, gold]).planId, 'plan-silver');
  });

  test('is the oldest if all are add-ons', () => {
    assert.equal(valuesOf([traffic, seats, support]).planId, 'plan-seats');
  });

  test('stays the recorded one while it is there, whatever is added elsewhere', () => {
    assert.equal(valuesOf([gold, silver], { recorded: 'si_silver' }).planId, 'plan-silver');
    assert.equal(valuesOf([seats, gold], { recorded: 'si_seats' }).planId, 'plan-seats');
    assert.equal(valuesOf([gold, silver], { recorded: 'si_removed' }).planId, 'plan-gold');
  });

  test('follows the price of its item', () => {
    const changed = { ...silver, processorPriceId: 'seats' };
    const { planId, addOns } = valuesOf([gold, changed], { recorded: 'si_silver' });
    assert.deepEqual([planId, addOns], ['plan-seats', [{ planId: 'plan-gold', quantity: 1 }]]);
  });

  test('is the one that Till has marked, by its item or its price', () => {
    for (const mark of ['si_silver', 'silver'])
      assert.equal(valuesOf([gold, silver], { mark, recorded: 'si_gold' }).planId, 'plan-silver');
    assert.equal(valuesOf([gold, silver], { mark: 'si_removed', recorded: 'si_gold' }).planId, 'plan-gold');
    assert.equal(valuesOf([traffic, gold], { mark: 'traffic' }).planId, 'plan-gold', 'not a Till plan');
  });

  test('gives the period and the quantity', () => {
    const [periodStart, periodEnd] = [new Date('2026-03-01T00:00:00Z'), new Date('2027-03-01T00:00:00Z')];
    const yearly = { ...gold, quantity: 4, currentPeriodStart: periodStart, currentPeriodEnd: periodEnd };
    const { quantity, currentPeriodStart, currentPeriodEnd } = valuesOf([traffic, seats, yearly]);
    assert.deepEqual([quantity, currentPeriodStart, currentPeriodEnd], [4, periodStart, periodEnd]);
  });
});

test('all other Till plans are add-ons, in the order of their ids, and all other prices are other items', () => {
  const packaged = itemOf('blocks', { quantity: 7 });
  const { addOns, otherItems, processorMainItemId } = valuesOfItems(
    { items: [traffic, { ...support, quantity: 2 }, gold, silver, packaged], mainMark: null },
    { planId: '', processorMainItemId: null },
    (price) => (price === 'blocks' ? undefined : planOf(price)),
  );
  assert.deepEqual(addOns, [
    { planId: 'plan-silver', quantity: 1 },
    { planId: 'plan-support', quantity: 2 },
  ]);
  assert.deepEqual(otherItems, [
    { processorPriceId: 'blocks', quantity: 7, description: null },
    { processorPriceId: 'traffic', quantity: null, description: 'Traffic' },
  ]);
  assert.equal(processorMainItemId, 'si_gold');
});

test('without a Till plan the row keeps its plan and its main item, and shows the period of that item', () => {
  const changed = {
    ...gold,
    processorPriceId: 'traffic',
    currentPeriodEnd: new Date('2027-01-01T00:00:00Z'),
  };
  const { planId, processorMainItemId, currentPeriodEnd, addOns } = valuesOf([traffic, changed], {
    recorded: 'si_gold',
  });
  assert.deepEqual([planId, processorMainItemId, addOns], ['plan-before', 'si_gold', []]);
  assert.equal(currentPeriodEnd, changed.currentPeriodEnd);
});
