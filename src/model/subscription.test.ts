import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainSubscription } from '../../test/support/plain-subscription.ts';
import {
  assertTransitions,
  atSecond,
  rowAsOf,
  rowCreatedAt,
  rowUpdatedAt,
  testNow,
} from '../../test/support/transitions.ts';
import { asOfRow, rowTime } from './facts.ts';
import {
  followedItem,
  hasEnded,
  type Subscription,
  type SubscriptionFacts,
  subscriptionStatuses,
  takeSubscriptionFacts,
} from './subscription.ts';

const periodStart = new Date('2026-01-01T00:00:00Z');
const periodEnd = new Date('2026-02-01T00:00:00Z');

const subscription: Subscription = {
  id: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f',
  processorSubscriptionId: 'sub_1',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  planId: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  quantity: 1,
  status: 'incomplete',
  currentPeriodStart: periodStart,
  currentPeriodEnd: periodEnd,
  latestInvoiceId: null,
  paidUntil: null,
  isIncomplete: false,
  ...plainSubscription,
  metadata: {},
  ...rowTime(rowAsOf),
  createdAt: rowCreatedAt,
  updatedAt: rowUpdatedAt,
  revision: 0,
};

const facts: SubscriptionFacts = {
  processorSubscriptionId: 'sub_1',
  localId: subscription.id,
  processorCustomerId: 'cus_1',
  items: [
    {
      processorPriceId: 'price_1',
      planLocalId: null,
      quantity: 1,
      currentPeriodStart: periodStart,
      currentPeriodEnd: periodEnd,
    },
  ],
  status: 'incomplete',
  ...plainSubscription,
  metadata: {},
  createdAt: rowCreatedAt,
  asOf: rowAsOf,
};

const noPlan = () => undefined;

test('every pair of current and new status follows the transition table, for older, equal and newer times', () => {
  assertTransitions(
    {
      incomplete: '        = < < < < ! !',
      trialing: '          < = < < < ! !',
      active: '            < < = < < ! !',
      past_due: '          < < < = < ! !',
      unpaid: '            < < < < = ! !',
      incomplete_expired: '. . . . . = .',
      canceled: '          . . . . . . =',
    },
    ({ from, to, asOf, origin }) => {
      const row = { ...subscription, status: from };
      const taken = takeSubscriptionFacts(row, { ...facts, status: to, asOf }, noPlan, origin, testNow);
      const { status, updatedAt } = taken.row;
      return { verdict: taken.verdict, status, asOf: asOfRow(taken.row), updatedAt };
    },
  );
});

test('a renewal is a change even if the status stays active', () => {
  const active: Subscription = { ...subscription, status: 'active' };
  const renewed = {
    ...facts,
    status: 'active',
    items: [
      {
        processorPriceId: 'price_1',
        planLocalId: null,
        quantity: 1,
        currentPeriodStart: periodEnd,
        currentPeriodEnd: new Date('2026-03-01T00:00:00Z'),
      },
    ],
  } as const;
  assert.equal(takeSubscriptionFacts(active, renewed, noPlan, 'event', testNow).verdict, 'refresh');
  const asOf = atSecond(1_001);
  const { verdict, row } = takeSubscriptionFacts(active, { ...renewed, asOf }, noPlan, 'event', testNow);
  assert.deepEqual([verdict, row.currentPeriodStart, row.updatedAt], ['take', periodEnd, testNow]);
});

test('the plan follows the price, and a price that is not a Till plan does not change it', () => {
  const otherPlan = '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e12';
  const later = { ...facts, asOf: atSecond(1_001) };
  assert.equal(
    takeSubscriptionFacts(subscription, later, () => otherPlan, 'event', testNow).row.planId,
    otherPlan,
  );
  const { row } = takeSubscriptionFacts(subscription, later, noPlan, 'event', testNow);
  assert.equal(row.planId, subscription.planId);
});

test('a subscription with several items shows the plan and period of the oldest item with a Till plan', () => {
  const plans = new Map([
    ['gold', 'plan-gold'],
    ['silver', 'plan-silver'],
  ]);
  const planIdOf = (price: string) => plans.get(price);
  const itemOf = (processorPriceId: string, month: number) => ({
    processorPriceId,
    planLocalId: null,
    quantity: month,
    currentPeriodStart: new Date(Date.UTC(2026, month)),
    currentPeriodEnd: new Date(Date.UTC(2026, month + 1)),
  });
  const [addOn, gold, silver] = [itemOf('add-on', 3), itemOf('gold', 4), itemOf('silver', 5)];
  for (const [items, followed, planId] of [
    [[addOn, gold, silver], gold, 'plan-gold'],
    [[silver, addOn, gold], silver, 'plan-silver'],
    // No price is a Till plan: the plan stays, and the oldest item gives the period.
    [[addOn], addOn, subscription.planId],
  ] as const) {
    const later = { ...facts, items, asOf: atSecond(1_001) };
    assert.equal(followedItem(later, planIdOf), followed);
    const { row } = takeSubscriptionFacts(subscription, later, planIdOf, 'event', testNow);
    assert.deepEqual(
      [row.planId, row.quantity, row.currentPeriodStart, row.currentPeriodEnd],
      [planId, followed.quantity, followed.currentPeriodStart, followed.currentPeriodEnd],
    );
    const other = { ...subscription, planId: 'plan-silver' };
    const again = takeSubscriptionFacts(other, later, planIdOf, 'event', testNow).row;
    assert.equal(
      again.currentPeriodStart,
      followed.currentPeriodStart,
      'the plan of the row does not matter',
    );
  }
});

