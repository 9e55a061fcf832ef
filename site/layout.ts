import { Html, html } from '../src/http/docs/html.ts';
import { pagePolicy } from '../src/http/security-headers.ts';
import { relativeAddress, startPage } from './addresses.ts';
import type { readNavigation } from './navigation.ts';
import type { RenderedPage } from './render-page.ts';

/**
 * The policy of Till's pages holds on any server, because each page has it. Who may frame a page, only a header of the
 * server can say.
 */
const policy = pagePolicy
  .split('; ')
  .filter((rule) => !rule.startsWith('frame-ancestors'))
  .join('; ');

/** The whole of a page: its content between the search and the list of all pages. */
export function layOut(
  path: string,
  { title, html: content }: RenderedPage,
  navigation: ReturnType<typeof readNavigation>,
): string {
  // The files of the frame are beside the start page.
  const base = relativeAddress(path, 'docs/') || '.';
  const groups = navigation.map(
    ({ name, pages }) => html`<h2>${name}</h2>
<ul>
${pages.map(({ name, path: to }) => html`<li><a href="${relativeAddress(path, to)}"${new Html(to === path ? ' aria-current="page"' : '')}>${name}</a></li>\n`)}</ul>
`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${path === startPage ? 'Till: documentation' : `${title} · Till`}</title>
<link rel="icon" href="${base}/icon.svg">
<link rel="stylesheet" href="${base}/site.css">
<script type="module" src="${base}/search.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="${relativeAddress(path, startPage)}">Till</a>
<search id="search" hidden>
<input type="search" aria-label="Search the documentation" placeholder="Search" autocomplete="off" spellcheck="false">
<div class="results">
<p role="status"></p>
<ol></ol>
</div>
</search>
</header>
<div class="columns">
<nav aria-label="Pages">
<details open>
<summary>All pages</summary>
${groups}</details>
</nav>
<main id="content" tabindex="-1">
${new Html(content)}</main>
</div>
</body>
</html>
`.text;
}
