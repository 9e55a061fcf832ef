import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Action, tellStory } from './story.ts';

const day = 86_400;
const options = { seed: 1, customers: 200, from: 1_700_000_000, to: 1_700_000_000 + 365 * day };
const story = tellStory(options);
const count = (what: Action['do']) => story.filter((action) => action.do === what).length;

test('the same seed gives the same story, and another seed another one', () => {
  assert.deepEqual(tellStory(options), story);
  assert.notDeepEqual(tellStory({ ...options, seed: 2 }), story);
});

test('a story has everything that can happen, in order of time, and within its year', () => {
  for (const what of ['create plan', 'archive plan', 'sign up', 'subscribe', 'change', 'cancel'] as const)
    assert.ok(count(what) > 0, what);
  for (const what of ['lose card', 'bring card', 'leave', 'buy', 'refund', 'defend'] as const)
    assert.ok(count(what) > 0, what);
  assert.ok(story.some((action) => action.do === 'subscribe' && action.addOn !== null));
  const times = story.map(({ at }) => at);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  assert.ok(times.every((at) => at >= options.from && at < options.to));
});

test('customers are invented, and nothing happens to one before the sign-up', () => {
  const signUps = story.filter((action) => action.do === 'sign up');
  assert.equal(signUps.length, options.customers);
  assert.equal(new Set(signUps.map(({ email }) => email)).size, options.customers);
  for (const { email, phone } of signUps) {
    assert.match(email, /^[a-z.]+\.\d+@example\.com$/);
    assert.match(phone ?? '+12025550100', /^\+120255501\d\d$/);
  }
  const signedUpAt = new Map(signUps.map(({ customer, at }) => [customer, at]));
  for (const action of story)
    if ('customer' in action)
      assert.ok(action.at >= (signedUpAt.get(action.customer) ?? Number.POSITIVE_INFINITY));
});

test('most days of the year have a purchase', () => {
  const days = new Set(story.filter((action) => action.do === 'buy').map(({ at }) => Math.floor(at / day)));
  assert.ok(days.size > 200, `${days.size}`);
});