test('a subscription ends with its period if the processor shows the flag, or only that date', () => {
  const otherEnd = new Date('2026-03-01T00:00:00Z');
  const item = (processorPriceId: string, currentPeriodEnd: Date) => ({
    ...{ processorPriceId, planLocalId: null, quantity: 1, currentPeriodStart: periodStart },
    currentPeriodEnd,
  });
  const [month, other] = [item('month', periodEnd), item('other', otherEnd)];
  const planIdOf = (price: string) => (price === 'month' ? 'plan-month' : undefined);
  const cases: readonly [boolean, Partial<SubscriptionFacts>][] = [
    [false, {}],
    [true, { cancelAtPeriodEnd: true }],
    [true, { cancelAtPeriodEnd: true, cancelAt: periodEnd }],
    [true, { cancelAt: new Date(periodEnd) }],
    [true, { cancelAt: periodEnd, status: 'trialing', trialEnd: periodEnd }],
    [true, { cancelAt: periodEnd, status: 'past_due' }],
    // In another period, or within this one.
    [false, { cancelAt: otherEnd }],
    [false, { cancelAt: new Date('2026-01-15T00:00:00Z') }],
    // Of several periods, the one that the subscription shows counts.
    [true, { cancelAt: periodEnd, items: [other, month] }],
    [false, { cancelAt: otherEnd, items: [other, month] }],
    [true, { cancelAt: otherEnd, items: [other] }],
    // It has ended, so it will not end any more.
    [false, { cancelAt: periodEnd, status: 'canceled' }],
  ];
  for (const [expected, told] of cases) {
    const later = { ...facts, status: 'active', items: [month], ...told, asOf: atSecond(1_001) } as const;
    const { row } = takeSubscriptionFacts(subscription, later, planIdOf, 'event', testNow);
    assert.equal(row.cancelAtPeriodEnd, expected, JSON.stringify(told));
    assert.equal(row.cancelAt, later.cancelAt);
  }
});

test('a renewal into the last period makes an end by date an end with the period', () => {
  const ending: Subscription = {
    ...subscription,
    status: 'active',
    cancelAt: new Date('2026-03-01T00:00:00Z'),
  };
  const last = {
    ...{
      ...facts.items[0],
      currentPeriodStart: periodEnd,
      currentPeriodEnd: new Date('2026-03-01T00:00:00Z'),
    },
  };
  const renewed: SubscriptionFacts = {
    ...{ ...facts, status: 'active', cancelAt: ending.cancelAt, items: [last], asOf: atSecond(1_001) },
  };
  assert.equal(ending.cancelAtPeriodEnd, false);
  assert.equal(takeSubscriptionFacts(ending, renewed, noPlan, 'event', testNow).row.cancelAtPeriodEnd, true);
});

test('only canceled and incomplete_expired subscriptions have ended', () => {
  const ended = subscriptionStatuses.filter(hasEnded).sort();
  assert.deepEqual(ended, ['canceled', 'incomplete_expired']);
});

test('metadata changes by itself, even of a subscription that has ended', () => {
  const ended: Subscription = { ...subscription, status: 'canceled' };
  const told: SubscriptionFacts = { ...facts, status: 'canceled', metadata: { a: '1' } };
  const at = (second: number) =>
    takeSubscriptionFacts(ended, { ...told, asOf: atSecond(second) }, noPlan, 'event', testNow);
  assert.equal(at(999).verdict, 'keep');
  assert.equal(at(1_000).verdict, 'refresh');
  assert.deepEqual([at(1_001).verdict, at(1_001).row.metadata], ['take', { a: '1' }]);
});

test('an event that does not show the metadata never clears it, and erased metadata stays erased', () => {
  const unknown = { ...facts, status: 'active', metadata: null, asOf: atSecond(1_001) } as const;
  const row: Subscription = { ...subscription, metadata: { a: '1' } };
  assert.equal(takeSubscriptionFacts(row, unknown, noPlan, 'event', testNow).verdict, 'refresh');
  assert.deepEqual(takeSubscriptionFacts(row, unknown, noPlan, 'current', testNow).row.metadata, { a: '1' });
  const erased: Subscription = { ...subscription, metadata: null };
  for (const metadata of [{ a: '1' }, null]) {
    const told = { ...unknown, metadata };
    const taken = takeSubscriptionFacts(erased, told, noPlan, 'event', testNow);
    assert.deepEqual([taken.verdict, taken.row.status, taken.row.metadata], ['take', 'active', null]);
  }
});
