import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { headingAnchors } from '../site/heading-anchors.ts';
import { findPages, readPage } from './support/markdown.ts';

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

test('every page says in its first line for whom it is, and ends with what to read next', () => {
  // The reference is written from the code, and decisions have a form of their own.
  const guides = [...pages].filter(([path]) =>
    /^(docs\/[^/]+|(client|sandbox|examples\/shop)\/README)\.md$/.test(path),
  );
  assert.ok(guides.length > 30, `${guides.length} pages`);
  for (const [path, { prose }] of guides) {
    const [title = '', first = ''] = prose.filter((line) => line.trim() !== '');
    assert.match(title, /^# /, path);
    assert.match(first, /^\*For .+\.\*$/, `${path} does not say for whom it is`);
    const last =
      prose
        .join('\n')
        .trimEnd()
        .split(/\n{2,}/)
        .at(-1) ?? '';
    assert.match(last, /^Next: [\s\S]*\]\([^)]+\)/, `${path} does not say what is next`);
    assert.equal(prose.filter((line) => line.startsWith('Next: ')).length, 1, path);
  }
});

const results = readFileSync(join(root, 'bench/README.md'), 'utf8').split('## The last table')[1] ?? '';
const [resultsDate = ''] = /\d{4}-\d{2}-\d{2}/.exec(results) ?? [];

/** The cells of a scenario in the last table of the benchmarks. */
function resultOf(name: string): readonly string[] {
  const cells = new RegExp(`^\\| \`${name}\` +\\|(.*)$`, 'm').exec(results)?.[1] ?? '';
  return cells.split('|').map((cell) => cell.trim());
}

test('the numbers of the comparison are those of the last benchmarks', () => {
  const [perSecond, , , ratio] = resultOf('webhook_end_to_end');
  const [, , , ratioToStripe] = resultOf('webhook_end_to_end_vs_stripe');
  const [cpu, , peerCpu] = resultOf('webhook_cpu');
  const quoted = readFileSync(join(root, 'docs/comparison.md'), 'utf8');
  for (const number of [resultsDate, perSecond, ratio, ratioToStripe, cpu, peerCpu])
    assert.ok(number && quoted.includes(number), `docs/comparison.md does not have ${number}`);
});

test('the numbers of the costs are those of the last benchmarks', () => {
  const quoted = readFileSync(join(root, 'docs/costs.md'), 'utf8');
  for (const text of [resultsDate, `${resultOf('memory')[0]} MB`])
    assert.ok(quoted.includes(text), `docs/costs.md does not have ${text}`);
  for (const name of [
    'read_entitlements',
    'read_subscription',
    'webhook_end_to_end',
    'create_payment_overhead',
    'outbound_delivery',
  ]) {
    const [till, postgres] = resultOf(name)[6]?.split(' + ').map(inWholeNumbers) ?? [];
    const row = `| ${till} | ${postgres} |`;
    assert.ok(quoted.includes(row), `docs/costs.md does not have ${row} for ${name}`);
  }
});

/** The benchmark shows three digits, and separates thousands. */
function inWholeNumbers(shown: string): string {
  return Math.round(Number(shown.replace(',', ''))).toLocaleString('en-US');
}

/** A file that is not a page may have a line as its anchor. */
function hasAnchor(path: string, anchor: string): boolean {
  const page = pages.get(path);
  if (page === undefined) return statSync(join(root, path)).isFile() && /^L\d+(-L\d+)?$/.test(anchor);
  return headingAnchors(page.headings.map(({ text }) => text)).includes(decodeURIComponent(anchor));
}

test('decisions stay short: at most 35 pages of less than 400 words, each in the index under its title', () => {
  const paths = [...pages.keys()].filter((path) => /^docs\/decisions\/\d/.test(path));
  assert.ok(paths.length <= 35, `${paths.length} pages`);
  const index = readFileSync(join(root, 'docs/decisions/README.md'), 'utf8');
  for (const path of paths) {
    const text = readFileSync(join(root, path), 'utf8');
    const words = text.trim().split(/\s+/).length;
    assert.ok(words < 400, `${path} has ${words} words`);
    for (const part of ['**Question.**', '**Answer', '**Rejected.**'])
      assert.ok(text.includes(part), `${path} has no ${part}`);
    const [, number = '', title = ''] = /^# (\d{4}) (.*)/.exec(text) ?? [];
    assert.ok(index.includes(`- [${number}](${basename(path)}) ${title}\n`), `${path} is not in the index`);
  }
});
