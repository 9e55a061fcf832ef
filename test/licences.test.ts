import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** They ask for nothing but their text, which every package brings. */
const permissive = [
  '(MIT OR CC0-1.0)',
  'Apache-2.0',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT OR Apache-2.0',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
];
/** Licences with conditions, of packages that only tests and builds use, unchanged. */
const onlyInDevelopment: Readonly<Record<string, string>> = { 'node_modules/axe-core': 'MPL-2.0' };

/** Their manifests name no licence. Their file LICENSE is that of Node: MIT. */
const unnamed = ['node_modules/node-20-linux-arm64', 'node_modules/node-20-linux-x64'];

interface Locked {
  readonly dev?: boolean;
  /** A workspace, which has an entry of its own. */
  readonly link?: boolean;
  readonly license?: string;
}

test('every package has a licence that allows what Till does with it', () => {
  const locks = globSync('{.,test/node-versions}/package-lock.json', { cwd: root });
  assert.equal(locks.length, 2);
  for (const lock of locks) {
    const { packages } = JSON.parse(readFileSync(join(root, lock), 'utf8')) as {
      readonly packages: Readonly<Record<string, Locked>>;
    };
    const locked = Object.entries(packages).filter(([path, { link }]) => path !== '' && !link);
    assert.ok(locked.length > 0, lock);
    const refused = locked.filter(
      ([path, { license = 'none', dev }]) =>
        !permissive.includes(license) &&
        !(license === 'none' && unnamed.includes(path)) &&
        !(dev === true && onlyInDevelopment[path] === license),
    );
    assert.deepEqual(
      refused.map(([path, { license, dev }]) => `${path}: ${license}${dev ? ', only in development' : ''}`),
      [],
      lock,
    );
  }
});
