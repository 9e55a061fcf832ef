import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: true;
  readonly link?: true;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const workspaces: readonly string[] = manifest.workspaces;

const folders = [
  '.',
  'test/node-versions',
  'test/stripe-cli',
  'test/stripe-packages/newest',
  'test/stripe-packages/oldest',
];
const installed = folders.flatMap((folder) => {
  const { packages }: Lock = JSON.parse(readFileSync(`${folder}/package-lock.json`, 'utf8'));
  return Object.entries(packages).filter(([path]) => path.includes('node_modules/'));
});
/** The workspaces are links to their folders. */
const links = installed.filter(([, { link }]) => link).map(([, { resolved }]) => resolved);
const fetched = installed.filter(([, { link }]) => !link);

test('no package has an install script but those that allowScripts names, and none of them is run', () => {
  const scripted = installed
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  assert.deepEqual(scripted.toSorted(), Object.keys(manifest.allowScripts).toSorted());
  assert.deepEqual(new Set(Object.values(manifest.allowScripts)), new Set([false]));
  assert.match(readFileSync('.npmrc', 'utf8'), /^ignore-scripts=true$/m);
});

test('every package is locked by the digest of its content, and none comes from elsewhere than the registry', () => {
  assert.ok(fetched.length > 50);
  assert.deepEqual(links.toSorted(), workspaces.toSorted());
  for (const [path, { integrity, resolved }] of fetched) {
    assert.match(integrity ?? '', /^sha512-/, path);
    assert.equal(resolved, undefined, path);
  }
});

test('every direct dependency is named with one exact version', () => {
  const named = [...folders, ...workspaces].flatMap((folder) => {
    const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
      readFileSync(`${folder}/package.json`, 'utf8'),
    );
    return Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies });
  });
  const ownNames = workspaces.map((folder) => `@till/${folder}`);
  for (const [name, version] of named.filter(([name]) => !ownNames.includes(name)))
    assert.match(String(version), /^(?:npm:[\w-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/, name);
});
