import assert from 'node:assert/strict';
import { test } from 'node:test';
import { welcome } from './welcome.ts';

const facts = {
  url: 'http://127.0.0.1:3000',
  database: 'embedded PostgreSQL',
  cache: 'in-process',
  processor: 'sandbox',
  servesApi: true,
  hasConsole: true,
};

test('a new API key is shown once, and later only its path', () => {
  const first = welcome({ ...facts, generatedKey: { path: '.till/api-key', newKey: 'till_secret' } });
  assert.ok(first.includes('till_secret') && first.includes('.till/api-key'));
  const second = welcome({ ...facts, generatedKey: { path: '.till/api-key', newKey: undefined } });
  assert.ok(second.includes('.till/api-key'));
  assert.ok(!welcome({ ...facts, generatedKey: undefined }).includes('API key'));
});

test('the welcome says what runs where and how to try it', () => {
  const text = welcome({ ...facts, generatedKey: undefined });
  for (const part of [
    facts.url,
    facts.database,
    facts.cache,
    facts.processor,
    `${facts.url}/api/docs`,
    'curl ',
  ]) {
    assert.ok(text.includes(part), part);
  }
});

test('the curl line works when pasted, whatever the name of the folder', () => {
  const text = welcome({ ...facts, generatedKey: { path: "/tmp/it's here/api-key", newKey: undefined } });
  assert.ok(
    text.includes(`curl -H "x-api-key: $(cat '/tmp/it'\\''s here/api-key')" ${facts.url}/api/v1/customers`),
  );
});
