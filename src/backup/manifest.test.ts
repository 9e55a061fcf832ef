import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { requireSpace } from './disk-space.ts';
import { parseManifest } from './manifest.ts';

const file = { path: 'cluster/data/PG_VERSION', size: 3, sha256: '0'.repeat(64) };
const manifest = {
  format: 1,
  id: '1',
  createdAt: '2026-11-16T00:00:00.000Z',
  tillVersion: '0.1.0',
  postgresMajorVersion: '18',
  schemaVersion: '0001_mirrors.sql',
  hasSandbox: false,
  folders: ['cluster', 'cluster/data'],
  files: [file],
};
const parse = (value: unknown) => parseManifest(JSON.stringify(value), 'B');

test('a manifest is read as it was written', () => {
  assert.deepEqual(parse(manifest), manifest);
});

test('a manifest that is damaged is refused, and so is one of a newer release', () => {
  assert.throws(() => parseManifest('{"format": 1, "id', 'B'), /manifest\.json of B is damaged/);
  for (const damaged of [
    null,
    [],
    1,
    { ...manifest, id: 1 },
    { ...manifest, files: [{ ...file, size: 'x' }] },
  ])
    assert.throws(() => parse(damaged), /is damaged/);
  assert.throws(() => parse({ ...manifest, format: 2 }), /newer release/);
});

test('a path that leads out of the backup is refused', () => {
  for (const path of ['/etc/passwd', '../x', 'cluster/../../x', 'cluster//x', 'other/x', 'cluster/./x', 'x'])
    for (const changed of [{ files: [{ ...file, path }] }, { folders: [path] }])
      assert.throws(() => parse({ ...manifest, ...changed }), /is damaged/, path);
});

test('a disk without room is named', async () => {
  await requireSpace(tmpdir(), 0);
  await assert.rejects(
    requireSpace(tmpdir(), Number.MAX_SAFE_INTEGER),
    /has \d+ MB of free space, and \d+ MB are needed/,
  );
});
