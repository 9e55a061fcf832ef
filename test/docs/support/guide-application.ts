import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import type { Lifetime } from '../../support/backend.ts';
import { projectFolder } from '../../support/till-in-child.ts';
import type { ExamplePlace } from './example-place.ts';
import type { ExampleFile } from './page-examples.ts';

/** The packages that the files import, as in a project that has installed them. */
const packages = join(projectFolder, 'test/stripe-packages/newest/node_modules');

/** What is the reader's own in the guides. */
const ownFiles: readonly ExampleFile[] = [
  {
    path: 'lib/auth.ts',
    code: `export async function currentUser(request: Request): Promise<{ id: string; email: string }> {
      const id = /user=([\\w-]+)/.exec(request.headers.get('cookie') ?? '')?.[1];
      if (id === undefined) throw new Error('nobody is signed in');
      return { id, email: 'ada@example.com' };
    }`,
  },
  {
    path: 'tests/sign-in.ts',
    code: `import type { Page } from '@playwright/test';
    export async function signIn(page: Page): Promise<void> {
      const value = 'user-' + crypto.randomUUID();
      await page.context().addCookies([{ name: 'user', value, url: 'http://127.0.0.1:4000' }]);
    }`,
  },
];

type Handler = (request: Request) => Promise<Response>;

/** The route handlers by their paths and methods, as Next.js finds them. */
export type AppRoutes = Readonly<Record<string, Readonly<Record<string, Handler>>>>;

/** Writes the files of the guides, which together are one application, and checks their types. */
export async function writeApplication(files: readonly ExampleFile[], place: ExamplePlace): Promise<void> {
  for (const { path, code } of [...files, ...ownFiles]) {
    await mkdir(dirname(join(place.folder, path)), { recursive: true });
    await writeFile(join(place.folder, path), place.adapt(code));
  }
  const modules = join(place.folder, 'node_modules');
  for (const name of ['@stripe', '@playwright', 'react', 'react-dom'])
    await symlink(join(packages, name), join(modules, name));
  // The steps need no build, so those of this checkout are installed.
  const steps = join(modules, '@till/sandbox');
  await mkdir(steps);
  for (const name of ['playwright.mjs', 'playwright.d.mts'])
    await symlink(join(projectFolder, 'sandbox/testing', name), join(steps, name));
  const exports = { './playwright': { types: './playwright.d.mts', default: './playwright.mjs' } };
  await writeFile(
    join(steps, 'package.json'),
    JSON.stringify({ name: '@till/sandbox', type: 'module', exports }),
  );
  await writeFile(join(place.folder, 'tsconfig.json'), JSON.stringify(typescriptOptions));
  const tsc = join(projectFolder, 'node_modules/.bin/tsc');
  await promisify(execFile)(tsc, ['--singleThreaded'], { cwd: place.folder }).catch(
    (error: { readonly stdout?: string }) => {
      assert.fail(`the types of the guides are wrong:\n${error.stdout}`);
    },
  );
}

/** Those that Next.js sets, with the strictness of the other examples. */
const typescriptOptions = {
  compilerOptions: {
    target: 'esnext',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['esnext', 'dom', 'dom.iterable'],
    types: ['node'],
    jsx: 'react-jsx',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
    paths: {
      '@/*': ['./*'],
      react: [join(packages, '@types/react')],
      'react/*': [join(packages, '@types/react/*')],
    },
  },
  include: ['app', 'lib', 'tests', '*.ts'],
};

/** Bundles the application and serves it: route handlers, pages in the strict mode of React, and public files. */
export async function serveApplication(
  files: readonly ExampleFile[],
  place: ExamplePlace,
  { life, environment }: { readonly life: Lifetime; readonly environment: Readonly<Record<string, string>> },
): Promise<AppRoutes> {
  const url = new URL(place.adapt('http://127.0.0.1:4000'));
  const pathsOf = (name: string) =>
    files.flatMap(({ path }) =>
      path.endsWith(`/${name}`) ? [path.slice('app'.length, -name.length - 1)] : [],
    );
  const bundle = bundler(place.folder, environment);
  const routePaths = pathsOf('route.ts');
  const imports = routePaths.map((path, index) => `import * as route${index} from './app${path}/route.ts';`);
  const entries = routePaths.map((path, index) => `'${path}': route${index}`);
  const serverFile = join(place.folder, 'server.mjs');
  await writeFile(
    serverFile,
    await bundle(`${imports.join('')} export const routes = { ${entries.join()} };`, 'node'),
  );
  const { routes }: { readonly routes: AppRoutes } = await import(pathToFileURL(serverFile).href);
  const scripts = new Map<string, string>();
  for (const path of pathsOf('page.tsx'))
    scripts.set(
      path,
      await bundle(
        `import Page from './app${path}/page.tsx';
        import { createElement, StrictMode } from 'react';
        import { createRoot } from 'react-dom/client';
        createRoot(document.getElementById('root')).render(createElement(StrictMode, null, createElement(Page)));`,
        'browser',
      ),
    );
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', url);
    const handler = routes[pathname]?.[request.method ?? ''];
    const script = scripts.get(pathname.replace(/\.js$/, ''));
    if (handler !== undefined) {
      const answer = await handler(await toRequest(request, url)).catch((error: unknown) =>
        Response.json({ error: String(error) }, { status: 500 }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
    } else if (script !== undefined && pathname.endsWith('.js'))
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    else if (script !== undefined)
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<!doctype html><div id="root"></div><script src="${pathname}.js"></script>`);
    else if (files.some(({ path }) => path === `public${pathname}`))
      response
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        .end(await readFile(join(place.folder, 'public', pathname)));
    else response.writeHead(404).end();
  });
  server.listen(Number(url.port), url.hostname);
  await once(server, 'listening');
  life.after(async () => {
    server.close();
    server.closeAllConnections();
  });
  return routes;
}

function bundler(folder: string, environment: Readonly<Record<string, string>>) {
  const values = Object.entries({ ...environment, NODE_ENV: 'development' });
  const define = Object.fromEntries(
    values.map(([name, value]) => [`process.env.${name}`, JSON.stringify(value)]),
  );
  return async (contents: string, platform: 'node' | 'browser'): Promise<string> => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: folder },
      bundle: true,
      write: false,
      format: platform === 'node' ? 'esm' : 'iife',
      platform,
      define,
      jsx: 'automatic',
      alias: { '@': folder },
      logLevel: 'error',
    });
    return outputFiles[0]?.text ?? '';
  };
}

async function toRequest(request: IncomingMessage, base: URL): Promise<Request> {
  const { method = 'GET', headers } = request;
  return new Request(new URL(request.url ?? '/', base), {
    method,
    headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
    ...(method === 'GET' ? {} : { body: new Uint8Array(await buffer(request)) }),
  });
}
