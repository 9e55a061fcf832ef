import type { FastifyReply } from 'fastify';

/** Responses are data for programs: nothing in them may be rendered, framed, sniffed, cached or embedded. */
export const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export function setSecurityHeaders(reply: FastifyReply): void {
  reply.headers(securityHeaders);
}
