import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangeableItem } from '#processor/port/subscription-changes.ts';
import { itemChanges, needsMainMark, type WantedItem } from './change-terms.ts';

const start = new Date('2026-01-01T00:00:00Z');

/** Items are named after their prices. */
function itemOf(name: string, quantity = 1): ChangeableItem {
  return {
    ...{ processorItemId: `si_${name}`, processorPriceId: name, planLocalId: null, nickname: null, quantity },
    ...{ createdAt: start, currentPeriodStart: start, currentPeriodEnd: start },
    ...{ interval: '1 month', unitAmount: 100 },
  };
}

function wantedOf(name: string, quantity = 1): WantedItem {
  return { processorPriceId: name, quantity };
}

const [gold, silver, seats, support] = [
  itemOf('gold'),
  itemOf('silver'),
  itemOf('seats', 2),
  itemOf('support'),
];

function planOf(price: string) {
  return { id: price, addOn: ['seats', 'support'].includes(price) };
}

function changesTo(
  items: readonly ChangeableItem[],
  main: WantedItem,
  addOns: readonly WantedItem[],
  { current = gold, planned = false, mark = null as string | null } = {},
) {
  const { changes, processorMainItemId } = itemChanges(items, current, { main, addOns });
  const wanted = { wanted: { main, addOns }, changes, planned, planOf };
  const needsMark = needsMainMark({ items, mainMark: mark }, current, wanted);
  return { changes, main: processorMainItemId, needsMark };
}

test('items that stay as they are are not touched', () => {
  const none = { changes: [], main: 'si_gold', needsMark: false };
  assert.deepEqual(changesTo([gold], wantedOf('gold'), []), none);
  assert.deepEqual(changesTo([seats, gold], wantedOf('gold'), [wantedOf('seats', 2)]), none);
});

test('a metered price in the place of the main plan gets no quantity', () => {
  const metered = { ...itemOf('traffic'), quantity: null };
  assert.deepEqual(
    changesTo([metered], wantedOf('traffic'), [wantedOf('seats')], { current: metered }).changes,
    [{ processorItemId: null, processorPriceId: 'seats', quantity: 1 }],
  );
});

test('a new main plan gets the item of the old one', () => {
  assert.deepEqual(changesTo([gold, seats], wantedOf('silver', 3), [wantedOf('seats', 2)]), {
    changes: [{ processorItemId: 'si_gold', processorPriceId: 'silver', quantity: 3 }],
    ...{ main: 'si_gold', needsMark: false },
  });
});

test('add-ons are added, changed and removed in one change', () => {
  assert.deepEqual(changesTo([gold, seats], wantedOf('gold', 2), [wantedOf('support')]).changes, [
    { processorItemId: 'si_gold', quantity: 2 },
    { processorItemId: null, processorPriceId: 'support', quantity: 1 },
    { processorItemId: 'si_seats', isRemoved: true },
  ]);
});

test('an add-on that becomes the main plan keeps its item, which gets a mark if another could be it', () => {
  const two = [gold, silver];
  assert.deepEqual(changesTo(two, wantedOf('silver'), []), {
    ...{ changes: [{ processorItemId: 'si_gold', isRemoved: true }], main: 'si_silver', needsMark: false },
  });
  assert.deepEqual(changesTo(two, wantedOf('silver'), [wantedOf('gold')]), {
    ...{ changes: [], main: 'si_silver', needsMark: true },
  });
  assert.equal(
    changesTo([gold, support], wantedOf('support'), [wantedOf('gold')]).needsMark,
    true,
    'an add-on as the main plan',
  );
});

test('a main plan that stays as an add-on keeps its item', () => {
  assert.deepEqual(changesTo([gold], wantedOf('silver'), [wantedOf('gold')]), {
    changes: [{ processorItemId: null, processorPriceId: 'silver', quantity: 1 }],
    ...{ main: null, needsMark: true },
  });
});

test('an earlier mark is replaced if it names another item, or none', () => {
  const two = [gold, silver];
  const back = { current: silver, mark: 'si_silver' };
  assert.equal(changesTo(two, wantedOf('gold'), [wantedOf('silver')], back).needsMark, true);
  assert.equal(changesTo(two, wantedOf('silver', 2), [wantedOf('gold')], back).needsMark, false);
  const byPrice = { current: silver, mark: 'silver' };
  assert.equal(changesTo([silver], wantedOf('silver', 2), [], byPrice).needsMark, false);
  assert.equal(changesTo([silver], wantedOf('bronze'), [], byPrice).needsMark, true);
});

test('a schedule gives a new price a new item, so the older of two plans would become the main plan', () => {
  const planned = { planned: true };
  assert.equal(changesTo([gold, seats], wantedOf('silver'), [wantedOf('seats')], planned).needsMark, false);
  const two = [gold, silver];
  const change = changesTo(two, wantedOf('bronze'), [wantedOf('silver')], planned);
  assert.equal(change.needsMark, true);
  assert.equal(changesTo(two, wantedOf('bronze'), [wantedOf('silver')]).needsMark, false);
});
