import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { anchorsOf, findPages, readPage } from './support/markdown.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = new Map(
  findPages(root).map((path) => [path, readPage(readFileSync(join(root, path), 'utf8'))]),
);

test('every relative link leads to a file of the repository, and every anchor to a heading', () => {
  const broken: string[] = [];
  let count = 0;
  for (const [path, { links }] of pages) {
    for (const { target, line } of links) {
      if (/^[a-z]+:/.test(target)) continue;
      count += 1;
      const [file = '', anchor] = target.split('#');
      const to = file === '' ? path : normalize(join(dirname(path), decodeURIComponent(file)));
      const isThere = !to.startsWith('..') && existsSync(join(root, to));
      if (!isThere) broken.push(`${path}:${line}: ${target} does not exist`);
      else if (anchor !== undefined && !hasAnchor(to, anchor))
        broken.push(`${path}:${line}: ${target} has no such heading`);
    }
  }
  assert.deepEqual(broken, []);
  assert.ok(count > 100, `${count} links`);
});

test('every image has a text alternative', () => {
  const silent = [...pages].flatMap(([path, { links }]) =>
    links.filter(({ isImage, text }) => isImage && text.trim() === '').map(({ line }) => `${path}:${line}`),
  );
  assert.deepEqual(silent, []);
});

test('every page of docs/ is reachable from docs/README.md', () => {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    const page = pages.get(path);
    if (page === undefined || seen.has(path)) return;
    seen.add(path);
    for (const { target } of page.links) {
      const [file = ''] = target.split('#');
      if (file !== '' && !/^[a-z]+:/.test(target)) visit(normalize(join(dirname(path), file)));
    }
  };
  visit('docs/README.md');
  const lonely = [...pages.keys()].filter((path) => path.startsWith('docs/') && !seen.has(path));
  assert.deepEqual(lonely, []);
});

test('the numbers of the comparison are those of the last benchmarks', () => {
  const results = readFileSync(join(root, 'bench/README.md'), 'utf8').split('## The last table')[1] ?? '';
  const [when = ''] = /\d{4}-\d{2}-\d{2}/.exec(results) ?? [];
  const row = (name: string) =>
    new RegExp(`^\\| \`${name}\` +\\|(.*)$`, 'm')
      .exec(results)?.[1]
      ?.split('|')
      .map((cell) => cell.trim()) ?? [];
  const [perSecond, , , ratio] = row('webhook_end_to_end');
  const [, , , ratioToStripe] = row('webhook_end_to_end_vs_stripe');
  const [cpu, , peerCpu] = row('webhook_cpu');
  const quoted = readFileSync(join(root, 'docs/comparison.md'), 'utf8');
  for (const number of [when, perSecond, ratio, ratioToStripe, cpu, peerCpu])
    assert.ok(number && quoted.includes(number), `docs/comparison.md does not have ${number}`);
});

/** A file that is not a page may have a line as its anchor. */
function hasAnchor(path: string, anchor: string): boolean {
  const page = pages.get(path);
  if (page === undefined) return statSync(join(root, path)).isFile() && /^L\d+(-L\d+)?$/.test(anchor);
  return anchorsOf(page.headings).has(decodeURIComponent(anchor));
}
