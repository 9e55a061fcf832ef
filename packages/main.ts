import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readManifest } from './build-packages.ts';
import { buildRelease } from './build-release.ts';

/** Builds the packages into dist/, as a release publishes them. */
const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { version = '' } = await readManifest('.');
// The workflow of a release has it. npm verifies with it where a package was built.
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
const repository = server === undefined || name === undefined ? undefined : `git+${server}/${name}.git`;
const files = await buildRelease(
  { folder: join(root, 'dist'), version, repository },
  { manifest: read('package.json'), lock: read('package-lock.json'), changelog: read('CHANGELOG.md') },
);
process.stdout.write(`${files.map((file) => join('dist', file)).join('\n')}\n`);
