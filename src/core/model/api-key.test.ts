import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { idInKey, secretBytes, writeKey } from './api-key.ts';

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
