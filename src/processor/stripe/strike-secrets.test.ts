import assert from 'node:assert/strict';
import { test } from 'node:test';
import { strikeSecrets, strikeText } from './strike-secrets.ts';

test('a field that is a secret becomes null at any depth', () => {
  const value = {
    client_secret: 'pi_1_secret_x',
    kept: 'secretary',
    list: [{ deeper: { confirmation_secret: { client_secret: 'x', type: 'payment_intent' } } }],
    secret: 'ek_test_x',
  };
  assert.deepEqual(strikeSecrets(value), {
    client_secret: null,
    kept: 'secretary',
    list: [{ deeper: { confirmation_secret: null } }],
    secret: null,
  });
});

test('a secret inside a longer text is struck out of it', () => {
  const url =
    'https://hooks.example.com/?payment_intent=pi_1&payment_intent_client_secret=pi_1_secret_Ab9&x=1';
  assert.deepEqual(strikeSecrets({ url }), {
    url: 'https://hooks.example.com/?payment_intent=pi_1&payment_intent_client_secret=[struck out]&x=1',
  });
  for (const secret of [
    'sk_live_abc',
    'rk_test_abc',
    'sk_test_****abcd',
    'whsec_Ab+/9=',
    'seti_1Q_secret_9',
  ]) {
    assert.equal(strikeText(`key ${secret} here`), 'key [struck out] here');
  }
});

test('a value without secrets is returned as the very same object', () => {
  const value = { secretary: 1, list: [null, true, { text: 'no_secret_' }], empty: {} };
  assert.equal(strikeSecrets(value), value);
});

test('what is not struck out is untouched, prototypes and all', () => {
  const value = JSON.parse('{"__proto__":{"a":1},"client_secret":"x","n":1.5}');
  assert.equal(JSON.stringify(strikeSecrets(value)), '{"__proto__":{"a":1},"client_secret":null,"n":1.5}');
});
