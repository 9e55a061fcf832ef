import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiKeyRing } from './api-guard.ts';
import { parseApiKeys } from './api-key.ts';

test('an entry is an API key or name:key', () => {
  assert.deepEqual(parseApiKeys(['first', ' shop:second '], 'API_KEYS'), {
    keys: [
      { name: 'API_KEYS[1]', application: '', key: 'first' },
      { name: 'shop', application: 'shop', key: 'second' },
    ],
    mistakes: [],
  });
});

test('an invalid entry is a mistake whose message does not show the entry', () => {
  for (const entry of ['', 'shop:', ':key', 'a b:key', 'k\u00e9y', 'shop:a:b', 'x'.repeat(257)]) {
    const { keys, mistakes } = parseApiKeys([entry], 'API_KEYS');
    assert.deepEqual([keys.length, mistakes.length], [0, 1], entry);
    assert.ok(entry === '' || !mistakes[0]?.includes(`${entry} `));
  }
});

test('each of several API keys is recognised, and nothing else', () => {
  const ring = new ApiKeyRing([
    { name: 'old', application: 'old', key: 'aaaa' },
    { name: 'new', application: 'new', key: 'bbbb' },
  ]);
  assert.equal(ring.find('aaaa')?.name, 'old');
  assert.equal(ring.find('bbbb')?.name, 'new');
  for (const wrong of ['', 'a', 'aaaaa', 'AAAA', 'old', 'old:aaaa', 'x'.repeat(10_000)]) {
    assert.equal(ring.find(wrong), undefined, wrong);
  }
});

test('new API keys are valid at once, and the old ones no longer are', () => {
  const ring = new ApiKeyRing([{ name: 'old', application: 'old', key: 'aaaa' }]);
  const caller = ring.find('aaaa');
  ring.replace([
    { name: 'old', application: 'old', key: 'aaaa' },
    { name: 'new', application: 'new', key: 'bbbb' },
  ]);
  assert.equal(caller?.isValid(), true);
  ring.replace([{ name: 'new', application: 'new', key: 'bbbb' }]);
  assert.equal(caller.isValid(), false);
  assert.equal(ring.find('aaaa'), undefined);
  assert.equal(ring.find('bbbb')?.name, 'new');
});
