import type { FailureCode } from '../../errors.ts';

interface Advice {
  /** The condition, as a sentence. */
  readonly when: string;
  /** What the caller does about it. */
  readonly advice: string;
}

/** What each code means to a caller: docs/reference/errors.md is written from this list. */
export const failureAdvice: Readonly<Record<FailureCode, Advice>> = {
  invalid_request: {
    when: 'A value in the path, the query, a header or the body is missing, unknown or not allowed.',
    advice: 'Correct every mistake that `errors` lists.',
  },
  malformed_request: {
    when: 'The request is not valid HTTP, or its body is not valid JSON.',
    advice: 'Correct the client or the proxy that sent it.',
  },
  invalid_signature: {
    when: 'A webhook has no signature, a wrong one, or one whose time is more than five minutes from now.',
    advice: 'Check `PROCESSOR_WEBHOOK_SECRET`, and the clock of the machine.',
  },
  unauthorized: {
    when: 'The request has no API key, or one that is unknown, expired or revoked.',
    advice: 'Send a valid key in the `x-api-key` header.',
  },
  forbidden: {
    when: 'The API key does not have the scope that the route needs.',
    advice: 'Use a key with that scope. [scopes.md](scopes.md) lists the routes of each scope.',
  },
  payment_declined: {
    when: 'The card was declined. `declineCode` says why.',
    advice: 'Ask the customer for another card. Use a new idempotency key for the next try.',
  },
  authentication_required: {
    when: "The customer's bank asks for authentication.",
    advice: 'Get the `clientSecret`, and let the customer confirm with it in your frontend.',
  },
  not_found: {
    when: 'No object has this id, or no route has this path.',
    advice: 'Check the id and the path. A deleted customer is not found either.',
  },
  method_not_allowed: {
    when: 'The path exists, but not with this method.',
    advice: 'Use one of the methods in the `Allow` header.',
  },
  request_timeout: {
    when: 'The request did not arrive in time: 10 seconds for the headers, 30 seconds for all of it.',
    advice: 'Send it again, over a faster connection.',
  },
  idempotency_key_in_flight: {
    when: 'A request with the same idempotency key is still in progress after 10 seconds.',
    advice: 'Repeat the request later with the same key.',
  },
  external_id_taken: {
    when: 'Another customer has this `externalId`, with other values. `customerId` names it.',
    advice: 'Use that customer, or send another `externalId`.',
  },
  customer_deleted: {
    when: 'The object belongs to a customer who is deleted, and takes no metadata any more.',
    advice: 'Nothing. The data of the customer stays erased.',
  },
  plan_archived: {
    when: 'The plan is archived, and takes no new subscriptions.',
    advice: 'Choose an active plan.',
  },
  already_subscribed: {
    when: 'The customer has a live subscription to a plan of the same group. `subscriptionId` names it.',
    advice: 'Change that subscription, or cancel it first.',
  },
  nothing_to_pay: {
    when: 'The latest invoice of the subscription, or the one of `invoiceId`, is not to be paid.',
    advice:
      'Nothing. Read the subscription to see its status. Older unpaid invoices are paid by `invoiceId`.',
  },
  too_many_event_endpoints: {
    when: 'There are as many event endpoints as allowed.',
    advice: 'Delete endpoints that are no longer used.',
  },
  too_many_event_secrets: {
    when: 'The event endpoint has as many valid secrets as allowed, because it was rotated several times within a day.',
    advice: 'Rotate again after the time that `detail` names.',
  },
  currency_mismatch: {
    when: 'The plan has another currency than the subscription.',
    advice: 'Choose a plan in the same currency, or create a new subscription.',
  },
  subscription_ended: {
    when: 'The subscription has ended, and cannot change any more.',
    advice: 'Create a new subscription.',
  },
  subscription_incomplete: {
    when: 'The first payment of the subscription is not complete.',
    advice: 'Complete it with the `clientSecret`, or cancel the subscription.',
  },
  subscription_ending: {
    when: 'The subscription ends with its period, so a change at the end of the period has no effect.',
    advice: 'Set `cancelAtPeriodEnd` to false first.',
  },
  payment_due: {
    when: 'No paid invoice covers the current period, and the change would bill or credit it.',
    advice:
      '`detail` names what works: pay first (`POST …/pay`) if there is an invoice to pay, or change with `proration: none` or `when: periodEnd`. See [failed payments](../failed-payments.md).',
  },
  subscription_busy: {
    when: 'The request waited for 10 seconds while other requests changed the subscription, and did not change it.',
    advice: 'Repeat the request after `Retry-After`, with the same idempotency key or a new one.',
  },
  concurrent_change: {
    when: 'The subscription was changed outside Till at the same time, again and again.',
    advice: 'Repeat the request.',
  },
  payment_not_cancelable: {
    when: 'The payment is no longer open.',
    advice: 'Refund it, if it has succeeded.',
  },
  payment_not_capturable: {
    when: 'The payment is not authorised, or already captured.',
    advice: 'Read the payment. A payment can be captured once, before `captureBefore`.',
  },
  capture_exceeds_authorized: {
    when: 'The amount is larger than the authorised one.',
    advice: 'Send an amount of at most `amountCapturable`.',
  },
  payment_not_refundable: {
    when: 'The payment has not succeeded.',
    advice: 'Cancel it, if it is still open.',
  },
  payment_method_in_use: {
    when: 'A subscription charges this card, now or after a planned change.',
    advice: 'Make another card the default first, or cancel the subscription.',
  },
  refund_in_flight: {
    when: 'The outcome of an earlier refund of this payment is not known yet.',
    advice: 'Retry later, or repeat the earlier request with its idempotency key.',
  },
  refund_exceeds_remaining: {
    when: 'The amount is larger than what is left of the payment.',
    advice: 'Send a smaller amount, or none to refund all that is left.',
  },
  too_many_api_keys: {
    when: 'There are as many valid API keys as allowed.',
    advice: 'Revoke keys that are no longer used.',
  },
  resync_running: {
    when: 'A comparison with the processor is running. There is one at a time.',
    advice: 'Wait until it has ended: `GET /api/v1/resyncs` shows it.',
  },
  event_expired: {
    when: 'The event of `after` is older than the events that are kept.',
    advice:
      'You may have missed events. Read the objects again, as [events.md](../events.md#if-after-is-refused) says.',
  },
  payload_too_large: { when: 'The body is larger than 1 MiB.', advice: 'Send a smaller body.' },
  unsupported_media_type: {
    when: 'The body is not JSON, or it is compressed.',
    advice: 'Send it as `application/json`, without a `content-encoding`.',
  },
  idempotency_key_reused: {
    when: 'The idempotency key belongs to a request with other values.',
    advice: 'Send that request again, or use a new key.',
  },
  processor_rejected: {
    when: 'The processor refuses the values. `processorCode` is its own code.',
    advice: 'Correct the values as `detail` says. The same request fails again.',
  },
  promotion_code_invalid: {
    when: 'The promotion code is unknown, expired, used up, or not for this customer or plan.',
    advice: 'Ask the customer for another code, or subscribe without one.',
  },
  rate_limited: {
    when:
      'The application, or an address with wrong keys, sends more requests a minute than allowed. Or keys of one name have ' +
      'more streams, waiting requests or exports open than allowed.',
    advice: 'Wait as long as `Retry-After` says.',
  },
  headers_too_large: { when: 'The headers are larger than 16 KiB.', advice: 'Send smaller headers.' },
  internal_error: {
    when: 'A defect of Till.',
    advice: 'Retry later. If it happens again, look up the `requestId` in the log, and report it.',
  },
  processor_misconfigured: {
    when: "The processor refuses Till's key, or the key lacks a permission.",
    advice: 'Check `PROCESSOR_SECRET_KEY`, and [its permissions](../processor-key.md).',
  },
  processor_object_missing: {
    when: 'The processor does not know an object that Till has.',
    advice: 'Check that the key belongs to the right account. `detail` names the object.',
  },
  processor_bad_answer: {
    when: 'The response of the processor makes no sense, such as the page of a proxy.',
    advice: 'Retry later, with the same idempotency key.',
  },
  processor_unavailable: {
    when: 'The processor cannot be reached, fails, or limits its calls.',
    advice: 'Retry after `Retry-After`, with the same idempotency key.',
  },
  processor_timeout: {
    when: 'The processor did not respond in time. The request may have taken effect.',
    advice: 'Repeat it with the same idempotency key: nothing happens twice.',
  },
  database_unavailable: {
    when: 'PostgreSQL cannot be reached, or refuses to write.',
    advice: 'Retry after `Retry-After`, with the same idempotency key.',
  },
  overloaded: {
    when: 'The process has more work than it can do in time.',
    advice: 'Retry after `Retry-After`. If it happens often, start another process.',
  },
};
