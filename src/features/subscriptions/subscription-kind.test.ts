import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SubscriptionView } from './subscription-fields.ts';
import { subscriptionBeginning, subscriptionEventType } from './subscription-kind.ts';

test('a subscription: canceled comes before unentitled', () => {
  const entitled = { status: 'active', entitled: true } as SubscriptionView;
  const waiting = { status: 'incomplete', entitled: false } as SubscriptionView;
  const type = (before: SubscriptionView, after: Partial<SubscriptionView>) =>
    subscriptionEventType(before, { ...before, ...after });
  assert.equal(type(waiting, { status: 'active', entitled: true }), 'subscription.entitled');
  assert.equal(type(entitled, { status: 'past_due', entitled: false }), 'subscription.unentitled');
  assert.equal(type(entitled, { status: 'past_due' }), 'subscription.updated');
  assert.equal(type(entitled, { status: 'canceled', entitled: false }), 'subscription.canceled');
  assert.equal(type(waiting, { status: 'incomplete_expired' }), 'subscription.updated');
});

test('a subscription that begins entitled: entitled follows its creation', () => {
  const of = (entitled: boolean) => subscriptionBeginning({ entitled } as SubscriptionView);
  assert.deepEqual(of(true), { type: 'subscription.entitled', previous: { entitled: false } });
  assert.equal(of(false), undefined);
});
