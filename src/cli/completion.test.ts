import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { commands } from './commands.ts';
import { completionScript, shells } from './completion.ts';

const script = completionScript('bash', commands);

/** What bash offers for the last of these words. */
function complete(...words: readonly string[]): readonly string[] {
  const quoted = ['till', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _till; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-uc', `${script}\n${ask}`], { encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.split('\n').filter(Boolean);
}

test('bash completes commands, verbs, options and their values', () => {
  assert.ok(commands.every(({ name }) => complete('').includes(name.replace(/ .*/, ''))));
  assert.deepEqual(complete('ke'), ['keys']);
  assert.deepEqual(complete('keys', ''), ['create', 'list', 'revoke', '--json', '--help']);
  assert.deepEqual(complete('keys', 'create', '--n'), ['--name']);
  assert.deepEqual(complete('events', '--state', 'p'), ['pending', 'processed']);
  assert.deepEqual(complete('events', '--state', '=', 'f'), ['failed']);
  assert.deepEqual(complete('events', '--state', '='), ['pending', 'processed', 'ignored', 'failed']);
  assert.deepEqual(complete('events', '--state', 'failed', '--ty'), ['--type']);
  assert.deepEqual(complete('events', 'sh'), ['show']);
  assert.deepEqual(complete('completion', 'f'), ['fish']);
  assert.ok(complete('sandbox', '--data-dir', 'src/cl').includes('src/cli'));
  assert.deepEqual(complete('backup', 'src/cl'), ['src/cli']);
});

test('the scripts are valid in each shell that is installed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'till-completion-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const shell of shells) {
    const file = join(folder, shell);
    writeFileSync(file, completionScript(shell, commands));
    const { error, status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
    if (error !== undefined) t.diagnostic(`${shell} is not installed`);
    else assert.equal(status, 0, `${shell}: ${stderr}`);
  }
});
