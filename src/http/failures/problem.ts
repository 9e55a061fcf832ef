import { STATUS_CODES } from 'node:http';
import { type Static, Type } from 'typebox';
import { Failure, type FailureCode, failureTitles } from '../../errors.ts';
import { tooManyEndpoints, tooManySecrets } from '../../events/endpoints/endpoint.ts';
import { objectMissing } from '../../processor/refused-write.ts';
import { promotionCodeInvalid } from '../../subscriptions/promotion-code.ts';
import { securityHeaders } from '../security-headers.ts';

/** The one place that maps failures to HTTP statuses. */
export const failureStatus: Readonly<Record<FailureCode, number>> = {
  invalid_request: 400,
  malformed_request: 400,
  invalid_signature: 400,
  unauthorized: 401,
  payment_declined: 402,
  authentication_required: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_key_in_flight: 409,
  external_id_taken: 409,
  customer_deleted: 409,
  plan_archived: 409,
  already_subscribed: 409,
  nothing_to_pay: 409,
  too_many_event_endpoints: 409,
  too_many_event_secrets: 409,
  currency_mismatch: 409,
  subscription_ended: 409,
  subscription_incomplete: 409,
  subscription_ending: 409,
  payment_due: 409,
  subscription_busy: 409,
  concurrent_change: 409,
  payment_not_cancelable: 409,
  payment_not_capturable: 409,
  capture_exceeds_authorized: 409,
  payment_not_refundable: 409,
  payment_method_in_use: 409,
  refund_in_flight: 409,
  refund_exceeds_remaining: 409,
  too_many_api_keys: 409,
  resync_running: 409,
  event_expired: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  processor_rejected: 422,
  promotion_code_invalid: 422,
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
          'The subscription that the customer already has. Null while another request is creating it.',
      }),
    ),
    declineCode: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'Why the card was declined. Null if the processor does not say.',
      }),
    ),
    processorCode: Type.Optional(
      Type.String({ description: "The processor's own error code, if it rejected the request." }),
    ),
  },
  { $id: 'Problem', title: 'Problem', description: 'A problem as RFC 9457 defines it.' },
);

export type Problem = Static<typeof ProblemSchema>;

interface ProblemResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Problem;
}

/** Turns a failure into the complete response. */
export function problemResponse(failure: Failure, requestId: string): ProblemResponse {
  const status = failureStatus[failure.code];
  const { retryAfterSeconds, allow, isReplay } = failure.extras;
  const { errors, customerId, subscriptionId, declineCode, processorCode } = failure.extras;
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
      title: failureTitles[failure.code],
      status,
      detail: failure.message,
      code: failure.code,
      requestId,
      ...(errors === undefined ? {} : { errors: [...errors] }),
      ...(customerId === undefined ? {} : { customerId }),
      ...(subscriptionId === undefined ? {} : { subscriptionId }),
      ...(declineCode === undefined ? {} : { declineCode }),
      ...(processorCode === undefined ? {} : { processorCode }),
    },
  };
}

/** The raw HTTP response, for errors that occur before there is a request. */
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

/** An example for the documentation, one per failure code. Most routes name most codes, so each is built once. */
export function problemExample(code: FailureCode): Problem {
  const example = examples.get(code) ?? buildExample(code);
  examples.set(code, example);
  return example;
}

const examples = new Map<FailureCode, Problem>();

function buildExample(code: FailureCode): Problem {
  const { body } = problemResponse(
    new Failure(code, exampleDetails[code], exampleExtras[code]),
    exampleRequestId,
  );
  return body;
}

const exampleRequestId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

