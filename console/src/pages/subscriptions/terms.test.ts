import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '@till/client';
import { subscriptionStatuses } from '../../../../src/core/model/subscription.ts';
import { canChange, canPay, discountText, entitlementText, hasEnded, termsText } from './terms.ts';

test('what can be done depends on the status as in the API', () => {
  const withStatus = (can: (subscription: { status: (typeof subscriptionStatuses)[number] }) => boolean) =>
    subscriptionStatuses.filter((status) => can({ status }));
  assert.deepEqual(withStatus(hasEnded), ['incomplete_expired', 'canceled']);
  assert.deepEqual(withStatus(canChange), ['trialing', 'active', 'past_due', 'unpaid']);
  assert.deepEqual(withStatus(canPay), ['incomplete', 'past_due', 'unpaid']);
});

test('terms name each plan, and its quantity if there are several', () => {
  const plans = [{ id: 'gold', name: 'Gold' } as Plan];
  const of = { planId: 'gold', quantity: 1, addOns: [] };
  assert.equal(termsText(plans, of), 'Gold');
  assert.equal(termsText(plans, { ...of, quantity: 3 }), '3 × Gold');
  const addOns = [{ planId: 'seats', quantity: 2 }];
  assert.equal(termsText(plans, { ...of, addOns }), 'Gold + 2 × another plan');
});

test('a discount says how much, with which code, and until when', () => {
  const none = { code: null, percentOff: null, amountOff: null, currency: null, endsAt: null };
  assert.equal(discountText({ ...none, percentOff: 20, code: 'WELCOME' }), '20 % off with the code WELCOME');
  assert.match(
    discountText({ ...none, amountOff: 500, currency: 'jpy', endsAt: '2026-12-15T09:30:00.000Z' }),
    /^¥500 off, until .*2026/,
  );
  assert.equal(discountText(none), 'A discount');
});

test('an entitlement says why, and until when only if it entitles', () => {
  const of = { subscriptionId: 's', planId: 'p', addOnPlanIds: [], until: '2026-12-15T09:30:00.000Z' };
  assert.match(
    entitlementText({ ...of, status: 'active', entitled: true, reason: 'active' }),
    /^Yes: the subscription is active, until .*2026/,
  );
  assert.equal(
    entitlementText({ ...of, status: 'past_due', entitled: false, reason: 'past_due' }),
    'No: the payment is due, and no paid or grace period lasts',
  );
});
