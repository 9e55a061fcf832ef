import { isUtf8 } from 'node:buffer';
import { hash, randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure, invalidRequest } from '#core/errors.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import type { Mistake } from '#core/problem-fields.ts';
import { mistakesMax } from '../load/limits.ts';
import { mistakePath } from './mistake-path.ts';

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

/** NUL as it is written in JSON and in a query: a cheap search before any value is examined. */
const escapedNul = '\\u0000';
/** A lone surrogate as written in JSON: neither the processor nor the database accepts one. */
const escapedSurrogate = /\\ud[89a-f]/i;
const encodedNul = '%00';
/** Every schema refuses deeper values anyway. The search stops there to protect the stack. */
const depthMax = 64;

/**
 * Accepts only JSON bodies, without compression. A body must be UTF-8, and contain no key that sets a prototype and no
 * NUL, which PostgreSQL cannot store. An empty body counts as no body, whatever its declared type.
 */
export function registerJsonBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (typeof body === 'string' || body.length === 0) return done(null, undefined);
    if (isEncoded(request.headers)) return done(encodedRefused);
    if (!isUtf8(body))
      return done(new Failure('malformed_request', 'The body is not valid UTF-8. Encode it as UTF-8.'));
    const text = body.toString('utf8');
    return parseJson(request, text, (error, value) => {
      if (error)
        return done(new Failure('malformed_request', `The body is not valid JSON: ${reasonOf(error)}`));
      const isSuspect = text.includes(escapedNul) || escapedSurrogate.test(text);
      const mistakes = isSuspect ? findBadText(value, 'body') : [];
      return mistakes.length === 0 ? done(null, value) : done(badTextRefused(mistakes));
    });
  });
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    return done(new Failure('unsupported_media_type', 'Send the body as application/json.'));
  });
  app.addHook('preValidation', (request, _reply, done) => {
    // A query that the route does not declare is either refused as a whole or ignored.
    const isSuspect = request.url.includes(encodedNul) && request.route.schema?.querystring !== undefined;
    const mistakes = isSuspect ? findBadText(request.query, 'query') : [];
    done(mistakes.length > 0 ? badTextRefused(mistakes) : undefined);
  });
}

export const encodedRefused = new Failure(
  'unsupported_media_type',
  'Send the body uncompressed, without a content-encoding header.',
);

/** Whether the body is compressed. */
export function isEncoded(headers: IncomingHttpHeaders): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';
}

/** The parser's messages quote part of the body, which may be personal data; only the kind of mistake is passed on. */
function reasonOf(error: Error): string {
  const position = /at position \d+/.exec(error.message)?.[0];
  return position === undefined
    ? 'it is incomplete or contains a forbidden key (__proto__, constructor.prototype).'
    : `fix the syntax error ${position}.`;
}

/** Adds to `found`, up to the maximum number of reported mistakes. */
function findBadText(
  value: unknown,
  part: string,
  found: Mistake[] = [],
  names: readonly string[] = [],
): readonly Mistake[] {
  const path = mistakePath(part, ...names);
  if (typeof value === 'string') {
    if (!value.isWellFormed()) found.push({ path, message: 'must be well-formed Unicode' });
    else if (value.includes('\0')) found.push({ path, message: 'must not contain the NUL character' });
  }
  if (typeof value !== 'object' || value === null || names.length >= depthMax) return found;
  for (const [key, item] of Object.entries(value)) {
    if (found.length >= mistakesMax) break;
    if (key.includes('\0')) found.push({ path, message: 'must not have a key with the NUL character' });
    findBadText(item, part, found, [...names, key]);
  }
  return found;
}

function badTextRefused(errors: readonly Mistake[]): Failure {
  return new Failure(
    'invalid_request',
    'The request contains text that cannot be stored. Correct the fields listed in errors.',
    { errors },
  );
}

/**
 * A route that declares no query or no body accepts none: an idempotency key in the wrong place must not cause a second
 * charge. Where there is a schema, the schema decides.
 */
export function undeclaredInput(request: FastifyRequest): Failure | undefined {
  const { schema } = request.route;
  const errors = [
    ...(schema?.querystring === undefined ? mistakesOf('query', request.query) : []),
    ...(schema?.body === undefined ? mistakesOf('body', request.body) : []),
  ];
  if (errors.length === 0) return undefined;
  const detail = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new Failure('invalid_request', detail, { errors });
}

/** An empty object contains nothing, so it is harmless. */
function mistakesOf(part: 'query' | 'body', value: unknown): readonly Mistake[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [{ path: part, message: 'must be empty' }];
  }
  return Object.keys(value)
    .slice(0, mistakesMax)
    .map((name) => ({ path: mistakePath(part, name), message: 'is not a known field' }));
}
