import { STATUS_CODES } from 'node:http';
import { type Static, Type } from 'typebox';
import { Failure, type FailureCode, failureTitles } from '../errors.ts';
import { objectMissing } from '../processor/refused-write.ts';
import { securityHeaders } from './security-headers.ts';

/** The one place where failures become HTTP statuses. */
export const failureStatus: Readonly<Record<FailureCode, number>> = {
  invalid_request: 400,
  malformed_request: 400,
  invalid_signature: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_key_in_flight: 409,
  plan_archived: 409,
  payment_not_cancelable: 409,
  payment_not_refundable: 409,
  refund_in_flight: 409,
  refund_exceeds_remaining: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  processor_rejected: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  processor_misconfigured: 502,
  processor_object_missing: 502,
  processor_bad_answer: 502,
  processor_unavailable: 503,
  database_unavailable: 503,
  overloaded: 503,
  processor_timeout: 504,
};

export const problemContentType = 'application/problem+json';

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ description: 'Identifies the kind of problem; the same for the same `code`.' }),
    title: Type.String({ description: 'What went wrong, in general.' }),
    status: Type.Integer({ description: 'The HTTP status of this answer.' }),
    detail: Type.String({ description: 'What went wrong here, and what to change.' }),
    code: Type.String({ description: 'Stable, for programs.' }),
    requestId: Type.String({ description: 'The same as in the header `x-request-id` and in the logs.' }),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
        description: 'Every mistake of a request that is not valid.',
      }),
    ),
    processorCode: Type.Optional(
      Type.String({ description: "The processor's own code, when it rejected the request." }),
    ),
  },
  { $id: 'Problem', title: 'Problem', description: 'An RFC 9457 problem.' },
);

export type Problem = Static<typeof ProblemSchema>;

export interface ProblemAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Problem;
}

/** Turns a failure into the whole answer. */
export function problemAnswer(failure: Failure, requestId: string): ProblemAnswer {
  const status = failureStatus[failure.code];
  const { retryAfterSeconds, allow, errors, processorCode } = failure.extras;
  return {
    status,
    headers: {
      'content-type': problemContentType,
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      ...(allow === undefined ? {} : { allow: allow.join(', ') }),
    },
    body: {
      type: `urn:till:problem:${failure.code}`,
      title: failureTitles[failure.code],
      status,
      detail: failure.message,
      code: failure.code,
      requestId,
      ...(errors === undefined ? {} : { errors: [...errors] }),
      ...(processorCode === undefined ? {} : { processorCode }),
    },
  };
}

/** For errors that reach us before there is a request: the answer as it goes over the wire. */
export function rawProblemAnswer(failure: Failure, requestId: string): string {
  const { status, headers, body } = problemAnswer(failure, requestId);
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

/** Examples of the documentation: one for each failure that an operation can answer with. */
export function problemExample(code: FailureCode): Problem {
  const { body } = problemAnswer(
    new Failure(code, exampleDetails[code] ?? failureTitles[code], exampleExtras[code]),
    exampleRequestId,
  );
  return body;
}

const exampleRequestId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

const exampleDetails: Partial<Record<FailureCode, string>> = {
  invalid_request: 'amount must be integer',
  malformed_request: 'The body is not valid JSON.',
  unauthorized: 'Send a valid API key in the header x-api-key.',
  not_found: 'No customer has this id.',
  method_not_allowed: 'Use one of: GET, POST.',
  payload_too_large: 'The body may hold at most 1048576 bytes.',
  unsupported_media_type: 'Send the body as application/json.',
  processor_rejected: 'Amount must be at least 50 cents.',
  processor_object_missing: objectMissing('customer').message,
  rate_limited: 'More than 6000 requests in a minute; try again in 12 s.',
  internal_error: 'The failure has been logged under this request id.',
};

const exampleExtras: Partial<Record<FailureCode, Failure['extras']>> = {
  invalid_request: { errors: [{ path: 'body.amount', message: 'must be integer' }] },
  processor_rejected: { processorCode: 'amount_too_small' },
};
