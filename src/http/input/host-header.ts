import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';

/**
 * HTTP/1.1 asks for exactly one host. Node would refuse a request without one in an answer that has no body, and take the
 * first of several, where a proxy before us may have taken the last.
 */
export function unclearHost({ raw }: FastifyRequest, reply: FastifyReply): Failure | undefined {
  const hosts = countHosts(raw.rawHeaders);
  if (hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0')) return undefined;
  refused.add(raw.socket);
  reply.header('connection', 'close');
  return new Failure('malformed_request', 'Send exactly one host header.');
}

const refused = new WeakSet<Socket>();

/** Whether the connection has had its last answer: whatever comes behind it gets none. */
export function isRefused(socket: Socket): boolean {
  return refused.has(socket);
}

/** Names and values take turns. Every request comes by here, so what has another length is not even looked at. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}
