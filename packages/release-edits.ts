/** A release that cannot be made. The message says what to do. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}

/** Every file that has the version in it, with the places. The first match of each pattern is replaced. */
const versioned: Readonly<Record<string, readonly RegExp[]>> = {
  'package.json': [/^( {2}"version": ")[^"]+/m],
  'package-lock.json': [/^( {2}"version": ")[^"]+/m, /^( {6}"version": ")[^"]+/m],
  'client/package.json': [/^( {2}"version": ")[^"]+/m],
  'client/package-lock.json': [/^( {2}"version": ")[^"]+/m, /^( {6}"version": ")[^"]+/m],
  'openapi.json': [/^( {2}"version": ")[^"]+/m],
  'packages/sandbox/README.md': [/(till-sandbox-)\d[\w.-]*(?=\.tgz)/],
  'client/README.md': [/(till-client-)\d[\w.-]*(?=\.tgz)/],
};

export interface Release {
  readonly version: string;
  /** The day, as in 2026-11-17. */
  readonly date: string;
}

/** The files that a release changes, with their new content. Throws if the release cannot be made. */
export function releaseEdits(
  { version, date }: Release,
  read: (path: string) => string,
): ReadonlyMap<string, string> {
  const current = /"version": "([^"]+)"/.exec(read('package.json'))?.[1] ?? '';
  if (compareVersions(version, current) < 0)
    throw new ReleaseError(`Version ${version} is older than ${current}, the version in package.json.`);
  const edits = Object.entries(versioned).map(
    ([path, patterns]) =>
      [
        path,
        patterns.reduce((text, pattern) => replaceIn(path, text, pattern, version), read(path)),
      ] as const,
  );
  return new Map([...edits, ['CHANGELOG.md', datedChangelog(read('CHANGELOG.md'), { version, date })]]);
}

function replaceIn(path: string, text: string, pattern: RegExp, version: string): string {
  if (!pattern.test(text)) throw new ReleaseError(`${path} has no version where ${pattern} expects it.`);
  return text.replace(pattern, `$1${version}`);
}

function datedChangelog(changelog: string, { version, date }: Release): string {
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

const versionPattern = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/** Whether a text is a version by Semantic Versioning, without build metadata, which npm ignores. */
export function isVersion(text: string): boolean {
  return versionPattern.test(text);
}

/** Below 0 if the first is older. A version is newer than all its pre-releases, whose order does not matter here. */
export function compareVersions(first: string, second: string): number {
  const [a, b] = [first, second].map((text) => {
    const [, major, minor, patch, preRelease] = versionPattern.exec(text) ?? [];
    return [Number(major), Number(minor), Number(patch), preRelease === undefined ? 1 : 0];
  });
  const differences = (a ?? []).map((part, index) => part - (b?.[index] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}
