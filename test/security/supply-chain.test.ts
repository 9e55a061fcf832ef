import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: true;
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const installed = Object.entries(packages).filter(([path]) => path !== '');

test('no package has an install script but those that allowScripts names, and none of them is run', () => {
  const scripted = installed
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  assert.deepEqual(scripted.toSorted(), Object.keys(manifest.allowScripts).toSorted());
  assert.deepEqual(new Set(Object.values(manifest.allowScripts)), new Set([false]));
  assert.match(readFileSync('.npmrc', 'utf8'), /^ignore-scripts=true$/m);
});

test('every package is locked by the digest of its content, and none comes from elsewhere than the registry', () => {
  assert.ok(installed.length > 50);
  for (const [path, { integrity, resolved }] of installed) {
    assert.match(integrity ?? '', /^sha512-/, path);
    assert.equal(resolved, undefined, path);
  }
});

test('every direct dependency is named with one exact version', () => {
  const { dependencies, optionalDependencies, devDependencies } = manifest;
  for (const [name, version] of Object.entries({
    ...dependencies,
    ...optionalDependencies,
    ...devDependencies,
  })) {
    assert.match(String(version), /^\d+\.\d+\.\d+(?:-[\w.]+)?$/, name);
  }
});
