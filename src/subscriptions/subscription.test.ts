import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertTransitions, rowAsOf, rowUpdatedAt, testNow } from '../../test/support/transitions.ts';
import type { SubscriptionFacts } from '../processor/processor-facts.ts';
import { hasEnded, type Subscription, subscriptionStatuses, takeSubscriptionFacts } from './subscription.ts';

const periodStart = new Date('2026-01-01T00:00:00Z');
const periodEnd = new Date('2026-02-01T00:00:00Z');

const subscription: Subscription = {
  id: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f',
  processorSubscriptionId: 'sub_1',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  planId: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  status: 'incomplete',
  currentPeriodStart: periodStart,
  currentPeriodEnd: periodEnd,
  trialEnd: null,
  processorAsOf: rowAsOf,
  createdAt: rowAsOf,
  updatedAt: rowUpdatedAt,
  revision: 0,
};

const facts: SubscriptionFacts = {
  processorSubscriptionId: 'sub_1',
  localId: subscription.id,
  processorCustomerId: 'cus_1',
  processorPriceId: 'price_1',
  planLocalId: null,
  status: 'incomplete',
  currentPeriodStart: periodStart,
  currentPeriodEnd: periodEnd,
  trialEnd: null,
  createdAt: rowAsOf,
  asOf: rowAsOf,
};

test('every status that stands meets every status that arrives, at every time, as decided', () => {
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
    ({ from, to, asOf, standing }) => {
      const row = { ...subscription, status: from };
      const taken = takeSubscriptionFacts(row, { ...facts, status: to, asOf }, undefined, standing, testNow);
      const { status, processorAsOf, updatedAt } = taken.row;
      return { verdict: taken.verdict, status, asOf: processorAsOf, updatedAt };
    },
  );
});

test('a renewal is news although the status stays active', () => {
  const active: Subscription = { ...subscription, status: 'active' };
  const renewed = {
    ...facts,
    status: 'active',
    currentPeriodStart: periodEnd,
    currentPeriodEnd: new Date('2026-03-01T00:00:00Z'),
  } as const;
  assert.equal(takeSubscriptionFacts(active, renewed, undefined, 'event', testNow).verdict, 'ask');
  const asOf = new Date(1_001_000);
  const { verdict, row } = takeSubscriptionFacts(active, { ...renewed, asOf }, undefined, 'event', testNow);
  assert.deepEqual([verdict, row.currentPeriodStart, row.updatedAt], ['take', periodEnd, testNow]);
});

test('the plan follows the price, and a price that is no plan of ours leaves it as it was', () => {
  const otherPlan = '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e12';
  const later = { ...facts, asOf: new Date(1_001_000) };
  assert.equal(takeSubscriptionFacts(subscription, later, otherPlan, 'event', testNow).row.planId, otherPlan);
  const { row } = takeSubscriptionFacts(subscription, later, undefined, 'event', testNow);
  assert.equal(row.planId, subscription.planId);
});

test('canceled and incomplete_expired have ended; nothing else has', () => {
  const ended = subscriptionStatuses.filter(hasEnded).sort();
  assert.deepEqual(ended, ['canceled', 'incomplete_expired']);
});
