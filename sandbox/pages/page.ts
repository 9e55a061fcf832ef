import { readFileSync } from 'node:fs';
import type { ControlResponse } from '../wire/server.ts';

/** The pages need no scripts. They load one stylesheet, and their forms lead only to the sandbox itself. */
const contentPolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'";

/**
 * No other page can show the pages in a frame, except those that the browser library shows so. A payment page in a
 * frame has the library's script, which tells the page around it how high it is and when the session is complete.
 */
const headersOf = (framed: Page['framed']) => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `${contentPolicy};${framed === 'reporting' ? " script-src 'self';" : ''} frame-ancestors ${framed === undefined ? "'none'" : '*'}`,
  'cache-control': 'no-store',
  // The address of a page contains a secret.
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
});

const stylesheetPath = '/sandbox/pages.css';
const stylesheet = readFileSync(new URL('./pages.css', import.meta.url), 'utf8');

export const stylesheetResponse: ControlResponse = {
  status: 200,
  body: stylesheet,
  headers: { 'content-type': 'text/css; charset=utf-8', 'x-content-type-options': 'nosniff' },
};

interface Page {
  readonly status?: number;
  readonly title: string;
  readonly content: Html;
  /** The address that the browser opens next. */
  readonly continuesAt?: string | null;
  /** Shows the parts of the content side by side if there is room. */
  readonly isWide?: boolean;
  /** Whether the page may be shown in a frame of another one, and reports to it. */
  readonly framed?: 'silent' | 'reporting' | undefined;
}

/** A whole page. Its title is also its heading. */
export function page({
  status = 200,
  title,
  content,
  continuesAt = null,
  isWide = false,
  framed,
}: Page): ControlResponse {
  // Not a redirect: browsers would apply the content policy of the form to the address of the shop.
  const refresh =
    continuesAt === null ? null : html`<meta http-equiv="refresh" content="0; url=${continuesAt}">`;
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${refresh}
<title>${title} – Sandbox</title>
<link rel="stylesheet" href="${stylesheetPath}">
${framed === 'reporting' ? html`<script defer src="/v3/frame.js"></script>` : null}
</head>
<body>
<header><p>Sandbox: no real money moves.</p></header>
<main aria-label="${title}"${isWide ? html` class="columns"` : null}>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return { status, body: text, headers: headersOf(framed) };
}

/** The response to a form: the browser loads the page again, so that reloading does not repeat the form. */
export function seeOther(location: string): ControlResponse {
  return { status: 303, body: '', headers: { ...headersOf(undefined), location } };
}

/** Text that is safe to send as HTML. Only the `html` template creates it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = Html | string | number | null | readonly Value[];

/**
 * Builds HTML. Escapes every value, for text and for quoted attributes, unless this template created it. A list is
 * joined, and null becomes an empty string.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(parts.map((part, index) => part + rendered(values[index] ?? null)).join(''));
}

function rendered(value: Value): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(rendered).join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
