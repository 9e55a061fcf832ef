import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { errorCatalogue } from '#core/error-catalogue.ts';
import { Failure } from '#core/errors.ts';
import type { Logger } from '#core/platform/logger.ts';
import { isRefused } from '../input/request-parts.ts';
import { bodyBytesMax, connectionLimits, headerBytesMax } from '../load/limits.ts';
import { securityHeaders } from '../security-headers.ts';
import { problemResponse, rawProblemResponse } from './problem.ts';
import { toFailure } from './to-failure.ts';

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
