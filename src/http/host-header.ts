import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../errors.ts';

/**
 * HTTP/1.1 asks for exactly one host. Node would refuse a request without one in an answer that has no body, and take the
 * first of several, where a proxy before us may have taken the last.
 */
export function refuseUnclearHost({ raw }: FastifyRequest, reply: FastifyReply): void {
  const hosts = raw.rawHeaders.filter(
    (text, index) => index % 2 === 0 && text.toLowerCase() === 'host',
  ).length;
  if (hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0')) return;
  reply.header('connection', 'close');
  throw new Failure('malformed_request', 'Send exactly one host header.');
}
