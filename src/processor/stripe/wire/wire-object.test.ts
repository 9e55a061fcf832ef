import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactText } from './wire-object.ts';

test('a secret inside a longer text is redacted', () => {
  const url = 'https://hooks.example.com/?payment_intent=pi_1&payment_intent_client_secret=';
  assert.equal(redactText(`${url}pi_1_secret_Ab9&x=1`), `${url}[struck out]&x=1`);
  for (const secret of [
    'sk_live_abc',
    'rk_test_abc',
    'sk_test_****abcd',
    'whsec_Ab+/9=',
    'pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZ',
    'seti_1Mm8s8LkdIwHu7ix0OXBfTRG_secret_NXDICkPqPeiBTAFqWmkbff09lRmSVXe',
    'cs_test_a1MtwBwLkdIwHu7ix28a3tq_secret_fidwbEhqYWB3PydgaGdg',
  ]) {
    assert.equal(redactText(`key ${secret} here`), 'key [struck out] here');
  }
});

test('words that only look like secrets stay', () => {
  for (const text of ['top_secret_box', 'my_very_top_secret_agent', 'skill_test_1', 'secretary']) {
    assert.equal(redactText(text), text);
  }
});

test('a megabyte of texts that resemble secrets is searched in full', () => {
  const text = `${'ab_'.repeat(100_000)}${'a'.repeat(500_000)}${'ab_test_'.repeat(50_000)}`;
  assert.equal(redactText(text), text);
});
