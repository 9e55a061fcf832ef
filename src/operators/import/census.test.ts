import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Census, type CensusPlan, type CensusSubscription, listedMax } from './census.ts';

function plan(name: string, values: Partial<CensusPlan> = {}): CensusPlan {
  return {
    ...{ processorPriceId: `price_${name}`, processorProductId: `prod_${name}`, name },
    ...{ groupName: null, addOn: false, features: {} },
    ...values,
  };
}

const pro = plan('pro', { features: { sso: true, seats: 5, beta: false } });
const team = plan('team');
const seat = plan('seat', { addOn: true, features: { export: true } });

function subscribed(
  processorCustomerId: string,
  plans: readonly CensusPlan[],
  values: Partial<CensusSubscription> = {},
): CensusSubscription {
  const usual = { isPaying: true, isLive: true, isPastDue: false, obstacle: null, externalIdObstacle: null };
  return { processorCustomerId, plans, ...usual, ...values };
}

const pastDue = { isPaying: false, isPastDue: true };

test('a customer counts once, and is entitled if one subscription entitles it', () => {
  const census = new Census();
  census.add(subscribed('a', [], { obstacle: 'no plan' }));
  census.add(subscribed('a', [pro]));
  census.add(subscribed('b', [team, seat], { externalIdObstacle: 'taken' }));
  census.add(subscribed('c', [], { obstacle: 'no plan' }));
  census.add(subscribed('c', [pro], pastDue));
  census.add(subscribed('d', [pro], { ...pastDue, externalIdObstacle: 'taken' }));
  census.add(subscribed('e', [pro], { isPaying: false, isLive: false }));
  const result = census.result([pro, team, seat]);
  assert.partialDeepStrictEqual(result, { payingCount: 3, entitledCount: 2, pastDueCount: 1 });
  assert.deepEqual([...result.exceptions], [['c', 'no plan']]);
  assert.deepEqual([...result.hidden, result.hiddenCount], [['b', 'taken'], 1]);
  assert.deepEqual([...result.several, result.severalCount], [['a', 2], ['c', 2], 2]);
});

test('features that are false, or of plans without an entitled customer, are ones that no customer has', () => {
  const census = new Census();
  census.add(subscribed('a', [pro]));
  census.add(subscribed('b', [team]));
  const result = census.result([pro, team, seat]);
  assert.deepEqual([result.unusedFeatures, result.featurelessCount], [['beta', 'export'], 1]);
});

test('plans without a group look like alternatives if they are of one product or have other customers', () => {
  const yearly = plan('pro', { processorPriceId: 'price_yearly' });
  const grouped = plan('grouped', { groupName: 'base' });
  const extra = plan('extra');
  const census = new Census();
  for (const name of ['a', 'b', 'c']) census.add(subscribed(name, [pro]));
  for (const name of ['d', 'f']) census.add(subscribed(name, [team]));
  census.add(subscribed('e', [grouped]));
  // The customer has this one beside another.
  census.add(subscribed('d', [extra]));
  const { productsWithPrices, disjointProducts } = census.result([pro, yearly, team, grouped, extra, seat]);
  assert.deepEqual(productsWithPrices, [{ processorProductId: 'prod_pro', name: 'pro', priceCount: 2 }]);
  assert.deepEqual(
    disjointProducts.map(({ name }) => name),
    ['pro', 'team'],
  );
});

test('the lists of a large account have a limit, and its numbers have none', () => {
  const census = new Census();
  for (let index = 0; index < listedMax + 5; index += 1) {
    census.add(subscribed(`c${index}`, [], { obstacle: 'no plan' }));
    census.add(subscribed(`c${index}`, [], { obstacle: 'no plan' }));
  }
  const result = census.result([]);
  assert.deepEqual(
    [result.exceptions.size, result.several.size, result.severalCount, result.payingCount],
    [listedMax, listedMax, listedMax + 5, listedMax + 5],
  );
});
