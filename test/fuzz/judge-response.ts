import assert from 'node:assert/strict';
import type { OpenapiDocument } from '../support/openapi-document.ts';
import type { FuzzRequest } from './operation-parts.ts';
import type { WireResponse } from './wire-client.ts';

/** Every header that a response may have. Any other header was injected. */
const responseHeaders = [
  ...['allow', 'cache-control', 'connection', 'content-length', 'content-security-policy', 'content-type'],
  ...['cross-origin-opener-policy', 'cross-origin-resource-policy', 'date', 'etag', 'idempotent-replayed'],
  ...['keep-alive', 'last-modified', 'location', 'permissions-policy', 'referrer-policy', 'retry-after'],
  ...['strict-transport-security', 'transfer-encoding', 'vary', 'x-content-type-options', 'x-frame-options'],
  'x-request-id',
];

/** What depends on another field, the object, the time, or which plans have replaced the placeholders of a request. */
const refusedByState =
  /query\.currency is required with|body\.(metadata must leave at most|expiresAt must be in the future|group must be null|addOns|subscriptionId (is required with|must be sent only with))/;

/**
 * The request was valid and the charge was attempted, but the bank refused it. That is kept under the idempotency key.
 */
export const declined = 402;

/** Fails unless the response is documented, well-formed, and none of a server that failed. */
export function judgeResponse(
  document: OpenapiDocument,
  { operation, method, isRouted }: FuzzRequest,
  { status, headers, text }: WireResponse,
  what: string,
): void {
  assert.ok(status >= 200 && status < 500, what);
  assert.deepEqual(
    Object.keys(headers).filter((name) => !responseHeaders.includes(name)),
    [],
    what,
  );
  const requestId = headers['x-request-id'];
  assert.match(String(requestId), /^[\w.:-]{1,128}$/, what);
  if (method === 'HEAD') {
    assert.equal(text, '', what);
    return;
  }
  if (isRouted)
    document.assertDocumented(operation, { status, contentType: headers['content-type'] ?? null, text });
  if (status < 400) return;
  assert.equal(headers['content-type'], 'application/problem+json', what);
  const problem = JSON.parse(text);
  assert.equal(problem.status, status, what);
  assert.equal(problem.requestId, requestId, what);
  assert.ok(typeof problem.detail === 'string' && typeof problem.code === 'string', what);
}

/** Fails unless the status fits the kind of the request, which its caller may send. */
export function judgeStatus(
  { kind, operation }: FuzzRequest,
  { status, text }: WireResponse,
  what: string,
): void {
  if (!operation.isApi) return;
  if (kind === 'nearly') assert.equal(status, 400, what);
  // Valid in itself, it may still be about what is gone, in another state, or refused by the processor.
  const isRefused = status === 400 && refusedByState.test(text);
  if (kind === 'valid')
    assert.ok(status < 300 || [declined, 404, 409, 422].includes(status) || isRefused, what);
}

/** The first of a long request and response. */
export function describeExchange(
  { kind, method, path, body }: FuzzRequest,
  { status, text }: WireResponse,
): string {
  const sentBody = body === null ? 'no body' : body.toString().slice(0, 500);
  return `${kind} ${method} ${path.slice(0, 300)} with ${sentBody}: ${status} ${text.slice(0, 500)}`;
}