const exampleDetails: Readonly<Record<FailureCode, string>> = {
  invalid_request: 'body.amount must be integer',
  malformed_request: 'The body is not valid JSON: fix the syntax error at position 17.',
  invalid_signature:
    'No signature matches. Check that PROCESSOR_WEBHOOK_SECRET belongs to this webhook endpoint.',
  unauthorized: 'Send a valid API key in the x-api-key header.',
  forbidden: 'The API key needs the scope `write`. Use a key that has it, or ask an administrator for one.',
  payment_declined: 'Your card has insufficient funds.',
  authentication_required:
    'The customer must authenticate this payment. Get the client secret and confirm with it in the frontend.',
  not_found: 'No customer has this id. Check the id.',
  method_not_allowed: 'Use one of these methods: GET, POST.',
  request_timeout: 'Send the headers within 10 s and the whole request within 30 s.',
  idempotency_key_in_flight: 'A request with this idempotency key is still in progress. Retry later.',
  external_id_taken: 'Another customer has this externalId. Use that customer, or send another externalId.',
  customer_deleted: 'The customer is deleted, and so is the metadata of everything that belonged to it.',
  plan_archived: 'The plan is archived. Choose an active plan.',
  currency_mismatch:
    'The plan has another currency than the subscription. Choose a plan in the same currency.',
  subscription_ended: 'The subscription has ended. Create a new one.',
  subscription_incomplete:
    'The first payment of the subscription is not complete. Complete it before you change the subscription.',
  subscription_ending:
    'The subscription ends with the current period. Set cancelAtPeriodEnd to false before you plan a change.',
  subscription_busy:
    'Other requests are changing the subscription. This request did not change it. Repeat this request.',
  concurrent_change: 'The subscription was changed outside Till at the same time. Repeat this request.',
  payment_due:
    'No paid invoice covers the current period, and this change would bill or credit it. Send proration: none or when: periodEnd.',
  already_subscribed:
    'The customer already has a subscription to a plan of the same group. Change that subscription, or cancel it first.',
  nothing_to_pay: 'The subscription is active, and its latest invoice is not to be paid.',
  too_many_event_endpoints: tooManyEndpoints().message,
  too_many_event_secrets: tooManySecrets(new Date('2026-11-16T09:30:00.000Z')).message,
  payment_not_cancelable: 'The payment is succeeded. You can only cancel a payment that is still open.',
  payment_not_capturable: 'The payment is succeeded. You can only capture a payment that is authorised.',
  capture_exceeds_authorized: 'Only 20.00 EUR is authorised. Send an amount of at most 2000.',
  payment_not_refundable: 'The payment is canceled. You can only refund a payment that has succeeded.',
  payment_method_in_use:
    'A subscription uses this payment method. Set another default payment method first, or cancel the subscription.',
  refund_in_flight:
    'A refund of 5.00 EUR is still pending. Retry later, or repeat this request with the same idempotency key.',
  refund_exceeds_remaining: 'Only 5.00 EUR of the payment remains. Send an amount of at most 500.',
  too_many_api_keys: 'There are 1000 valid API keys. Revoke those that are no longer used.',
  resync_running: 'A comparison with the processor is running. Wait until it has ended.',
  event_expired:
    'The event of query.after is older than the events that are kept, so you may have missed some. ' +
    'Read the objects again, and leave it out to start with the oldest event.',
  payload_too_large: 'Send a body of at most 1048576 bytes.',
  unsupported_media_type: 'Send the body as application/json.',
  idempotency_key_reused:
    'This idempotency key belongs to a different request. Send that request again, or use a new key.',
  processor_rejected: 'Amount must be at least 50 cents.',
  promotion_code_invalid: promotionCodeInvalid().message,
  rate_limited: 'More than 6000 requests in one minute. Retry in 12 s.',
  headers_too_large: 'Send at most 16384 bytes of headers.',
  internal_error: 'Retry later. If the error persists, look up the request id in the log.',
  processor_misconfigured:
    'The processor rejected PROCESSOR_SECRET_KEY (status 401). Check the key and its permissions.',
  processor_object_missing: objectMissing('customer').message,
  processor_bad_answer:
    'The processor sent an invalid response: payment_intent.amount is missing. ' +
    'Retry later, with the same idempotency key if you sent one.',
  processor_unavailable:
    'The processor failed (status 500). Retry later, with the same idempotency key if you sent one.',
  processor_timeout:
    'The processor did not respond in time. Retry later, with the same idempotency key if you sent one.',
  database_unavailable: 'The database is unavailable. Retry later.',
  overloaded: 'The service receives more requests than it can handle. Retry later.',
};

const exampleExtras: Partial<Record<FailureCode, Failure['extras']>> = {
  invalid_request: { errors: [{ path: 'body.amount', message: 'must be integer' }] },
  external_id_taken: { customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90' },
  payment_declined: { declineCode: 'insufficient_funds' },
  already_subscribed: { subscriptionId: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f' },
  processor_rejected: { processorCode: 'amount_too_small' },
};
