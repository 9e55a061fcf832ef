import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';

const consolePath = '/console';
/** The console calls the operations of the API below this path, with the cookie of its session. */
const callPath = `${consolePath}/api/v1/`;

/**
 * The operations of the API have one set of routes, so a request of the console is rewritten to the path of the
 * operation.
 */
export function rewriteConsoleUrl({ url = '' }: Pick<IncomingMessage, 'url'>): string {
  return url.startsWith(callPath) ? url.slice(consolePath.length) : url;
}

/** Whether the session of the console authenticates the request, instead of an API key. */
export function isConsoleCall({ originalUrl }: Pick<FastifyRequest, 'originalUrl'>): boolean {
  return originalUrl.startsWith(callPath);
}

/**
 * Fails unless the console itself has sent the request. A page of another origin cannot send the header: the browser
 * first sends a preflight request, and Till does not allow it. `SameSite` and the origin are further barriers.
 */
export function requireConsole({ headers }: FastifyRequest, origins: readonly string[]): void {
  const { origin, 'content-type': type = '' } = headers;
  if (headers['x-till-console'] !== '1') throw forbidden('Send the header x-till-console: 1.');
  if (origin !== undefined && !origins.includes(origin))
    throw forbidden('The request comes from another origin than the console. Check PUBLIC_URL.');
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (hasBody && !/^application\/json *(;|$)/i.test(type))
    throw forbidden('Send the body with content-type: application/json.');
}

function forbidden(detail: string): Failure {
  return new Failure('forbidden', detail);
}

/**
 * The value of a cookie. Undefined if there is none, or if two cookies have the name: one of them was not set by Till.
 */
export function cookieOf({ headers }: Pick<FastifyRequest, 'headers'>, name: string): string | undefined {
  const prefix = `${name}=`;
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => pair.slice(prefix.length));
  return values.length === 1 ? values[0] : undefined;
}
