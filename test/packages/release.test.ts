import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { effort } from '../support/effort.ts';
import { projectFolder } from '../support/till-in-child.ts';

const version = '0.1.0';
/**
 * What a release is built from. Two releases are built, so the short form has only a part of the source:
 * `server.test.ts` and `sandbox.test.ts` test whole packages.
 */
const needed = effort({
  short: /^(src\/core\/model|sandbox\/(pages|testing)|client|packages|console\/dist)\/|^(sandbox\/)?[^/]+$/,
  long: /^(src|sandbox|client|packages|migrations|console\/dist)\/|^[^/]+$/,
});
let folder: string;
/** A repository with the files of this checkout, and a bare one to which it pushes. */
let repository: string;
let remote: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'till-release-'));
  repository = join(folder, 'till');
  remote = join(folder, 'remote.git');
  const listed = git(projectFolder, 'ls-files', '-z', '--cached', '--others', '--exclude-standard');
  for (const path of listed.split('\0').filter((name) => needed.test(name))) {
    await mkdir(dirname(join(repository, path)), { recursive: true });
    // A file that is deleted and not yet committed is still listed.
    await cp(join(projectFolder, path), join(repository, path)).catch(ignoreMissing);
  }
  const changelog = `# Changelog\n\n## ${version} (unreleased)\n\n- The first release.\n`;
  await writeFile(join(repository, 'CHANGELOG.md'), changelog);
  await symlink(join(projectFolder, 'node_modules'), join(repository, 'node_modules'));
  git(folder, 'init', '--quiet', '--bare', remote);
  git(repository, 'init', '--quiet', '--initial-branch', 'main');
  await writeFile(join(repository, '.git/info/exclude'), '/node_modules\n');
  git(repository, 'remote', 'add', 'origin', remote);
  git(repository, 'add', '--all');
  git(repository, 'commit', '--quiet', '--message', 'Everything');
});
after(() => rm(folder, { recursive: true, force: true }));

test('a release that cannot be built changes nothing', async () => {
  await writeFile(join(repository, 'client/src/broken.ts'), 'export const broken: number = "";\n');
  git(repository, 'add', '--all');
  git(repository, 'commit', '--quiet', '--message', 'Break it');
  await assert.rejects(release(version), { code: 1, stderr: /does not compile/ });
  assert.equal(git(repository, 'status', '--porcelain'), '');
  assert.equal(git(repository, 'tag'), '');
  git(repository, 'reset', '--quiet', '--hard', 'HEAD~1');
});

test('a release is a commit and a tag, which are pushed together', async () => {
  const { stdout } = await release(version);
  assert.match(stdout, /^pushed: the workflow of v0\.1\.0 publishes$/m);
  assert.equal(git(repository, 'status', '--porcelain'), '');
  const refs = ['refs/heads/main', `refs/tags/v${version}^{commit}`];
  const [branch, tagged] = refs.map((ref) => git(remote, 'rev-parse', ref));
  assert.equal(branch, tagged);
  assert.equal(git(remote, 'log', '--format=%s', '-1', 'main'), `Release ${version}`);
  const today = /^## 0\.1\.0 \(\d{4}-\d\d-\d\d\)$/m;
  assert.match(git(remote, 'show', 'main:CHANGELOG.md'), today);
  await assertArtifacts();
});

test('a version that exists, another branch and changes that are not committed are refused', async () => {
  await assert.rejects(release(version), { code: 1, stderr: /^The tag v0\.1\.0 exists\.\n$/ });
  await assert.rejects(release('0.1'), { code: 1, stderr: /^Usage: npm run release/ });
  await assert.rejects(release('0.2.0'), {
    code: 1,
    stderr: /no section "## 0\.2\.0 \(unreleased\)"/,
  });
  await writeFile(join(repository, 'new-file'), '');
  await assert.rejects(release('0.2.0'), { code: 1, stderr: /^Commit or remove your changes first\.\n$/ });
  git(repository, 'switch', '--quiet', '--create', 'other');
  await assert.rejects(release('0.2.0'), {
    code: 1,
    stderr: /^Releases are made from main, not from other\.\n$/,
  });
});

/** The packages, the bill of materials, and their checksums. */
async function assertArtifacts(): Promise<void> {
  const dist = join(repository, 'dist');
  const sums = (await readFile(join(dist, 'SHA256SUMS'), 'utf8')).trim().split('\n');
  const names = ['server', 'client', 'sandbox'].map((name) => `till-${name}-${version}.tgz`);
  assert.deepEqual(
    sums.map((line) => line.split('  ')[1]),
    [...names, `till-${version}.cdx.json`],
  );
  for (const [digest, name = ''] of sums.map((line) => line.split('  '))) {
    const bytes = await readFile(join(dist, name));
    assert.equal(createHash('sha256').update(bytes).digest('hex'), digest, name);
  }
  const bill = JSON.parse(await readFile(join(dist, `till-${version}.cdx.json`), 'utf8'));
  assert.equal(bill.bomFormat, 'CycloneDX');
  assert.deepEqual([bill.metadata.component.name, bill.metadata.component.version], ['till', version]);
  const parts: readonly string[] = bill.components.map(({ name }: { name: string }) => name);
  // Development needs some of them too.
  for (const name of ['stripe', 'pg', 'pg-protocol', 'ajv', 'jose']) assert.ok(parts.includes(name), name);
  assert.ok(!parts.includes('typescript'), `${parts}`);
  assert.equal(await readFile(join(dist, 'release-notes.md'), 'utf8'), '- The first release.\n');
}

/** Ten times what it takes on a busy machine. */
const timeoutMs = 600_000;

function release(...args: readonly string[]): Promise<{ readonly stdout: string }> {
  return promisify(execFile)(process.execPath, ['packages/release.ts', ...args], {
    cwd: repository,
    env: environment,
    timeout: timeoutMs,
  });
}

/** The settings of the person who runs the tests, such as signing keys and hooks, do not matter. */
const environment = {
  ...process.env,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Till',
  GIT_AUTHOR_EMAIL: 'till@example.com',
  GIT_COMMITTER_NAME: 'Till',
  GIT_COMMITTER_EMAIL: 'till@example.com',
};

function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd, env: environment, encoding: 'utf8' }).trim();
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
