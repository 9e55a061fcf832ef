import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { notesOf, ReleaseError, releaseEdits } from './release-edits.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const changelog =
  '# Changelog\n\n## 9.0.0 (unreleased)\n\n- New.\n\n### More\n\n- Text.\n\n## 8.9.0 (2020-01-01)\n\n- Old.\n';
const read = (path: string) => (path === 'CHANGELOG.md' ? changelog : readFileSync(join(root, path), 'utf8'));

test('a release changes the version in every file that has it, and the date of the changelog', () => {
  const edits = releaseEdits('9.0.0', '2030-01-02', read);
  const lock = JSON.parse(edits.get('package-lock.json') ?? '');
  const published = ['', 'client', 'sandbox'];
  for (const { version } of [lock, ...published.map((folder) => lock.packages[folder])])
    assert.equal(version, '9.0.0');
  for (const path of ['package.json', 'client/package.json', 'sandbox/package.json'])
    assert.equal(JSON.parse(edits.get(path) ?? '').version, '9.0.0', path);
  assert.equal(JSON.parse(edits.get('openapi.json') ?? '').info.version, '9.0.0');
  assert.match(edits.get('packages/sandbox/README.md') ?? '', /till-sandbox-9\.0\.0\.tgz/);
  assert.equal(edits.get('CHANGELOG.md'), changelog.replace('unreleased', '2030-01-02'));
  // Nothing but versions of Till changes.
  const old = JSON.parse(read('package-lock.json'));
  for (const { packages } of [old, lock]) for (const folder of published) delete packages[folder].version;
  assert.deepEqual(lock.packages, old.packages);
});

test('a release without notes, or whose section of the changelog has a date, is refused', () => {
  const refusal = (version: string, text: string) => {
    const files = (path: string) => (path === 'CHANGELOG.md' ? text : read(path));
    assert.throws(() => releaseEdits(version, '2030-01-02', files), ReleaseError);
  };
  refusal('9.0.1', changelog);
  refusal('8.9.0', changelog);
  refusal('9.0.0', '## 9.0.0 (unreleased)\n\n## 8.9.0 (2020-01-01)\n\n- Old.\n');
});

test('the notes of a version are its section of the changelog', () => {
  assert.equal(notesOf(changelog, '9.0.0'), '- New.\n\n### More\n\n- Text.');
  assert.equal(notesOf(changelog, '8.9.0'), '- Old.');
  assert.equal(notesOf(changelog, '7.0.0'), '');
});
