import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRunByNpm } from './npm-parent.mjs';

const isWatched = (script: string | undefined, ...parent: readonly string[]) =>
  isRunByNpm(script === undefined ? {} : { npm_lifecycle_script: script }, parent);

test('npm or its shell is watched if it waits for this process', () => {
  assert.ok(isWatched("'till'", 'sh', '-c', "'till' start", ''), 'npx till start');
  assert.ok(isWatched('till start', 'sh', '-c', 'till start', ''), 'a script of package.json');
  assert.ok(isWatched('till migrate && till start', '/bin/bash', '-c', 'till migrate && till start', ''));
  assert.ok(isWatched('exec node src/main.ts', 'npm start', '', '', ''), 'the shell became this process');
  assert.ok(isWatched('exec node src/main.ts', 'npm run dev', ''));
});

test('a parent that may end before this process is not watched', () => {
  assert.ok(!isWatched(undefined, 'sh', '-c', 'till start'), 'a shell, such as that of an image');
  assert.ok(!isWatched(undefined, '/sbin/init'));
  for (const script of [
    'nohup till start &',
    'till start & echo $! > pid',
    'setsid till start',
    'till start & disown',
  ])
    assert.ok(!isWatched(script, 'sh', '-c', script), script);
  assert.ok(!isWatched("'till'", 'sh', '-c', "'till' start & wait"));
  assert.ok(
    !isWatched('./start.sh', '/bin/sh', './start.sh'),
    'a script of its own, which may start services',
  );
  assert.ok(!isWatched('npm test', '/usr/bin/node', 'test/check.ts'), 'a program that npm runs');
  assert.ok(!isWatched('bash', 'bash'), 'a terminal inside npm');
  assert.ok(!isWatched('till start'), 'a parent that cannot be read');
});
