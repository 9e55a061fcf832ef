import { hash, randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure, invalidRequest } from '#core/errors.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';

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

/** Letters, digits and the punctuation of common tracing ids; nothing that could forge a log line. */
const safePattern = /^[\w.:-]{1,128}$/;

/**
 * Text that looks like an API key that Till has created. A caller who confuses two headers must not leave an API key in
 * logs and causes.
 */
const keyPattern = /till_[\w-]{32}/;

/** The caller's request id if it is safe to log, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders, isApiKey: (text: string) => boolean): string {
  const id = headers['x-request-id'];
  const apiKey = headers['x-api-key'];
  if (typeof id !== 'string' || !safePattern.test(id) || keyPattern.test(id)) return randomUUID();
  // The other header may be empty, or contain the API key of another caller.
  if (isApiKey(id)) return randomUUID();
  return typeof apiKey === 'string' && apiKey !== '' && id.includes(apiKey) ? randomUUID() : id;
}

const idempotencyKeyPath = 'header.idempotency-key';
const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** The request's idempotency key, which belongs to the application that sends it. */
export function idempotencyKeyOf(
  request: FastifyRequest,
  fromBody: string | undefined,
): IdempotencyKey | undefined {
  const key = readKey(request, fromBody);
  return key === undefined ? undefined : { keyName: request.caller?.application ?? '', key };
}

/** From the body or the header; if both are present they must match. */
function readKey(request: FastifyRequest, fromBody: string | undefined): string | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return fromBody;
  if (typeof header !== 'string' || !idempotencyKeyPattern.test(header))
    throw invalidRequest(idempotencyKeyPath, 'must be 1 to 255 visible characters');
  if (fromBody !== undefined && fromBody !== header)
    throw invalidRequest(idempotencyKeyPath, 'differs from body.idempotencyKey: send only one of them');
  return header;
}

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
