import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { completeMoves, type FolderMove, moveTogether } from './pending-moves.ts';

const moves: readonly FolderMove[] = [
  { from: 'postgres/new/sandbox', to: 'sandbox', aside: 'sandbox.old' },
  { from: 'postgres/new', to: 'postgres/cluster', aside: 'postgres/cluster.old' },
];

/** A data directory with folders that have the given text in a file. */
function createDataDir(t: TestContext, texts: Readonly<Record<string, string>>): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'till-moves-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  for (const [folder, text] of Object.entries(texts)) {
    mkdirSync(join(dataDir, folder), { recursive: true });
    writeFileSync(join(dataDir, folder, 'text'), text);
  }
  return dataDir;
}

const textIn = (dataDir: string, folder: string) => readFileSync(join(dataDir, folder, 'text'), 'utf8');
const before = { sandbox: 'A', 'postgres/cluster': 'B', 'postgres/new': 'D', 'postgres/new/sandbox': 'C' };

function assertMoved(dataDir: string): void {
  assert.deepEqual(readdirSync(join(dataDir, 'postgres')).sort(), ['cluster', 'cluster.old']);
  assert.equal(textIn(dataDir, 'sandbox'), 'C');
  assert.equal(textIn(dataDir, 'sandbox.old'), 'A');
  assert.equal(textIn(dataDir, 'postgres/cluster'), 'D');
  assert.equal(textIn(dataDir, 'postgres/cluster.old'), 'B');
}

test('folders take the place of others, which move aside', async (t) => {
  const dataDir = createDataDir(t, before);
  await moveTogether(dataDir, moves);
  assertMoved(dataDir);
  await completeMoves(dataDir);
  assertMoved(dataDir);
});

test('folders take a place that is free', async (t) => {
  const dataDir = createDataDir(t, { 'postgres/new': 'D', 'postgres/new/sandbox': 'C' });
  await moveTogether(dataDir, moves);
  assert.deepEqual(readdirSync(dataDir).sort(), ['postgres', 'sandbox']);
  assert.equal(textIn(dataDir, 'postgres/cluster'), 'D');
});

test('moves that were interrupted after any step are completed', async (t) => {
  const steps: readonly (readonly [string, string])[] = moves.flatMap(({ from, to, aside }) => [
    [to, aside],
    [from, to],
  ]);
  for (let done = 0; done <= steps.length; done += 1) {
    const dataDir = createDataDir(t, before);
    writeFileSync(join(dataDir, 'postgres/pending-moves.json'), JSON.stringify(moves));
    for (const [from, to] of steps.slice(0, done)) renameSync(join(dataDir, from), join(dataDir, to));
    await completeMoves(dataDir);
    assertMoved(dataDir);
  }
});
