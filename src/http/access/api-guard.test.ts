import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Scope, scopes } from '#core/model/api-key.ts';
import { grants } from './api-guard.ts';

/** What each scope allows, as the contract says it. */
const implied: Readonly<Record<Scope, readonly Scope[]>> = {
  read: ['read'],
  write: ['write', 'usage', 'read'],
  usage: ['usage'],
  refund: ['refund', 'read'],
  operate: ['operate', 'read'],
  admin: scopes,
};

test('every combination of scopes grants what its scopes imply, and nothing else', () => {
  for (let bits = 0; bits < 2 ** scopes.length; bits += 1) {
    const held = scopes.filter((_, index) => (bits & (2 ** index)) !== 0);
    const allowed = new Set(held.flatMap((scope) => implied[scope]));
    for (const needed of scopes)
      assert.equal(grants(held, needed), allowed.has(needed), `${held} for ${needed}`);
  }
});
