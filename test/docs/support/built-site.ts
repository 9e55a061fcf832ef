import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { projectFolder } from '../../support/till-in-child.ts';

/** Twenty times what the build takes on a quiet machine. */
const buildTimeoutMs = 30_000;

/** Builds the documentation into a new folder, which the caller removes. */
export async function buildSite(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'till-site-'));
  const build = [join(projectFolder, 'site/build.ts'), folder];
  await promisify(execFile)(process.execPath, build, { timeout: buildTimeoutMs });
  return folder;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** A file server that knows nothing of the site, which it serves below `prefix`. Returns its address. */
export async function serveFiles(
  t: Pick<TestContext, 'after'>,
  folder: string,
  prefix: string,
): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://files');
    const path = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : 'nothing';
    readFile(join(folder, path.endsWith('/') || path === '' ? `${path}index.html` : path)).then(
      (content) => response.setHeader('content-type', types[extname(path)] ?? 'text/html').end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
