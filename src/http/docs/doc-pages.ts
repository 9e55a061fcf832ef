import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { mediaTypeOf, once, type ReadyFile, readyFile, sendReadyFile } from '../ready-file.ts';
import { pagePolicy } from '../security-headers.ts';
import { type ReferenceDocument, referencePage } from './reference-page.ts';

/** The files that the page loads. */
const assets = ['reference.js', 'reference.css', 'icon.svg'];

const path = '/api/docs';

/**
 * Serves the interactive reference and its document. Everything is rendered once and sent as bytes, because anyone may
 * request it at any rate.
 */
export function registerDocPages(app: FastifyInstance): void {
  const json = file(() => JSON.stringify(app.swagger()), 'application/json; charset=utf-8');
  const page = (prefix: string) =>
    // The document as it is served, reduced to what the page shows.
    file(
      () => referencePage(JSON.parse(JSON.stringify(app.swagger())) as ReferenceDocument, prefix),
      'text/html; charset=utf-8',
    );
  const files: Readonly<Record<string, () => ReadyFile>> = {
    [path]: page(path),
    // Relative addresses, so that the page also works behind a proxy that adds a prefix.
    [`${path}/`]: page('.'),
    [`${path}/json`]: json,
    [`${path}/openapi.json`]: json,
    [`${path}/yaml`]: file(() => app.swagger({ yaml: true }), 'application/yaml; charset=utf-8'),
    ...Object.fromEntries(
      assets.map((name) => [
        `${path}/static/${name}`,
        file(() => readFileSync(new URL(`page/${name}`, import.meta.url)), mediaTypeOf(name)),
      ]),
    ),
  };
  for (const [url, read] of Object.entries(files))
    app.get(url, { schema: { hide: true } }, (request, reply) => {
      reply.header('content-security-policy', pagePolicy);
      return sendReadyFile(request, reply, read());
    });
}

function file(content: () => string | Buffer, type: string): () => ReadyFile {
  return once(() => readyFile(Buffer.from(content()), type));
}
