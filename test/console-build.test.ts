import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { buildConsole } from '../console/build.ts';

const dist = new URL('../console/dist/', import.meta.url);
/** What a phone on a slow network loads in about two seconds. */
const scriptBytesMax = 150 * 1_024;

test('the committed console is the one that its sources build; `npm run console` renews it', async () => {
  const built = await buildConsole();
  assert.deepEqual(readdirSync(dist).sort(), [...built.keys()].sort());
  for (const [name, content] of built)
    assert.equal(readFileSync(new URL(name, dist), 'utf8') === content, true, `${name} is out of date`);
});

test('the scripts of the console stay small', () => {
  const bytes = gzipSync(readFileSync(new URL('console.js', dist))).byteLength;
  assert.ok(bytes < scriptBytesMax, `${bytes} bytes`);
});
