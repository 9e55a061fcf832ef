import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Adds an `ETag` to a successful response, and omits the body (304) if the caller already has it. The body is still
 * computed for every request, so it is never stale.
 */
export async function sendIfChanged(
  request: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
): Promise<unknown> {
  if (reply.statusCode !== 200 || typeof body !== 'string') return body;
  const etag = `"${hash('sha256', body, 'base64url')}"`;
  void reply.headers({ etag, 'cache-control': 'no-cache' });
  if (!hasTag(request.headers['if-none-match'], etag)) return body;
  void reply.code(304).removeHeader('content-type').removeHeader('content-length');
  return null;
}

/**
 * Whether `If-None-Match` lists a tag. Compares weakly, as RFC 9110 requires: a proxy that compresses a response may
 * weaken its tag.
 */
export function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
