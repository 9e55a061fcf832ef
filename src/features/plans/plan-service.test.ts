import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '#core/errors.ts';
import { tooManyItems } from './plan-service.ts';

function refusalOf(message: string, processorParam?: string, processorCode?: string): Failure {
  return new Failure('processor_rejected', message, {
    ...{ effect: 'none' },
    ...(processorParam === undefined ? {} : { processorParam }),
    ...(processorCode === undefined ? {} : { processorCode }),
  });
}

test('a refusal of the number of items is recognised, in whatever words', () => {
  for (const [message, param, code] of [
    ['A subscription can have at most 100 items.', 'items'],
    ['Array items exceeded maximum 100 allowed elements.', 'items'],
    ['Array phases[1][items] exceeded maximum 100 allowed elements.', 'phases[1][items]'],
    ['A subscription can have at most 100 items.', 'subscription_details[items]'],
    ['You may have no more than 20 recurring prices.', 'line_items'],
    ['Subscriptions are limited to 500 plans.'],
    ['This cannot be added.', undefined, 'subscription_items_limit_exceeded'],
  ] as const) {
    const failure = tooManyItems(refusalOf(message, param, code));
    assert.deepEqual([failure?.code, failure?.extras.effect], ['too_many_items', 'none'], message);
    assert.ok(failure?.message.startsWith(message));
  }
});

test('other refusals are not', () => {
  for (const [message, param] of [
    ['This price is archived. Only active prices can be used in a subscription.', 'items[0][price]'],
    ['The quantity of an item must be at most 1000000.', 'items[0][quantity]'],
    ['The invoice has more than 250 invoice items.'],
    ['You may specify up to 20 of these parameters.', 'discounts'],
    ['A subscription must have at least one active plan.', 'items'],
    ['No such price', 'items'],
  ] as const)
    assert.equal(tooManyItems(refusalOf(message, param)), undefined, message);
  const unknown = new Failure('processor_timeout', 'too many items', { effect: 'unknown' });
  assert.equal(tooManyItems(unknown), undefined);
});
