import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { mediaTypeOf, once, type ReadyFile, readyFile, sendReadyFile } from '../ready-file.ts';
import { pagePolicy } from '../security-headers.ts';

/** `npm run site` writes this folder. A checkout has it only after that. */
const builtSite = fileURLToPath(new URL('../../../site/dist', import.meta.url));

/**
 * Serves the documentation at /docs, if it has been built. A request finds only files that existed at the start, so no
 * path leads out of the folder.
 */
export function registerSitePages(app: FastifyInstance, folder = builtSite): void {
  const files = findFiles(folder);
  if (files.size === 0) return;
  const schema = { hide: true };
  // Links are relative to the folder. The redirect is relative too, for a proxy that adds a prefix.
  app.get('/docs', { schema }, (_request, reply) => reply.redirect('docs/', 308));
  app.get<{ Params: { '*': string } }>('/docs/*', { schema }, (request, reply) => {
    const path = request.params['*'];
    const read = files.get(path === '' || path.endsWith('/') ? `${path}index.html` : path);
    if (read === undefined) return reply.callNotFound();
    reply.header('content-security-policy', pagePolicy);
    return sendReadyFile(request, reply, read());
  });
}

/** The files of the site by their paths. Each is read at its first request. */
function findFiles(folder: string): ReadonlyMap<string, () => ReadyFile> {
  return new Map(
    listFiles(folder).map((file) => {
      const path = relative(folder, file).split(sep).join('/');
      return [path, once(() => readyFile(readFileSync(file), mediaTypeOf(file)))];
    }),
  );
}

function listFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
