import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '../resources/operations.ts';
import { SandboxClock } from '../state/sandbox-clock.ts';
import { Store } from '../state/store.ts';
import { WireError } from '../wire/wire-error.ts';
import { ObjectLimits } from './object-limits.ts';

/** The limits of a world whose time a test decides. */
function limited() {
  let nowMs = 0;
  const store = new Store(new SandboxClock(() => nowMs));
  const limits = new ObjectLimits();
  const check = (name: string, id: string, events: Parameters<ObjectLimits['check']>[2] = []) => {
    const operation = operations.find((one) => one.name === name);
    assert.ok(operation !== undefined);
    const call = { store, id, fromBrowser: false, accountId: 'acct_x', version: null };
    limits.check(operation, call, events);
  };
  const advance = (seconds: number) => {
    nowMs += seconds * 1_000;
  };
  return { check, advance };
}

const changed = (id: string, from: number, to: number) => ({
  id: 'evt_1',
  object: 'event' as const,
  type: 'customer.subscription.updated' as const,
  created: 0,
  subject: { id, object: 'subscription', created: 0, items: { data: [{ id: 'si_1', quantity: to }] } },
  previous: { items: { data: [{ id: 'si_1', quantity: from }] } },
  request: null,
});

const refused = (what: RegExp) => (error: unknown) =>
  error instanceof WireError &&
  error.status === 429 &&
  error.headers['stripe-rate-limited-reason'] === 'resource-specific' &&
  what.test(error.message);

test('the quantity of a subscription changes at most 200 times an hour', () => {
  const { check, advance } = limited();
  const change = (id: string, to: number) => check('subscriptions.update', id, [changed(id, to - 1, to)]);
  for (let to = 2; to < 202; to += 1) change('sub_1', to);
  assert.throws(
    () => change('sub_1', 202),
    refused(/at most 200 changes of the quantity of subscription sub_1 per hour/),
  );
  // Neither another subscription, nor a change of something else.
  change('sub_2', 2);
  check('subscriptions.update', 'sub_1', [changed('sub_1', 7, 7)]);
  check('subscriptions.update', 'sub_1', [{ ...changed('sub_1', 7, 7), previous: { metadata: {} } }]);
  advance(3_600);
  change('sub_1', 202);
});

test('a payment intent is updated at most 1,000 times an hour', () => {
  const { check, advance } = limited();
  for (let count = 0; count < 1_000; count += 1) check('payment_intents.update', 'pi_1');
  assert.throws(
    () => check('payment_intents.update', 'pi_1'),
    refused(/at most 1000 updates of payment intent pi_1/),
  );
  check('payment_intents.update', 'pi_2');
  check('payment_intents.confirm', 'pi_1');
  advance(3_600);
  check('payment_intents.update', 'pi_1');
});
