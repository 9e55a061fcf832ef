import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertTransitions,
  atSecond,
  rowAsOf,
  rowCreatedAt,
  rowUpdatedAt,
  testNow,
} from '../../../test/support/transitions.ts';
import {
  groupOf,
  type Plan,
  type PriceFacts,
  type ProductFacts,
  takePriceFacts,
  takeProductFacts,
} from './plan.ts';

const plan: Plan = {
  id: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  processorProductId: 'prod_1',
  processorPriceId: 'price_1',
  name: 'Gold',
  metadata: { edition: '1' },
  features: { seats: 1 },
  groupName: 'base',
  addOn: false,
  repeatable: false,
  addOnClaimId: null,
  amount: 1_900,
  currency: 'eur',
  interval: 'month',
  intervalCount: 1,
  productActive: true,
  priceActive: true,
  active: true,
  productAsOf: rowCreatedAt,
  productAsOfLatest: rowCreatedAt,
  priceAsOf: rowCreatedAt,
  priceAsOfLatest: rowCreatedAt,
  createdAt: rowCreatedAt,
  updatedAt: rowUpdatedAt,
  revision: 0,
};

const product: ProductFacts = {
  processorProductId: 'prod_1',
  localId: plan.id,
  name: 'Gold',
  metadata: { edition: '1' },
  features: { seats: 1 },
  groupName: 'base',
  active: true,
  createdAt: rowCreatedAt,
  asOf: rowAsOf,
};

const price: PriceFacts = {
  processorPriceId: 'price_1',
  processorProductId: 'prod_1',
  localId: plan.id,
  amount: 1_900,
  currency: 'eur',
  interval: 'month',
  intervalCount: 1,
  addOn: false,
  repeatable: false,
  active: true,
  createdAt: rowCreatedAt,
  asOf: rowAsOf,
};

const table = { active: '= <', archived: '< =' };

test('a product can be archived and reactivated, and the newer state wins', () => {
  assertTransitions(table, ({ from, to, asOf, origin }) => {
    const active = from === 'active';
    const row = { ...plan, productActive: active, active };
    const taken = takeProductFacts(row, { ...product, active: to === 'active', asOf }, origin, testNow);
    const status = taken.row.active ? 'active' : 'archived';
    return { verdict: taken.verdict, status, asOf: productTime(taken.row), updatedAt: taken.row.updatedAt };
  });
});

test('a price can be archived and reactivated, and the newer state wins', () => {
  assertTransitions(table, ({ from, to, asOf, origin }) => {
    const active = from === 'active';
    const row = { ...plan, priceActive: active, active };
    const taken = takePriceFacts(row, { ...price, active: to === 'active', asOf }, origin, testNow);
    const status = taken.row.active ? 'active' : 'archived';
    return { verdict: taken.verdict, status, asOf: priceTime(taken.row), updatedAt: taken.row.updatedAt };
  });
});

test('a plan is active only while its product and its price are active', () => {
  for (const productActive of [true, false]) {
    for (const priceActive of [true, false]) {
      const halves = { productActive: true, priceActive: true, active: true };
      const one = takeProductFacts(
        { ...plan, ...halves },
        { ...product, active: productActive },
        'current',
        testNow,
      );
      const both = takePriceFacts(one.row, { ...price, active: priceActive }, 'current', testNow);
      assert.equal(both.row.active, productActive && priceActive);
    }
  }
});

test('product and price have separate times: a change of one does not make an event about the other late', () => {
  const later = atSecond(2_000);
  const { row } = takeProductFacts(plan, { ...product, name: 'Gold II', asOf: later }, 'event', testNow);
  assert.deepEqual([row.name, productTime(row), priceTime(row)], ['Gold II', later, rowAsOf]);
  const archived = { ...price, active: false, asOf: atSecond(1_500) };
  assert.equal(takePriceFacts(row, archived, 'event', testNow).verdict, 'take');
});

test('a deletion is final whatever its time, even in the same second as another change', () => {
  for (const second of [1, 1_000, 2_000]) {
    const gone = { active: false, deleted: true, asOf: atSecond(second) } as const;
    for (const { verdict, row } of [
      takePriceFacts(plan, { ...price, ...gone }, 'event', testNow),
      takeProductFacts(plan, { ...product, ...gone }, 'event', testNow),
    ])
      assert.deepEqual([verdict, row.active], ['take', false]);
  }
});

test('a plan keeps its name if the name of its product cannot be read', () => {
  const { row } = takeProductFacts(plan, { ...product, name: null, active: false }, 'current', testNow);
  assert.deepEqual([row.name, row.active], [plan.name, false]);
});

test('a price says whether its plan is an add-on, and one that does not show its metadata changes nothing', () => {
  const at = (addOn: boolean | null, origin: 'event' | 'current') => {
    const facts = { ...price, addOn, asOf: atSecond(1_001) };
    const { verdict, row } = takePriceFacts({ ...plan, addOn: true }, facts, origin, testNow);
    return [verdict, row.addOn];
  };
  assert.deepEqual(at(false, 'event'), ['take', false]);
  assert.deepEqual(at(null, 'event'), ['refresh', true]);
  assert.deepEqual(at(null, 'current'), ['take', true]);
});

test('an add-on is in no group, whatever its product carries', () => {
  assert.deepEqual([groupOf(plan), groupOf({ ...plan, addOn: true })], ['base', null]);
});

function productTime(row: Plan) {
  return { earliest: row.productAsOf, latest: row.productAsOfLatest };
}

function priceTime(row: Plan) {
  return { earliest: row.priceAsOf, latest: row.priceAsOfLatest };
}

test('a product event that does not show the metadata never clears it: a newer one needs a refresh', () => {
  const at = (second: number) =>
    takeProductFacts(
      plan,
      { ...product, name: 'Silver', metadata: null, asOf: atSecond(second) },
      'event',
      testNow,
    );
  assert.deepEqual([at(1_001).verdict, at(1_001).row.metadata], ['refresh', { edition: '1' }]);
  assert.deepEqual([at(1_001).row.features, at(1_001).row.groupName], [{ seats: 1 }, 'base']);
  const changed = { ...product, metadata: { edition: '2' }, asOf: atSecond(1_001) };
  const { verdict, row } = takeProductFacts(plan, changed, 'event', testNow);
  assert.deepEqual([verdict, row.metadata], ['take', { edition: '2' }]);
});
