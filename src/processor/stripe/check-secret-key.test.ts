import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSecretKey, mayBeSandbox, publicApiBase } from './check-secret-key.ts';

const sandbox = new URL('http://127.0.0.1:3001');

for (const [what, secretKey, apiBase, nodeEnv, warnings] of [
  ['a live key in production', 'sk_live_1', publicApiBase, 'production', []],
  ['a restricted live key in production', 'rk_live_1', publicApiBase, 'production', []],
  ['a test key outside production', 'sk_test_1', publicApiBase, undefined, []],
  ['a test key with the sandbox', 'sk_test_1', sandbox, 'development', []],
  [
    'a live key elsewhere',
    'sk_live_1',
    new URL('https://proxy.example.com'),
    'production',
    [/unofficial host/],
  ],
  [
    'a live key with the sandbox',
    'sk_live_1',
    sandbox,
    'production',
    [/unofficial host/, /without encryption/],
  ],
  ['a test key in production', 'sk_test_1', publicApiBase, 'production', [/test secret key in production/]],
] as const) {
  test(`${what} gets ${warnings.length} warnings`, () => {
    const found = checkSecretKey({ secretKey, apiBase, nodeEnv });
    assert.equal(found.length, warnings.length);
    for (const [index, warning] of warnings.entries()) assert.match(found[index]?.message ?? '', warning);
    assert.doesNotMatch(JSON.stringify(found), new RegExp(secretKey));
  });
}

test('only a test key for another address than the public one can belong to a sandbox', () => {
  const may = (secretKey: string, apiBase: URL, nodeEnv?: string) =>
    mayBeSandbox({ secretKey, apiBase, nodeEnv });
  assert.equal(may('sk_test_1', sandbox), true);
  assert.equal(may('sk_test_1', publicApiBase), false);
  assert.equal(may('sk_live_1', sandbox), false);
  assert.equal(may('sk_test_1', sandbox, 'production'), false);
});
