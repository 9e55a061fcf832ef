import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Binaries, findBinaries, linkLibraries } from './binaries.ts';

test('where no embedded PostgreSQL is installed, the error names the platform and what to set instead', () => {
  for (const [platform, architecture] of [
    ['darwin', 'riscv64'],
    ['linux', 'riscv64'],
  ] as const) {
    assert.throws(() => findBinaries(platform, architecture), {
      name: 'EmbeddedPostgresError',
      message: new RegExp(`^There is no embedded PostgreSQL for ${platform} riscv64 .*: set DATABASE_URL`),
    });
  }
});

/** A package as it is for macOS: libraries with their full versions, and a list of the other names. */
function makePackage(t: TestContext): { readonly root: string; readonly binaries: Binaries } {
  const root = mkdtempSync(join(tmpdir(), 'till-package-'));
  t.after(() => rmSync(root, { recursive: true }));
  const nativeDir = join(root, 'native');
  mkdirSync(join(nativeDir, 'lib'), { recursive: true });
  for (const name of ['libicuuc.77.1.dylib', 'libpq.5.dylib'])
    writeFileSync(join(nativeDir, 'lib', name), name);
  const links = ['libicuuc.77.dylib', 'libicuuc.dylib'].map((name) => ({
    source: 'native/lib/libicuuc.77.1.dylib',
    target: `native/lib/${name}`,
  }));
  writeFileSync(join(nativeDir, 'pg-symlinks.json'), JSON.stringify(links));
  return { root, binaries: { initdb: '', postgres: '', nativeDir } };
}

test('on macOS the missing names of libraries are links in the package, where its programs look for them', async (t) => {
  const { root, binaries } = makePackage(t);
  const linkDir = join(root, 'links');
  // The second start finds the links of the first.
  for (const _start of [1, 2]) await linkLibraries(binaries, linkDir, 'darwin');
  for (const name of ['libicuuc.77.dylib', 'libicuuc.dylib'])
    assert.equal(readlinkSync(join(binaries.nativeDir, 'lib', name)), 'libicuuc.77.1.dylib');
  assert.ok(!existsSync(linkDir));
});

test('on macOS a package in which no link can be created is a clear error', async (t) => {
  const { root, binaries } = makePackage(t);
  rmSync(join(root, 'native/lib'), { recursive: true });
  await assert.rejects(linkLibraries(binaries, join(root, 'links'), 'darwin'), {
    name: 'EmbeddedPostgresError',
    message: /needs the link .*libicuuc\.77\.dylib, which cannot be created: make that folder writable/,
  });
});
