import { posix } from 'node:path';

/** The page that is the start of the site. All other pages are found through its links. */
export const startPage = 'docs/README.md';

/** Where a file of the repository is in the site. Files outside of `docs` are below `project`. */
export function addressOf(path: string): string {
  const inSite = path.startsWith('docs/') ? path.slice('docs/'.length) : `project/${path}`;
  if (!inSite.endsWith('.md')) return inSite;
  return `${inSite
    .replace(/README\.md$/, 'index.md')
    .slice(0, -'.md'.length)
    .toLowerCase()}.html`;
}

/** The file to which a link of a page leads, and its anchor with `#`. Undefined for other sites. */
export function targetOf(page: string, href: string): { path: string; anchor: string } | undefined {
  if (/^[a-z]+:/.test(href)) return undefined;
  const [file = ''] = href.split('#');
  const path = file === '' ? page : posix.join(posix.dirname(page), decodeURIComponent(file));
  return { path, anchor: href.slice(file.length) };
}

/** The relative address of a file from a page, so that the site works below any prefix. */
export function relativeAddress(fromPage: string, toFile: string): string {
  return posix.relative(posix.dirname(addressOf(fromPage)), addressOf(toFile));
}
