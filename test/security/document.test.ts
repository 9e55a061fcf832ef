import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

test('every test that docs/security.md names is there', () => {
  const text = readFileSync('docs/security.md', 'utf8');
  const named = [...text.matchAll(/`((?:test|src)\/[^`]+\.test\.ts)`(?: "([^"]+)")?/g)];
  assert.ok(named.length > 50);
  for (const [, path = '', name = ''] of named) {
    assert.ok(existsSync(path), path);
    assert.ok(readFileSync(path, 'utf8').includes(name), `${path} "${name}"`);
  }
});
