import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';

/**
 * HTTP/1.1 requires exactly one host. Without one, Node itself would respond, without a body. With several, it would
 * use the first, where a proxy may have used the last.
 */
export function unclearHost({ raw }: FastifyRequest, reply: FastifyReply): Failure | undefined {
  if (hasClearHost(raw)) return undefined;
  refused.add(raw.socket);
  reply.header('connection', 'close');
  return new Failure('malformed_request', 'Send exactly one host header.');
}

export function hasClearHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const hosts = countHosts(rawHeaders);
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

const refused = new WeakSet<Duplex>();

/** Whether the connection already got its last response: later requests on it get none. */
export function isRefused(socket: Duplex): boolean {
  return refused.has(socket);
}

/** Names and values alternate. This runs for every request, so names of another length are skipped first. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}
