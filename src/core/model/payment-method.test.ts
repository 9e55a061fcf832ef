import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isInUse,
  isPaymentMethodId,
  needsDefault,
  needsScheduledDefault,
  type PaymentMethodUse,
} from './payment-method.ts';
import { subscriptionStatuses } from './subscription.ts';

function use(
  status: PaymentMethodUse['status'],
  paymentMethodId: string | null = null,
  ...scheduledMethodIds: (string | null)[]
): PaymentMethodUse {
  return { processorSubscriptionId: 'sub_1', status, paymentMethodId, scheduledMethodIds };
}

test('subscriptions in exactly four states take over a new default', () => {
  const following = [...subscriptionStatuses, null].filter((status) => needsDefault(use(status), 'pm_1'));
  assert.deepEqual(following, ['trialing', 'active', 'past_due', 'unpaid']);
});

test('a subscription that has the default already needs no change', () => {
  assert.equal(needsDefault(use('active', 'pm_1'), 'pm_1'), false);
  assert.equal(needsDefault(use('active', 'pm_2'), 'pm_1'), true);
});

test('a subscription whose schedule would charge another payment method needs a change', () => {
  assert.equal(needsDefault(use('active', 'pm_1', 'pm_1', 'pm_1'), 'pm_1'), false);
  assert.equal(needsDefault(use('active', 'pm_1', 'pm_1', 'pm_2'), 'pm_1'), true);
  assert.equal(needsDefault(use('active', 'pm_1', 'pm_1', null), 'pm_1'), true);
  assert.equal(needsScheduledDefault(use('active', 'pm_2', 'pm_1'), 'pm_1'), false);
  assert.equal(needsScheduledDefault(use('active', 'pm_1', 'pm_2'), 'pm_1'), true);
});

test('what a schedule will charge is in use', () => {
  assert.equal(isInUse('pm_1', null, [use('active', 'pm_2', 'pm_2', 'pm_1')]), true);
  assert.equal(isInUse('pm_1', 'pm_1', [use('active', 'pm_2', 'pm_2', null)]), true);
  assert.equal(isInUse('pm_1', 'pm_1', [use('active', 'pm_2', 'pm_2', 'pm_3')]), false);
});

test('the default of a live subscription is in use, even if the status is unknown', () => {
  const inUse = [...subscriptionStatuses, null].filter((status) =>
    isInUse('pm_1', null, [use('canceled', 'pm_1'), use(status, 'pm_1')]),
  );
  assert.deepEqual(inUse, ['incomplete', 'trialing', 'active', 'past_due', 'unpaid', null]);
});

test("the customer's default is in use if a live subscription has none of its own", () => {
  assert.equal(isInUse('pm_1', 'pm_1', []), false);
  assert.equal(isInUse('pm_1', 'pm_1', [use('active', 'pm_2'), use('canceled')]), false);
  assert.equal(isInUse('pm_1', 'pm_1', [use('active')]), true);
  assert.equal(isInUse('pm_1', 'pm_2', [use('active')]), false);
});

test("only a text in the format of the processor's ids is a payment method id", () => {
  for (const id of ['pm_1', 'card_1Ab', 'x'.repeat(255)]) assert.equal(isPaymentMethodId(id), true);
  for (const text of ['', '.', '..', 'pm_1/detach', 'pm_1?', 'pm 1', 'pm_1\n', 'x'.repeat(256)])
    assert.equal(isPaymentMethodId(text), false, text);
});
