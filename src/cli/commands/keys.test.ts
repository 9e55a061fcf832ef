import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../command.ts';
import { keyValuesOf } from './keys.ts';

const now = new Date('2026-11-15T09:30:00Z');

test('the options of a new API key', () => {
  assert.deepEqual(keyValuesOf({ name: 'shop', scopes: 'refund, write' }, now), {
    name: 'shop',
    scopes: ['write', 'refund'],
    expiresAt: null,
  });
  const expiring = keyValuesOf({ name: 'a', scopes: 'read', 'expires-at': '2027-01-31T00:00:00+01:00' }, now);
  assert.deepEqual(expiring.expiresAt, new Date('2027-01-30T23:00:00Z'));
});

test('an invalid option is named', () => {
  for (const [options, message] of [
    [{ scopes: 'read' }, /^--name/],
    [{ name: 'a b', scopes: 'read' }, /^--name/],
    [{ name: 'shop' }, /^--scopes/],
    [{ name: 'shop', scopes: 'read,all' }, /^--scopes/],
    [{ name: 'shop', scopes: 'read,read' }, /^--scopes must name each scope once\.$/],
    [{ name: 'shop', scopes: 'read', 'expires-at': 'tomorrow' }, /^--expires-at/],
    [
      { name: 'shop', scopes: 'read', 'expires-at': now.toISOString() },
      /^--expires-at must be in the future\.$/,
    ],
  ] as const) {
    assert.throws(
      () => keyValuesOf(options, now),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  }
});
