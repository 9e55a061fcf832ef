import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptsCoding } from '../http/input/accept.ts';
import { hasTag } from '../http/input/if-none-match.ts';

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

/** Serves the console: one page for every address below /console, and the files that it loads. */
export function registerConsoleRoutes(app: FastifyInstance): void {
  const page = readAsset('index.html', 'text/html; charset=utf-8');
  const schema = { hide: true };
  for (const url of ['/console', '/console/*'])
    app.get(url, { schema }, (request, reply) => {
      reply.headers(pageHeaders);
      return sendAsset(request, reply, page);
    });
  // A file that does not exist is not a page.
  app.get('/console/assets/*', { schema }, (_request, reply) => reply.callNotFound());
  for (const [name, type] of Object.entries(types)) {
    const asset = readAsset(name, type);
    app.get(`/console/assets/${name}`, { schema }, (request, reply) => sendAsset(request, reply, asset));
  }
}

interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  /** Compressed at the first request that takes it: that takes a moment, and most processes serve no console. */
  readonly gzip: () => Buffer;
  readonly br: () => Buffer;
}

/** A tenth of the time of the best quality, and files that are a few per cent larger. */
const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

function once<T>(compute: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= compute();
    return value;
  };
}

function readAsset(name: string, type: string): Asset {
  const plain = readFileSync(new URL(`../../console/dist/${name}`, import.meta.url));
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 16)}"`;
  return {
    type,
    etag,
    plain,
    gzip: once(() => gzipSync(plain)),
    br: once(() => brotliCompressSync(plain, quality)),
  };
}

/** Browsers ask each time whether a file has changed: after an upgrade, no page runs with scripts of the old release. */
function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  reply.headers({ 'cache-control': 'no-cache', etag: asset.etag, vary: 'accept-encoding' });
  if (hasTag(request.headers['if-none-match'], asset.etag)) return reply.code(304).send();
  reply.type(asset.type);
  const accepted = String(request.headers['accept-encoding'] ?? '');
  if (acceptsCoding(accepted, 'br')) return reply.header('content-encoding', 'br').send(asset.br());
  if (acceptsCoding(accepted, 'gzip')) return reply.header('content-encoding', 'gzip').send(asset.gzip());
  return reply.send(asset.plain);
}
