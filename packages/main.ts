import { readManifest } from './build-packages.ts';
import { buildRelease } from './build-release.ts';

/** Builds the packages into dist/, as a release publishes them. */
const { version = '' } = await readManifest('.');
// The workflow of a release has it. npm verifies with it where a package was built.
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
const repository = server === undefined || name === undefined ? undefined : `git+${server}/${name}.git`;
const files = await buildRelease({ version, repository });
process.stdout.write(`${files.join('\n')}\n`);
