import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '#runtime/composition/config.ts';
import { settings } from '#runtime/composition/settings.ts';
import { referencePages, root } from './support/reference/pages.ts';

test('the reference says what the code declares; if not, run "npm run reference"', async () => {
  for (const [path, content] of await referencePages()) {
    // Other systems have other metrics of the process.
    if (path.endsWith('/metrics.md') && process.platform !== 'linux') continue;
    assert.equal(readFileSync(join(root, path), 'utf8'), content, path);
  }
});

test('every variable that is read is declared, and every declared one is read', () => {
  const read = new Set<string>();
  const environment = new Proxy<Readonly<Record<string, string | undefined>>>(
    {},
    { get: (_, name) => void read.add(String(name)) },
  );
  loadConfig(environment, root);
  assert.deepEqual([...read].toSorted(), Object.keys(settings).toSorted());
});
