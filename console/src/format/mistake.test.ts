import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mistakeText } from './mistake.ts';

test('a mistake is said in words, whatever the schema says', () => {
  for (const [path, message, text] of [
    ['body.email', 'must match format "email"', 'Email is not an e-mail address.'],
    ['body.name', 'must NOT have more than 256 characters', 'Name is longer than 256 characters.'],
    ['body.name', 'must NOT have fewer than 1 characters', 'Name is empty.'],
    [
      'body.externalId',
      'must match pattern "^[!-~]+$"',
      'External id has characters that are not allowed, or not the right form.',
    ],
    ['body.quantity', 'must be >= 1', 'Quantity must be at least 1.'],
    ['body.addOns[0]', 'is required', 'Add ons is missing.'],
    ['query.status', 'must be one of active, canceled', 'Status is not one of the choices.'],
    ['body.locale', 'must NOT be valid', 'Locale must NOT be valid.'],
    ['body.promotionCode', 'must not be combined with allowPromotionCodes', 'Promotion code is not valid.'],
    [
      'query.from',
      'must be at most 366 days before 2020-01-01',
      'From must be at most 366 days before 2020-01-01.',
    ],
  ] as const)
    assert.equal(mistakeText({ path, message }), text);
});
