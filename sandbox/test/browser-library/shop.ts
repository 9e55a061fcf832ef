import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import type { BrowserContext, Page } from 'playwright-core';
import { browser, closeBrowser, skipWithoutChromium } from '../../../test/browser/support/chromium.ts';
import { type Problems, watchProblems } from '../../../test/browser/support/problems.ts';
import { atProcessEnd } from '../../../test/support/process-end.ts';
import { skipWithout } from '../../../test/support/require-program.ts';
import { projectFolder } from '../../../test/support/till-in-child.ts';
import { startSandbox } from '../../sandbox.ts';
import { useSandboxLibrary } from '../../testing/playwright.mjs';
import { clientOf } from '../support.ts';

/** The official packages of one age. */
export type Age = 'newest' | 'oldest';

/** Far more than any step needs on a busy machine. A signal that never comes must end the test. */
const stepTimeoutMs = 20_000;

const sandbox = await startSandbox({ port: 0 });
export const sandboxUrl = sandbox.url;
export const stripe = clientOf(sandbox.port);

/** A page of a shop: its markup, and the policy that it is served with. */
interface ShopPage {
  readonly body: string;
  readonly policy: string | undefined;
}

const pages = new Map<string, ShopPage>();
const bundles = new Map<string, Promise<string>>();

/** Serves the pages of shops, and the official packages to them. */
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://shop');
  const [, age, kind] = /^\/(newest|oldest)-(plain|react)\.js$/.exec(pathname) ?? [];
  if (age === 'newest' || age === 'oldest') {
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(await bundleOf(age, kind === 'react'));
    return;
  }
  const { body = '<title>Returned</title>', policy } = pages.get(pathname) ?? {};
  response
    .writeHead(200, {
      'content-type': 'text/html',
      ...(policy === undefined ? {} : { 'content-security-policy': policy }),
    })
    .end(`<!doctype html><html lang="en"><meta charset="utf-8">${body}`);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
export const shopUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Only the script of the shop, the library, and frames of the sandbox. Nothing else, and no styles of its own. */
export const strictPolicy = `default-src 'none'; script-src 'self' ${sandboxUrl}; frame-src ${sandboxUrl}`;

let context: Promise<BrowserContext> | undefined;
atProcessEnd(async () => {
  await closeBrowser();
  server.close();
  server.closeAllConnections();
  await sandbox.close();
});

export interface Shop {
  readonly page: Page;
  readonly problems: Problems;
  /** Runs code in the page. It sees `stripe`, and the packages as `kit`. */
  run<T>(code: string): Promise<T>;
  close(): Promise<void>;
}

export interface ShopOptions {
  readonly age?: Age;
  /** How the library gets into the page: by a script tag, or by redirecting the real address to the sandbox. */
  readonly way?: 'tag' | 'intercepted';
  readonly body?: string;
  /** With React and its components in the `kit`, too. */
  readonly hasReact?: boolean;
  readonly policy?: string;
}

/** Opens a shop that has loaded the library by the official package. */
export async function openShop({
  age = 'newest',
  way = 'tag',
  body = '<div id="element"></div>',
  hasReact = false,
  policy,
}: ShopOptions = {}): Promise<Shop> {
  context ??= (await browser()).newContext({ locale: 'en-US', viewport: { width: 800, height: 800 } });
  const page = await (await context).newPage();
  page.setDefaultTimeout(stepTimeoutMs);
  const train = age === 'newest' ? '/endive/stripe.js' : '/v3/';
  const tag = way === 'tag' ? `<script src="${sandboxUrl}${train}"></script>` : '';
  const path = `/shop-${pages.size}`;
  pages.set(path, {
    body: `<title>Shop</title>${tag}<main><h1>Shop</h1>${body}</main><script src="/${age}-${hasReact ? 'react' : 'plain'}.js"></script>`,
    policy,
  });
  const problems = watchProblems(
    page,
    shopUrl,
    sandboxUrl,
    ...(way === 'tag' ? [] : ['https://js.stripe.com']),
  );
  if (way === 'intercepted') await useSandboxLibrary(page, sandboxUrl);
  await page.goto(`${shopUrl}${path}`);
  await page.evaluate(`kit.loadStripe('pk_test_shop').then((loaded) => { globalThis.stripe = loaded; })`);
  return {
    page,
    problems,
    run: (code) => inTime(page.evaluate(`(async () => { ${code} })()`), code),
    close: () => page.close(),
  };
}

/** Code in the page has no limit of its own. */
async function inTime<T>(result: Promise<T>, code: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no result of: ${code}`)), stepTimeoutMs);
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}

/** A test with a shop of its own. It fails if anything goes wrong in the page that the test does not expect. */
export function shopTest(name: string, use: (shop: Shop) => Promise<void>, options: ShopOptions = {}): void {
  test(name, { skip: skipWithoutChromium() || skipWithoutPackages() }, async () => {
    const shop = await openShop(options);
    try {
      await use(shop);
      shop.problems.check();
    } finally {
      await shop.close();
    }
  });
}

function folderOf(age: Age): string {
  return join(projectFolder, 'test/stripe-packages', age);
}

export function skipWithoutPackages(): string | false {
  const missing = (['newest', 'oldest'] as const).find((age) => !existsSync(`${folderOf(age)}/node_modules`));
  return skipWithout(missing === undefined, {
    what: 'the official browser packages',
    install: `npm ci --prefix test/stripe-packages/${missing}`,
  });
}

/** The official packages as an application bundles them, unchanged. */
function bundleOf(age: Age, hasReact: boolean): Promise<string> {
  const name = `${age} ${hasReact}`;
  const bundle = bundles.get(name) ?? bundled(age, hasReact);
  bundles.set(name, bundle);
  return bundle;
}

async function bundled(age: Age, hasReact: boolean): Promise<string> {
  const plain = `
    import { loadStripe } from '@stripe/stripe-js';
    globalThis.kit = { loadStripe };`;
  const react = `
    import * as components from '@stripe/react-stripe-js';
    import * as React from 'react';
    import { createRoot } from 'react-dom/client';
    Object.assign(globalThis.kit, components, { React, createRoot });`;
  const { outputFiles } = await build({
    stdin: { contents: hasReact ? plain + react : plain, resolveDir: folderOf(age) },
    bundle: true,
    write: false,
    // The strict mode of React mounts everything twice only in development.
    define: { 'process.env.NODE_ENV': '"development"' },
  });
  return outputFiles[0]?.text ?? '';
}
