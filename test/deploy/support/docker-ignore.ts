import { matchesGlob } from 'node:path';

/** Whether a .dockerignore keeps a path out of the build. The last rule that matches the path or its folder decides. */
export function readIgnoreRules(source: string): (path: string) => boolean {
  const rules = source
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ glob: line.replace(/^!/, ''), isIgnored: !line.startsWith('!') }));
  return (path) => {
    const parts = path.split('/');
    const selfAndParents = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    const deciding = rules.findLast(({ glob }) => selfAndParents.some((each) => matchesGlob(each, glob)));
    return deciding?.isIgnored ?? false;
  };
}
