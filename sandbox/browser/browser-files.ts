import { readFileSync } from 'node:fs';
import { apiVersion } from '../wire/api-version.ts';

interface BrowserFile {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The browser library and the pages of its frames. The library has the paths of the real one, so that a test can
 * redirect requests for `https://js.stripe.com` to the sandbox. `address` is the sandbox's own. Returns undefined for
 * other paths.
 */
export function browserFile(path: string, address: string): BrowserFile | undefined {
  const version = versionAt(path);
  if (version !== undefined) return file('text/javascript', library(address, version));
  if (path === '/v3/frame.js') return file('text/javascript', frameScript);
  if (path === '/v3/frame.css') return file('text/css', frameStyle);
  return framePath.test(path)
    ? file('text/html', framePage, { 'content-security-policy': framePolicy })
    : undefined;
}

/** The official package expects the name of a release train, or 3 for the library before there were any. */
function versionAt(path: string): string | 3 | undefined {
  if (/^\/v3(\/|\/stripe\.js)?$/.test(path)) return 3;
  const [found, train] = /^\/(?:([a-z]+)\/)?stripe\.js$/.exec(path) ?? [];
  return found === undefined ? undefined : (train ?? apiVersion.split('.')[1]);
}

const librarySource = bundled('page', [
  'integration-error',
  'frame-link',
  'controller',
  'element',
  'elements',
  'challenge',
  'intents',
  'embedded-checkout',
  'stripe',
]);

function library(address: string, version: string | 3): string {
  const constants = {
    sandboxUrl: address,
    sandboxOrigin: new URL(address).origin,
    libraryVersion: version,
  };
  const lines = Object.entries(constants).map(([name, value]) => `const ${name} = ${JSON.stringify(value)};`);
  return isolated([...lines, librarySource].join('\n'));
}

const frameScript = isolated(
  bundled('frame', [
    'card-values',
    'field-sets',
    'collected-fields',
    'countries',
    'appearance',
    'element-frame',
    'controller-frame',
    'challenge-frame',
    'checkout-frame',
    'frame',
  ]),
);
const frameStyle = source('frame/frame.css');

/** As in the real library, the names of the pages say what is in the frames. */
const framePath = /^\/v3\/(elements-inner-[a-zA-Z]+|controller|three-ds-2-challenge)\.html$/;
const framePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox</title>
<link rel="stylesheet" href="/v3/frame.css">
<script defer src="/v3/frame.js"></script>
</head>
<body></body>
</html>
`;
/** Any page can show the frames. They load and call nothing but the sandbox. */
const framePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *";

function file(type: string, body: string, headers: Readonly<Record<string, string>> = {}): BrowserFile {
  return {
    body,
    headers: {
      'content-type': `${type}; charset=utf-8`,
      'cache-control': 'no-cache',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  };
}

/** The modules of a folder as one script, in the order in which they need each other. */
function bundled(folder: 'page' | 'frame', names: readonly string[]): string {
  return names
    .map((name) =>
      source(`${folder}/${name}.js`)
        .replaceAll(/^import [^;]*;\n/gm, '')
        .replaceAll(/^export /gm, ''),
    )
    .join('\n');
}

function isolated(code: string): string {
  return `(() => {\n'use strict';\n${code}})();\n`;
}

function source(path: string): string {
  return readFileSync(new URL(`./${path}`, import.meta.url), 'utf8');
}
