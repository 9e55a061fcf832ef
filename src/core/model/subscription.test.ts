import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainSubscription } from '../../../test/support/plain-subscription.ts';
import {
  assertTransitions,
  atSecond,
  rowAsOf,
  rowCreatedAt,
  rowUpdatedAt,
  testNow,
} from '../../../test/support/transitions.ts';
import { asOfRow, rowTime } from './facts.ts';
import {
  hasEnded,
  type Subscription,
  type SubscriptionFacts,
  subscriptionStatuses,
  takeSubscriptionFacts,
} from './subscription.ts';
import type { SubscriptionItemFacts } from './subscription-items.ts';

const periodStart = new Date('2026-01-01T00:00:00Z');
const periodEnd = new Date('2026-02-01T00:00:00Z');

const subscription: Subscription = {
  id: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f',
  processorSubscriptionId: 'sub_1',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  planId: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  quantity: 1,
  addOns: [],
  otherItems: [],
  processorMainItemId: 'si_1',
  status: 'incomplete',
  currentPeriodStart: periodStart,
  currentPeriodEnd: periodEnd,
  latestInvoiceId: null,
  paidUntil: null,
  isIncomplete: false,
  ...plainSubscription,
  cancellationReason: null,
  metadata: {},
  ...rowTime(rowAsOf),
  createdAt: rowCreatedAt,
  updatedAt: rowUpdatedAt,
  revision: 0,
};

const item: SubscriptionItemFacts = {
  processorItemId: 'si_1',
  processorPriceId: 'price_1',
  planLocalId: null,
  nickname: null,
  quantity: 1,
  createdAt: rowCreatedAt,
  currentPeriodStart: periodStart,
  currentPeriodEnd: periodEnd,
};

const facts: SubscriptionFacts = {
  processorSubscriptionId: 'sub_1',
  localId: subscription.id,
  processorCustomerId: 'cus_1',
  items: [item],
  mainMark: null,
  status: 'incomplete',
  ...plainSubscription,
  metadata: {},
  createdAt: rowCreatedAt,
  asOf: rowAsOf,
};

const noPlan = () => undefined;
const ownPlan = () => ({ id: subscription.planId, addOn: false });

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
      const taken = takeSubscriptionFacts(row, { ...facts, status: to, asOf }, ownPlan, origin, testNow);
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
    items: [{ ...item, currentPeriodStart: periodEnd, currentPeriodEnd: new Date('2026-03-01T00:00:00Z') }],
  } as const;
  assert.equal(takeSubscriptionFacts(active, renewed, ownPlan, 'event', testNow).verdict, 'refresh');
  const asOf = atSecond(1_001);
  const { verdict, row } = takeSubscriptionFacts(active, { ...renewed, asOf }, ownPlan, 'event', testNow);
  assert.deepEqual([verdict, row.currentPeriodStart, row.updatedAt], ['take', periodEnd, testNow]);
});

test('the plan follows the price, and a price that is not a Till plan does not change it', () => {
  const otherPlan = '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e12';
  const later = { ...facts, asOf: atSecond(1_001) };
  assert.equal(
    takeSubscriptionFacts(subscription, later, () => ({ id: otherPlan, addOn: false }), 'event', testNow).row
      .planId,
    otherPlan,
  );
  const { row } = takeSubscriptionFacts(subscription, later, noPlan, 'event', testNow);
  assert.equal(row.planId, subscription.planId);
});

test('an event that does not show all items never changes them', () => {
  const partial = { ...facts, status: 'active', hasMoreItems: true, asOf: atSecond(1_001) } as const;
  for (const origin of ['event', 'current'] as const)
    assert.equal(takeSubscriptionFacts(subscription, partial, ownPlan, origin, testNow).verdict, 'refresh');
  const older = { ...partial, asOf: atSecond(999) };
  assert.equal(takeSubscriptionFacts(subscription, older, ownPlan, 'event', testNow).verdict, 'keep');
});

test('a subscription ends with its period if the processor shows the flag, or only that date', () => {
  const otherEnd = new Date('2026-03-01T00:00:00Z');
  const itemOf = (name: string, currentPeriodEnd: Date) => ({
    ...{ ...item, processorItemId: name, processorPriceId: name, currentPeriodEnd },
  });
  const [month, other] = [itemOf('month', periodEnd), itemOf('other', otherEnd)];
  const planOf = (price: string) => (price === 'month' ? { id: 'plan-month', addOn: false } : undefined);
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
    const { row } = takeSubscriptionFacts(subscription, later, planOf, 'event', testNow);
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
  assert.equal(takeSubscriptionFacts(ending, renewed, ownPlan, 'event', testNow).row.cancelAtPeriodEnd, true);
});

test('only canceled and incomplete_expired subscriptions have ended', () => {
  const ended = subscriptionStatuses.filter(hasEnded).sort();
  assert.deepEqual(ended, ['canceled', 'incomplete_expired']);
});

test('metadata changes by itself, even of a subscription that has ended', () => {
  const ended: Subscription = { ...subscription, status: 'canceled' };
  const told: SubscriptionFacts = { ...facts, status: 'canceled', metadata: { a: '1' } };
  const at = (second: number) =>
    takeSubscriptionFacts(ended, { ...told, asOf: atSecond(second) }, ownPlan, 'event', testNow);
  assert.equal(at(999).verdict, 'keep');
  assert.equal(at(1_000).verdict, 'refresh');
  assert.deepEqual([at(1_001).verdict, at(1_001).row.metadata], ['take', { a: '1' }]);
});

test('a reason goes with its cancellation, and stays if an event does not show it', () => {
  const row: Subscription = { ...subscription, cancelAtPeriodEnd: true, cancellationReason: 'price' };
  const told: SubscriptionFacts = {
    ...facts,
    status: 'active',
    cancelAtPeriodEnd: true,
    asOf: atSecond(1_001),
  };
  const after = (before: Subscription, more: Partial<SubscriptionFacts>) =>
    takeSubscriptionFacts(before, { ...told, ...more }, ownPlan, 'current', testNow).row.cancellationReason;
  assert.equal(after(row, { cancellationReason: 'other' }), 'other');
  assert.equal(after(row, { cancellationReason: null }), null);
  assert.equal(after(row, {}), 'price', 'an older version of the API, or an erased event');
  assert.equal(after(row, { cancelAtPeriodEnd: false, cancellationReason: 'price' }), null);
  assert.equal(
    after({ ...row, metadata: null, cancellationReason: null }, { cancellationReason: 'other' }),
    null,
  );
});

test('an event that does not show the metadata never clears it, and erased metadata stays erased', () => {
  const unknown = { ...facts, status: 'active', metadata: null, asOf: atSecond(1_001) } as const;
  const row: Subscription = { ...subscription, metadata: { a: '1' } };
  assert.equal(takeSubscriptionFacts(row, unknown, ownPlan, 'event', testNow).verdict, 'refresh');
  assert.deepEqual(takeSubscriptionFacts(row, unknown, ownPlan, 'current', testNow).row.metadata, { a: '1' });
  const erased: Subscription = { ...subscription, metadata: null };
  for (const metadata of [{ a: '1' }, null]) {
    const told = { ...unknown, metadata };
    const taken = takeSubscriptionFacts(erased, told, ownPlan, 'event', testNow);
    assert.deepEqual([taken.verdict, taken.row.status, taken.row.metadata], ['take', 'active', null]);
  }
});
