import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDifference, isSameAccount } from './account.ts';

const account = { id: 'acct_1', livemode: false };

test('accounts are the same if their modes match, and their ids if both are known', () => {
  assert.equal(isSameAccount(account, account), true);
  assert.equal(isSameAccount(account, { ...account, id: 'acct_2' }), false);
  assert.equal(isSameAccount(account, { ...account, livemode: true }), false);
  assert.equal(isSameAccount(account, { ...account, id: null }), true);
  assert.equal(isSameAccount({ ...account, id: null }, account), true);
  assert.equal(isSameAccount({ ...account, id: null }, { id: null, livemode: true }), false);
});

test('a difference names both accounts, both modes and the command that accepts it', () => {
  const text = describeDifference(account, { id: null, livemode: true });
  assert.match(text, /acct_1 in test mode.*an unknown account in live mode.*adopt-account/);
});
