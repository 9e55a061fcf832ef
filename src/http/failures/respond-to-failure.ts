import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { errorCatalogue } from '#core/error-catalogue.ts';
import { Failure } from '#core/errors.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Mistake } from '#core/problem-fields.ts';
import { mistakePath } from '../input/mistake-path.ts';
import { isRefused } from '../input/request-parts.ts';
import { bodyBytesMax, connectionLimits, headerBytesMax, mistakesMax } from '../load/limits.ts';
import { securityHeaders } from '../security-headers.ts';
import { problemResponse, rawProblemResponse } from './problem.ts';

/** Responds to a failed request. */
export function respondToFailure(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  logger: Logger,
) {
  const bodyLimit = request.routeOptions?.bodyLimit ?? bodyBytesMax;
  return sendProblem(reply, failureOf(error, request, bodyLimit, logger), request.id);
}

/**
 * What the caller of a failed request sees. An unexpected error is logged with its cause, and the caller sees only a
 * request id.
 */
export function failureOf(
  error: Error & { readonly code?: string },
  request: { readonly id: string; readonly raw: IncomingMessage },
  bodyLimit: number,
  logger: Logger,
): Failure {
  // A caller that disconnects before its body is complete is not a defect, and does not read the response.
  const hasHungUp = request.raw.errored === error;
  const failure = hasHungUp
    ? new Failure(
        'malformed_request',
        'The connection closed before the whole body arrived. Send the request again.',
      )
    : toFailure(error, bodyLimit);
  const requestId = request.id;
  if (failure === undefined) logger.error({ requestId, err: error }, 'request failed');
  else if (errorCatalogue[failure.code].status >= 500) {
    logger.warn({ requestId, code: failure.code, err: failure }, 'request not served');
  }
  return (
    failure ??
    new Failure('internal_error', 'Retry later. If the error persists, look up the request id in the log.')
  );
}

export function sendProblem(reply: FastifyReply, failure: Failure, requestId: string): FastifyReply {
  const response = problemResponse(failure, requestId);
  // Sent as bytes: to a text, the framework would add a charset, a parameter that this media type does not have.
  return reply
    .code(response.status)
    .headers(response.headers)
    .send(Buffer.from(JSON.stringify(response.body)));
}

/** Turns a response that is about to be sent into a problem. Returns its body. */
export function replaceWithProblem(reply: FastifyReply, failure: Failure, requestId: string): Buffer {
  // The headers of the replaced response, such as a cursor, must not be sent either.
  for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name);
  reply.headers(securityHeaders);
  const { status, headers, body } = problemResponse(failure, requestId);
  reply.code(status).headers({ ...headers, 'x-request-id': requestId });
  return Buffer.from(JSON.stringify(body));
}

/** Others have their turn in between: thousands of connections can time out at once. */
const brokenAtOnce = 10;

/**
 * Responds to requests that Node refuses before they are parsed: malformed ones, those with too large headers, and slow
 * ones.
 */
export function createBrokenRequestHandler() {
  const waiting: { readonly code: string | undefined; readonly socket: Duplex }[] = [];
  const respondToSome = () => {
    for (const { code, socket } of waiting.splice(0, brokenAtOnce))
      if (socket.writable) socket.end(rawProblemResponse(brokenRequestFailure(code), randomUUID()));
    if (waiting.length > 0) setImmediate(respondToSome);
  };
  return ({ code }: Error & { readonly code?: string }, socket: Duplex): void => {
    if (code === 'ECONNRESET' || isRefused(socket)) return;
    waiting.push({ code, socket });
    if (waiting.length === 1) setImmediate(respondToSome);
  };
}

function brokenRequestFailure(code: string | undefined): Failure {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Failure('headers_too_large', `Send at most ${headerBytesMax} bytes of headers.`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTooSlow();
    default:
      return new Failure(
        'malformed_request',
        'The request is not valid HTTP. Check the client or proxy that sent it.',
      );
  }
}

/** The headers or the body did not arrive in time. */
export function requestTooSlow(): Failure {
  const { headersTimeoutMs, requestTimeoutMs } = connectionLimits;
  return new Failure(
    'request_timeout',
    `Send the headers within ${headersTimeoutMs / 1_000} s and the whole request within ${requestTimeoutMs / 1_000} s.`,
  );
}

/** Maps an error of the framework to a failure; undefined if it is unexpected. `bodyLimit` is that of the route. */
function toFailure(error: Error & Partial<FastifyError>, bodyLimit: number): Failure | undefined {
  if (error instanceof Failure) return error;
  if (error.validation !== undefined) return invalidRequest(error);
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Failure('payload_too_large', `Send a body of at most ${bodyLimit} bytes.`);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Failure('unsupported_media_type', 'Send the body as application/json.');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Failure(
        'malformed_request',
        'The content-length header does not match the length of the body. Correct the header.',
      );
    case 'FST_ERR_BAD_URL':
      return new Failure('malformed_request', 'The path is not valid percent-encoding. Encode it again.');
    case 'FST_ERR_NOT_FOUND':
      return new Failure(
        'malformed_request',
        'The request method is unknown. See /api/docs for the methods of each path.',
      );
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Failure('not_found', 'A segment of the path is longer than any id. Check the id.');
    default:
      return undefined;
  }
}

function invalidRequest(error: Partial<FastifyError>): Failure {
  // Ids are UUIDs, so no object has any other id.
  if (error.validationContext === 'params')
    return new Failure('not_found', 'No object has this id. Check the id.');
  const part = error.validationContext === 'querystring' ? 'query' : (error.validationContext ?? 'body');
  const errors: Mistake[] = (error.validation ?? []).slice(0, mistakesMax).map((mistake) => {
    const { missingProperty, additionalProperty, propertyName } = mistake.params;
    const field = additionalProperty ?? missingProperty ?? propertyName;
    const steps = mistake.instancePath.split('/').slice(1).map(unescapePointer);
    if (field !== undefined) steps.push(String(field));
    return { path: mistakePath(part, ...steps), message: describe(mistake) };
  });
  const detail = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new Failure('invalid_request', detail, { errors });
}

function describe(mistake: { keyword: string; message?: string; params: Record<string, unknown> }): string {
  switch (mistake.keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return 'is not a known field';
    case 'propertyNames':
      return 'is not an allowed key';
    case 'enum':
      // `join` alone would write null as an empty text.
      return `must be one of ${(mistake.params['allowedValues'] as readonly unknown[]).map(String).join(', ')}`;
    case 'const':
      return `must be equal to ${mistake.params['allowedValue']}`;
    default:
      return mistake.message ?? 'is not valid';
  }
}

function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
