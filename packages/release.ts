import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { buildRelease } from './build-release.ts';
import { ReleaseError, releaseEdits } from './release-edits.ts';

/** By Semantic Versioning, without build metadata, which npm ignores. */
const versionPattern = /^\d+\.\d+\.\d+(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

try {
  await release(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

/** The release is that of the current folder. */
async function release([version = '', ...others]: readonly string[]): Promise<void> {
  if (!versionPattern.test(version) || others.length > 0)
    throw new ReleaseError('Usage: npm run release -- VERSION, such as 1.2.3 or 1.2.3-rc.1');
  const tag = `v${version}`;
  if (git('tag', '--list', tag) !== '') throw new ReleaseError(`The tag ${tag} exists.`);
  // What is released is what others can see and test.
  const branch = git('branch', '--show-current');
  if (branch !== 'main')
    throw new ReleaseError(`Releases are made from main, not from ${branch || 'a commit'}.`);
  if (git('status', '--porcelain') !== '') throw new ReleaseError('Commit or remove your changes first.');
  const today = new Date().toISOString().slice(0, 10);
  const edits = releaseEdits(version, today, (path) => readFileSync(path, 'utf8'));
  for (const [path, text] of edits) writeFileSync(path, text);
  try {
    const files = await buildRelease({ version });
    process.stdout.write(`built: ${files.join(', ')}\n`);
  } catch (error) {
    git('checkout', '--', '.');
    throw error;
  }
  git('commit', '--all', '--message', `Release ${version}`);
  git('tag', '--annotate', tag, '--message', `Till ${version}`);
  git('push', '--atomic', 'origin', 'main', tag);
  process.stdout.write(`pushed: the workflow of ${tag} publishes\n`);
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}
