import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { registerSitePages } from '../../src/http/docs/site-pages.ts';
import { startFrame } from '../support/frame.ts';
import { findPages } from '../support/markdown.ts';
import { readProblem } from '../support/problem.ts';
import { projectFolder } from '../support/till-in-child.ts';
import { buildSite } from './support/built-site.ts';

let folder: string;
let html: ReadonlyMap<string, string>;
before(async () => {
  folder = await buildSite();
  const pages = globSync('**/*.html', { cwd: folder });
  html = new Map(pages.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
});
after(() => rm(folder, { recursive: true, force: true }));

test('every page of docs/ is a page of the site, and every link and anchor leads to something there', () => {
  const documents = findPages(projectFolder).filter((path) => path.startsWith('docs/'));
  assert.ok(html.size >= documents.length, `${html.size} pages of ${documents.length}`);
  const files = new Set(globSync('**/*.*', { cwd: folder }));
  const broken: string[] = [];
  let count = 0;
  for (const [path, text] of html)
    for (const [, target = ''] of text.matchAll(/\b(?:href|src)="([^"]*)"/g)) {
      if (/^(https?|mailto):/.test(target)) continue;
      count += 1;
      const [file = '', anchor] = target.split('#');
      const to = file === '' ? path : posix.join(posix.dirname(path), file);
      const hasAnchor = anchor === undefined || html.get(to)?.includes(` id="${anchor}"`) === true;
      if (!files.has(to) || !hasAnchor) broken.push(`${path}: ${target}`);
    }
  assert.deepEqual(broken, []);
  assert.ok(count > 1_000, `${count} links`);
});

test('no page has an inline script or style, or loads anything from elsewhere', () => {
  for (const [path, text] of html) {
    assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)|<style|\sstyle=|<[^>]+\son\w+=/, path);
    assert.doesNotMatch(
      text,
      /<(?:script|link|img|source)\b[^>]*(?:src|href|srcset)="(?:https?:)?\/\//,
      path,
    );
  }
});

test('the sources of the site have no type errors', async () => {
  await promisify(execFile)('tsc', ['-p', 'site', '--singleThreaded'], { cwd: projectFolder }).catch(
    ({ stdout }) => assert.fail(stdout),
  );
});

test('Till serves the site at /docs with the policy of its pages, and no other file', async (t) => {
  const { call } = await startFrame(t, async (app) => registerSitePages(app, folder));
  const short = await call('/docs', { redirect: 'manual' });
  assert.deepEqual([short.status, short.headers.get('location')], [308, 'docs/']);
  for (const [path, type] of [
    ['/docs/', 'text/html; charset=utf-8'],
    ['/docs/decisions/', 'text/html; charset=utf-8'],
    ['/docs/checkout.html', 'text/html; charset=utf-8'],
    ['/docs/search.js', 'text/javascript; charset=utf-8'],
    ['/docs/search-index.json', 'application/json; charset=utf-8'],
  ] as const) {
    const response = await call(path);
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, type], path);
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/, path);
    const again = await call(path, { headers: { 'if-none-match': response.headers.get('etag') ?? '' } });
    assert.equal(again.status, 304, path);
  }
  for (const path of [
    '/docs/nothing',
    '/docs/..%2fpackage.json',
    '/docs/%2e%2e/package.json',
    '/docs/pictures',
  ])
    await readProblem(await call(path), 404, 'not_found');
});

test('without a built site there is no /docs', async (t) => {
  const { call } = await startFrame(t, async (app) => registerSitePages(app, join(projectFolder, 'no-site')));
  await readProblem(await call('/docs'), 404, 'not_found');
});
