import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildRelease } from './build-release.ts';
import { isVersion, ReleaseError, releaseEdits } from './release-edits.ts';

const usage = `Usage: npm run release -- VERSION [--dry-run]

Writes the version and the date of the changelog, builds the packages into dist/, commits, tags, and pushes the branch main
with the tag. The workflow of the tag publishes. With --dry-run it only builds, and says what it would do.
`;

/** The exit code for wrong options. */
const badCommandLine = 2;

try {
  process.exitCode = await release(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

/** Returns the exit code. The release is that of the current folder. */
async function release(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { 'dry-run': { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [version = '', ...rest] = positionals;
  if (!isVersion(version) || rest.length > 0) {
    process.stderr.write(usage);
    return badCommandLine;
  }
  const isDryRun = values['dry-run'];
  const tag = `v${version}`;
  if (git('tag', '--list', tag) !== '') throw new ReleaseError(`The tag ${tag} exists.`);
  if (!isDryRun) refuseOtherStates();
  const root = process.cwd();
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const edits = releaseEdits({ version, date: new Date().toISOString().slice(0, 10) }, read);
  const files = await buildRelease(
    { folder: join(root, 'dist'), version },
    {
      manifest: edits.get('package.json') ?? '',
      lock: edits.get('package-lock.json') ?? '',
      changelog: edits.get('CHANGELOG.md') ?? '',
    },
  );
  say(`built: ${files.join(', ')}`);
  const changed = [...edits].filter(([path, text]) => text !== read(path));
  if (isDryRun) {
    say(`would change: ${changed.map(([path]) => path).join(', ')}`);
    say(`would commit, tag ${tag}, and push both`);
    return 0;
  }
  for (const [path, text] of changed) writeFileSync(join(root, path), text);
  git('commit', '--all', '--message', `Release ${version}`);
  git('tag', '--annotate', tag, '--message', `Till ${version}`);
  git('push', '--atomic', 'origin', 'main', tag);
  say(`pushed: the workflow of ${tag} publishes`);
  return 0;
}

/** What is released is what others can see and test. */
function refuseOtherStates(): void {
  const branch = git('branch', '--show-current');
  if (branch !== 'main')
    throw new ReleaseError(`Releases are made from main, not from ${branch || 'a commit'}.`);
  if (git('status', '--porcelain') !== '') throw new ReleaseError('Commit or remove your changes first.');
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
