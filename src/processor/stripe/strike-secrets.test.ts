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
    'pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZ',
    'cs_test_a1MtwBwLkdIwHu7ix28a3tq_secret_fidwbEhqYWB3PydgaGdg',
  ]) {
    assert.equal(strikeText(`key ${secret} here`), 'key [struck out] here');
  }
});

test('words that only sound secret stay', () => {
  for (const text of ['top_secret_box', 'my_very_top_secret_agent', 'skill_test_1', 'secretary']) {
    assert.equal(strikeText(text), text);
  }
});

test('a megabyte of near misses is walked through', () => {
  const text = `${'ab_'.repeat(100_000)}${'a'.repeat(500_000)}${'ab_test_'.repeat(50_000)}`;
  assert.equal(strikeText(text), text);
});

test('a value without secrets is returned as the very same object', () => {
  const value = { secretary: 1, list: [null, true, { text: 'no_secret_' }], empty: {} };
  assert.equal(strikeSecrets(value), value);
});

test('what is not struck out is untouched, prototypes and all', () => {
  const value = JSON.parse('{"__proto__":{"a":1},"client_secret":"x","n":1.5}');
  assert.equal(JSON.stringify(strikeSecrets(value)), '{"__proto__":{"a":1},"client_secret":null,"n":1.5}');
});
