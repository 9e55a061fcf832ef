import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { type BrotliOptions, brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptsCoding } from './input/accept.ts';
import { hasTag } from './input/request-parts.ts';

/** A file that does not change while the process runs. */
export interface ReadyFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  /** Compressed at the first request that accepts it, in another thread: most processes never serve this file. */
  readonly gzip: () => Promise<Buffer>;
  readonly br: () => Promise<Buffer>;
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** The media type of a file, by the end of its name. */
export function mediaTypeOf(name: string): string {
  return mediaTypes[extname(name)] ?? 'application/octet-stream';
}

/** Takes a tenth of the time of the best quality, for files that are a few per cent larger. */
const usualQuality = 9;
/**
 * Takes half a second for the largest file and makes it 5 % smaller: for files that people wait for on a mobile
 * network.
 */
export const highQuality = 10;
const compressGzip = promisify(gzip);
const compressBrotli = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress);

export function readyFile(plain: Buffer, type: string, quality = usualQuality): ReadyFile {
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 16)}"`;
  return {
    type,
    etag,
    plain,
    gzip: once(() => compressGzip(plain)),
    br: once(() => compressBrotli(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } })),
  };
}

/** Computes the value at the first call. */
export function once<T>(compute: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= compute();
    return value;
  };
}

/** Callers revalidate the file each time, so that after an upgrade no page runs scripts of the old release. */
export async function sendReadyFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: ReadyFile,
): Promise<FastifyReply> {
  reply.headers({ 'cache-control': 'no-cache', etag: file.etag, vary: 'accept-encoding' });
  if (hasTag(request.headers['if-none-match'], file.etag)) return reply.code(304).send();
  reply.type(file.type);
  const accepted = String(request.headers['accept-encoding'] ?? '');
  const coding = (['br', 'gzip'] as const).find((name) => acceptsCoding(accepted, name));
  if (coding !== undefined) reply.header('content-encoding', coding);
  const bytes = coding === undefined ? file.plain : await file[coding]();
  await request.server.largeResponses.wait(reply);
  return reply.send(bytes);
}
