import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { once, type ReadyFile, readyFile, sendReadyFile } from '../ready-file.ts';

/** The page needs its own scripts, styles and data, all from this server, and nothing from anywhere else. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The files of Swagger UI that the page loads. */
const scripts = ['swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js'];
const styles = ['swagger-ui.css', 'index.css'];
const icon = 'favicon-32x32.png';
const initializer = 'swagger-initializer.js';
const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
};

const path = '/api/docs';
const swaggerUiFolder = join(
  dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')),
  'static',
);

/**
 * Serves the interactive reference and its document. Everything is rendered once and sent as bytes, because anyone may
 * request it at any rate. The package's own plugin would serialise the document for each request, and respond to some
 * paths outside its folder with 500.
 */
export function registerDocPages(app: FastifyInstance): void {
  const document = () => JSON.stringify(app.swagger());
  const json = file(document, 'application/json; charset=utf-8');
  const files: Readonly<Record<string, () => ReadyFile>> = {
    [path]: file(pageAt(path), 'text/html; charset=utf-8'),
    // Relative addresses, so that the page also works behind a proxy that adds a prefix.
    [`${path}/`]: file(pageAt('.'), 'text/html; charset=utf-8'),
    [`${path}/json`]: json,
    [`${path}/openapi.json`]: json,
    [`${path}/yaml`]: file(() => app.swagger({ yaml: true }), 'application/yaml; charset=utf-8'),
    [`${path}/static/${initializer}`]: file(() => initializerScript, types['js']),
    ...Object.fromEntries(
      [...scripts, ...styles, icon].map((name) => [`${path}/static/${name}`, swaggerUiFile(name)]),
    ),
  };
  for (const [url, read] of Object.entries(files))
    app.get(url, { schema: { hide: true } }, (request, reply) => {
      reply.header('content-security-policy', pagePolicy);
      return sendReadyFile(request, reply, read());
    });
}

function file(content: () => string | Buffer, type = 'application/octet-stream'): () => ReadyFile {
  return once(() => readyFile(Buffer.from(content()), type));
}

function swaggerUiFile(name: string): () => ReadyFile {
  return file(() => readFileSync(join(swaggerUiFolder, name)), types[name.split('.').at(-1) ?? '']);
}

const pageAt = (prefix: string) => () =>
  `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>Till API</title>
${styles.map((name) => `<link rel="stylesheet" href="${prefix}/static/${name}">`).join('\n')}
<link rel="icon" type="image/png" href="${prefix}/static/${icon}" sizes="32x32">
</head>
<body>
<div id="swagger-ui"></div>
${[...scripts, initializer].map((name) => `<script src="${prefix}/static/${name}"></script>`).join('\n')}
</body>
</html>
`;

const initializerScript = `window.onload = () => {
  const folder = window.location.pathname.replace(/\\/?$/, '/');
  window.ui = SwaggerUIBundle({
    dom_id: '#swagger-ui',
    url: folder + 'json',
    deepLinking: true,
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    layout: 'BaseLayout',
    validatorUrl: null,
    displayRequestDuration: true,
    tryItOutEnabled: true,
  });
};
`;
