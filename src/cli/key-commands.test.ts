import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyValuesOf } from './key-commands.ts';
import { UsageError } from './usage-error.ts';

test('the options of a new key', () => {
  assert.deepEqual(keyValuesOf({ name: 'shop', scopes: 'refund, write' }), {
    name: 'shop',
    scopes: ['write', 'refund'],
    expiresAt: null,
  });
  const expiring = keyValuesOf({ name: 'a', scopes: 'read', 'expires-at': '2027-01-31T00:00:00+01:00' });
  assert.deepEqual(expiring.expiresAt, new Date('2027-01-30T23:00:00Z'));
});

test('a wrong option is named', () => {
  for (const [options, message] of [
    [{ scopes: 'read' }, /^--name/],
    [{ name: 'a b', scopes: 'read' }, /^--name/],
    [{ name: 'shop' }, /^--scopes/],
    [{ name: 'shop', scopes: 'read,all' }, /^--scopes/],
    [{ name: 'shop', scopes: 'read,read' }, /^--scopes/],
    [{ name: 'shop', scopes: 'read', 'expires-at': 'tomorrow' }, /^--expires-at/],
  ] as const) {
    assert.throws(
      () => keyValuesOf(options),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  }
});
