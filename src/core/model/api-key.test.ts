import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { grants, idInKey, type Scope, scopes, secretBytes, writeKey } from './api-key.ts';

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

test('an API key contains its id, and no other text does', () => {
  const id = randomUUID();
  const key = writeKey(id, randomBytes(secretBytes));
  assert.match(key, /^till_[\x21-\x7e]+$/);
  assert.ok(key.length <= 256);
  assert.equal(idInKey(key), id);
  const wrong = [
    '',
    'till_',
    `till_${'x'.repeat(43)}`,
    key.slice(1),
    `${key}x`,
    key.toUpperCase(),
    ` ${key}`,
  ];
  for (const text of [...wrong, key.slice(0, -1), id]) assert.equal(idInKey(text), undefined, text);
});
