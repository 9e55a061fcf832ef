import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { addressOf, startPage } from './addresses.ts';
import { layOut } from './layout.ts';
import { readNavigation } from './navigation.ts';
import { type RenderedPage, renderPage } from './render-page.ts';
import { indexOf } from './search-index.ts';

const here = import.meta.dirname;
const root = resolve(here, '..');
/** The first argument is another folder to write to. */
const out = resolve(process.argv[2] ?? join(here, 'dist'));

const pages = await renderAll();
const navigation = readNavigation(await readFile(join(root, startPage), 'utf8'));
await rm(out, { recursive: true, force: true });
for (const [path, page] of pages) {
  await write(addressOf(path), layOut(path, page, navigation));
  for (const file of page.files) await copy(join(root, file), addressOf(file));
}
await write('search-index.json', indexOf(pages));
for (const file of ['site.css', 'search.js', 'search-options.js', 'icon.svg'])
  await copy(join(here, 'page', file), file);
await copyMinisearch();

/** Renders the start page and every page that can be reached from it. */
async function renderAll(): Promise<ReadonlyMap<string, RenderedPage>> {
  const rendered = new Map<string, RenderedPage>();
  const waiting = [startPage];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (rendered.has(path)) continue;
    const page = renderPage(path, await readFile(join(root, path), 'utf8'));
    rendered.set(path, page);
    waiting.push(...page.pages);
  }
  return rendered;
}

/** Its licence requires that the copyright notice goes with the code. */
async function copyMinisearch(): Promise<void> {
  const folder = dirname(findPackageJSON('minisearch', import.meta.url) ?? here);
  const code = await readFile(join(folder, 'dist/es/index.js'), 'utf8');
  await write('minisearch.js', code.replace(/^\/\/# sourceMappingURL=.*$/m, ''));
  await write('licences.txt', `minisearch\n\n${await readFile(join(folder, 'LICENSE.txt'), 'utf8')}`);
}

async function write(address: string, content: string): Promise<void> {
  await mkdir(dirname(join(out, address)), { recursive: true });
  await writeFile(join(out, address), content);
}

async function copy(from: string, address: string): Promise<void> {
  await mkdir(dirname(join(out, address)), { recursive: true });
  await copyFile(from, join(out, address));
}
