import { STATUS_CODES } from 'node:http';
import type { Static } from 'typebox';
import { errorCatalogue } from '#core/error-catalogue.ts';
import { Failure, type FailureCode } from '#core/errors.ts';
import { Type } from '#core/platform/schemas.ts';
import { securityHeaders } from '../security-headers.ts';

export const problemContentType = 'application/problem+json';

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ description: 'A URN that identifies the kind of problem. Each `code` has its own.' }),
    title: Type.String({ description: 'The kind of problem, in words.' }),
    status: Type.Integer({ description: 'The HTTP status of the response.' }),
    detail: Type.String({ description: 'What went wrong in this request, and what to do next.' }),
    code: Type.String({ description: 'A stable code for programs.' }),
    requestId: Type.String({ description: 'Also in the `x-request-id` header and in the log.' }),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
        description: 'Every mistake in an invalid request.',
      }),
    ),
    customerId: Type.Optional(Type.String({ description: 'The customer that already has the externalId.' })),
    subscriptionId: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description:
          'The subscription that the customer already has, or that the checkout resulted in. Null if there is none, or while ' +
          'another request is creating it.',
      }),
    ),
    paymentId: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'The payment that the checkout resulted in. Null if it resulted in none.',
      }),
    ),
    checkoutId: Type.Optional(Type.String({ description: 'The open checkout that prevents it.' })),
    declineCode: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'Why the card was declined. Null if the processor does not say.',
      }),
    ),
    processorCode: Type.Optional(
      Type.String({ description: "The processor's own error code, if it rejected the request." }),
    ),
  },
  { title: 'Problem', description: 'A problem as RFC 9457 defines it.' },
);

type Problem = Static<typeof ProblemSchema>;

interface ProblemResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Problem;
}

/** Turns a failure into the complete response. */
export function problemResponse(failure: Failure, requestId: string): ProblemResponse {
  const { status, title } = errorCatalogue[failure.code];
  const { retryAfterSeconds, allow, isReplay } = failure.extras;
  const { errors, customerId, subscriptionId, paymentId, checkoutId, declineCode, processorCode } =
    failure.extras;
  return {
    status,
    headers: {
      'content-type': problemContentType,
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      ...(allow === undefined ? {} : { allow: allow.join(', ') }),
      ...(isReplay ? { 'idempotent-replayed': 'true' } : {}),
    },
    body: {
      type: `urn:till:problem:${failure.code}`,
      title,
      status,
      detail: failure.message,
      code: failure.code,
      requestId,
      ...(errors === undefined ? {} : { errors: [...errors] }),
      ...(customerId === undefined ? {} : { customerId }),
      ...(subscriptionId === undefined ? {} : { subscriptionId }),
      ...(paymentId === undefined ? {} : { paymentId }),
      ...(checkoutId === undefined ? {} : { checkoutId }),
      ...(declineCode === undefined ? {} : { declineCode }),
      ...(processorCode === undefined ? {} : { processorCode }),
    },
  };
}

/** The raw HTTP response, for errors that occur before there is a request object. */
export function rawProblemResponse(failure: Failure, requestId: string): string {
  const { status, headers, body } = problemResponse(failure, requestId);
  const text = JSON.stringify(body);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries({ ...securityHeaders, ...headers }).map(([name, value]) => `${name}: ${value}`),
    `x-request-id: ${requestId}`,
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

/** An example for the documentation. */
export function problemExample(code: FailureCode): Problem {
  const { example, exampleFields } = errorCatalogue[code];
  return problemResponse(new Failure(code, example, exampleFields), exampleRequestId).body;
}

const exampleRequestId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
