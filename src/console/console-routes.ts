import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { type ReadyFile, readyFile, sendReadyFile } from '../http/ready-file.ts';

/**
 * The page loads only its own script and styles, and calls only this server. Scripts cannot turn text into HTML or code
 * (Trusted Types), no other page can frame it, and no form can send anything elsewhere.
 */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const pageHeaders = {
  'content-security-policy': pagePolicy,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
};

const types = {
  'console.js': 'text/javascript; charset=utf-8',
  'console.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'licences.txt': 'text/plain; charset=utf-8',
} as const;

/** Serves the console: the same page for every path below /console, and the files that it loads. */
export function registerConsoleRoutes(app: FastifyInstance): void {
  const page = readAsset('index.html', 'text/html; charset=utf-8');
  const schema = { hide: true };
  for (const url of ['/console', '/console/*'])
    app.get(url, { schema }, (request, reply) => {
      reply.headers(pageHeaders);
      return sendReadyFile(request, reply, page);
    });
  // A file that does not exist is not a page.
  app.get('/console/assets/*', { schema }, (_request, reply) => reply.callNotFound());
  for (const [name, type] of Object.entries(types)) {
    const asset = readAsset(name, type);
    app.get(`/console/assets/${name}`, { schema }, (request, reply) => sendReadyFile(request, reply, asset));
  }
}

function readAsset(name: string, type: string): ReadyFile {
  return readyFile(readFileSync(new URL(`../../console/dist/${name}`, import.meta.url)), type);
}
