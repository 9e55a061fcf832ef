/** A release that cannot be made. The message says what to do. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}

/** Every file that has the version in it, with the places. The first match of each pattern is replaced. */
const versioned: Readonly<Record<string, readonly RegExp[]>> = {
  'package.json': [/^( {2}"version": ")[^"]+/m],
  'client/package.json': [/^( {2}"version": ")[^"]+/m],
  'sandbox/package.json': [/^( {2}"version": ")[^"]+/m],
  'package-lock.json': [
    /^( {2}"version": ")[^"]+/m,
    /^( {4}"": \{\n {6}"name": "@till\/server",\n {6}"version": ")[^"]+/m,
    /^( {4}"client": \{\n {6}"name": "@till\/client",\n {6}"version": ")[^"]+/m,
    /^( {4}"sandbox": \{\n {6}"name": "@till\/sandbox",\n {6}"version": ")[^"]+/m,
  ],
  'openapi.json': [/^( {2}"version": ")[^"]+/m],
  'packages/sandbox/README.md': [/(till-sandbox-)\d[\w.-]*(?=\.tgz)/],
  'client/README.md': [/(till-client-)\d[\w.-]*(?=\.tgz)/],
};

/** The files that a release changes, with their new content. Throws if the release cannot be made. */
export function releaseEdits(
  version: string,
  date: string,
  read: (path: string) => string,
): ReadonlyMap<string, string> {
  const edits = Object.entries(versioned).map(([path, patterns]): [string, string] => [
    path,
    patterns.reduce((text, pattern) => replaceIn(path, text, pattern, version), read(path)),
  ]);
  return new Map([...edits, ['CHANGELOG.md', datedChangelog(read('CHANGELOG.md'), version, date)]]);
}

function replaceIn(path: string, text: string, pattern: RegExp, version: string): string {
  if (!pattern.test(text)) throw new ReleaseError(`${path} has no version where ${pattern} expects it.`);
  return text.replace(pattern, `$1${version}`);
}

function datedChangelog(changelog: string, version: string, date: string): string {
  const heading = `## ${version} (unreleased)\n`;
  if (!changelog.includes(heading))
    throw new ReleaseError(`CHANGELOG.md has no section "${heading.trim()}".`);
  if (notesOf(changelog, version) === '')
    throw new ReleaseError(`The section of ${version} in CHANGELOG.md is empty.`);
  return changelog.replace(heading, `## ${version} (${date})\n`);
}

/** What the changelog says about a version. Empty if it says nothing. */
export function notesOf(changelog: string, version: string): string {
  const [, section = ''] = changelog.split(`\n## ${version} (`);
  return section.slice(section.indexOf('\n')).split('\n## ')[0]?.trim() ?? '';
}
