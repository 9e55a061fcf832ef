import type { CatalogueEntry } from './catalogue-entry.ts';

/**
 * Every expected failure. A code is part of the API and never changes its meaning. Responses, the OpenAPI document,
 * docs/reference/errors.md and the client's list of codes are generated from this catalogue.
 */
export const errorCatalogue = {
  invalid_request: failure(400, 'Invalid request', {
    when: 'A value in the path, the query, a header or the body is missing, unknown or not allowed.',
    advice: 'Correct every mistake that `errors` lists.',
    example: 'body.amount must be integer',
    exampleFields: { errors: [{ path: 'body.amount', message: 'must be integer' }] },
  }),
  malformed_request: failure(400, 'Malformed request', {
    when: 'The request is not valid HTTP, or its body is not valid JSON.',
    advice: 'Correct the client or the proxy that sent it.',
    example: 'The body is not valid JSON: fix the syntax error at position 17.',
  }),
  invalid_signature: failure(400, 'Invalid signature', {
    when: 'A webhook has no signature, a wrong one, or one whose time is more than five minutes from now.',
    advice: 'Check `PROCESSOR_WEBHOOK_SECRET`, and the clock of the machine.',
    example: 'No signature matches. Check that PROCESSOR_WEBHOOK_SECRET belongs to this webhook endpoint.',
  }),
  unauthorized: failure(401, 'Missing or invalid API key', {
    when: 'No API key, or one that is unknown, expired or revoked. In the console: no session, or it has ended.',
    advice: 'Send a valid API key in the `x-api-key` header. People sign in to the console again.',
    example: 'Send a valid API key in the x-api-key header.',
  }),
  payment_declined: failure(402, 'Payment declined', {
    when: 'The card was declined. `declineCode` says why.',
    advice: 'Ask the customer for another card. Use a new idempotency key for the next attempt.',
    example: 'Your card has insufficient funds.',
    exampleFields: { declineCode: 'insufficient_funds' },
  }),
  authentication_required: failure(402, 'Authentication required', {
    when: "The customer's bank asks for authentication.",
    advice: 'Get the `clientSecret`, and let the customer confirm with it in your frontend.',
    example:
      'The customer must authenticate this payment. Get the client secret and confirm with it in the frontend.',
  }),
  forbidden: failure(403, 'Forbidden', {
    when: 'The API key does not have the scope that the route needs, or a page other than the console uses its session.',
    advice: 'Use an API key with that scope. [scopes.md](scopes.md) lists the routes of each scope.',
    example: 'The API key needs the scope `write`. Use a key that has it, or ask an administrator for one.',
  }),
  not_found: failure(404, 'Not found', {
    when: 'No object has this id, or no route has this path.',
    advice: 'Check the id and the path. A deleted customer is not found either.',
    example: 'No customer has this id. Check the id.',
  }),
  method_not_allowed: failure(405, 'Method not allowed', {
    when: 'The path exists, but not with this method.',
    advice: 'Use one of the methods in the `Allow` header.',
    example: 'Use one of these methods: GET, POST.',
  }),
  request_timeout: failure(408, 'Request timeout', {
    when: 'The request did not arrive in time: 10 seconds for the headers, 30 seconds for all of it.',
    advice: 'Send it again, over a faster connection.',
    example: 'Send the headers within 10 s and the whole request within 30 s.',
  }),
  idempotency_key_in_flight: failure(409, 'Idempotency key in use', {
    when: 'A request with the same idempotency key is still in progress after 10 seconds.',
    advice: 'Repeat the request later with the same idempotency key.',
    example: 'A request with this idempotency key is still in progress. Retry later.',
  }),
  external_id_taken: failure(409, 'External id taken', {
    when: 'Another customer has this `externalId`, with other values. `customerId` names it.',
    advice: 'Use that customer, or send another `externalId`.',
    example: 'Another customer has this externalId. Use that customer, or send another externalId.',
    exampleFields: { customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90' },
  }),
  customer_deleted: failure(409, 'Customer deleted', {
    when: 'The object belongs to a deleted customer, so its metadata cannot change.',
    advice: 'No action is possible. The data of the customer stays erased.',
    example: 'The customer is deleted, and so is the metadata of everything that belonged to it.',
  }),
  plan_archived: failure(409, 'Plan archived', {
    when: 'The plan is archived, and takes no new subscriptions.',
    advice: 'Choose an active plan.',
    example: 'The plan is archived. Choose an active plan.',
  }),
  plan_is_add_on: failure(409, 'Plan is an add-on', {
    when: '`planId` is the plan of an add-on, which is sold only together with a main plan.',
    advice: 'Choose a plan that is not an add-on as `planId`, and list this one in `addOns`.',
    example:
      'The plan of planId is an add-on. Choose a plan that is not an add-on, and list this one in addOns.',
  }),
  plan_is_no_add_on: failure(409, 'Plan is not an add-on', {
    when: 'A plan in `addOns` is not an add-on, and the subscription does not have it yet.',
    advice: 'List only plans whose `addOn` is true. A subscription has one main plan, its `planId`.',
    example:
      'The plan 0199c1f0-8d2a-7b6c-9c0d-5f4e3d2c1b0a in addOns is not an add-on. List only plans whose addOn is true.',
  }),
  plan_in_use: failure(409, 'Plan in use', {
    when:
      'A live subscription has the plan, now or after its pending change, or an open checkout sells it, so `addOn` ' +
      'cannot change.',
    advice: 'Create another plan, and archive this one.',
    example:
      'A live subscription or an open checkout has this plan, so addOn cannot change. Create another plan instead.',
  }),
  already_subscribed: failure(409, 'Already subscribed', {
    when: 'The customer has a live subscription to this plan, or to one of its group. `subscriptionId` names it.',
    advice: 'Change that subscription, or cancel it first.',
    example:
      'The customer already has a subscription to this plan, or to another one of its group. Change that subscription, ' +
      'or cancel it first.',
    exampleFields: { subscriptionId: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f' },
  }),
  checkout_in_progress: failure(409, 'Checkout in progress', {
    when:
      'A payment is in progress in an open checkout, so it cannot be expired now. `checkoutId` names it. If the request ' +
      'is about another object, that object would take the place of the checkout, or is deleted with it.',
    advice: 'Retry after `Retry-After`. The payment succeeds or fails within minutes.',
    example: 'A payment is in progress in the open checkout, so it cannot be expired now. Retry later.',
    exampleFields: { checkoutId: '0199c1f5-2d41-7c3a-8b9e-0f1a2b3c4d5e' },
  }),
  checkout_completed: failure(409, 'Checkout completed', {
    when: 'The buyer has completed the checkout. `subscriptionId` and `paymentId` name its result.',
    advice: 'Cancel the subscription, or refund the payment.',
    example: 'The buyer has completed the checkout. Cancel the subscription or refund the payment instead.',
    exampleFields: { subscriptionId: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f', paymentId: null },
  }),
  nothing_to_pay: failure(409, 'Nothing to pay', {
    when: 'No payment is due for the latest invoice of the subscription, or for the one of `invoiceId`.',
    advice:
      'No action is needed: read the subscription to see its status. To pay an older unpaid invoice, send its `invoiceId`.',
    example: 'The subscription is active, and no payment is due for its latest invoice.',
  }),
  meter_key_taken: failure(409, 'Meter key taken', {
    when: 'Another meter has this `key`.',
    advice: 'Use that meter, or choose another key.',
    example: 'Another meter has this key. Use that meter, or choose another key.',
  }),
  meter_archived: failure(409, 'Meter archived', {
    when: 'The meter is archived, so its usage is not counted any more.',
    advice: 'Use an active meter. An archived one cannot be activated again.',
    example: 'The meter is archived, so its usage is not counted any more. Use an active meter.',
  }),
  too_many_meters: failure(409, 'Too many meters', {
    when: 'The maximum number of active meters exists.',
    advice: 'Archive a meter that you do not use any more.',
    example: 'There are 100 active meters, which is the maximum. Archive one that you do not use any more.',
  }),
  id_reused: failure(409, 'Id of a usage event reused', {
    when: 'Another usage event of the same day has this id, from an API key of the same name.',
    advice: 'Send a unique id for each use. On a retry, send the same values, `at` included.',
    example:
      'Another usage event of this day has this id. Send a unique id for each use, and the same values on a retry.',
  }),
  too_many_event_endpoints: failure(409, 'Too many event endpoints', {
    when: 'The maximum number of event endpoints exists.',
    advice: 'Delete endpoints that are no longer used.',
    example: 'There are 50 event endpoints, which is the maximum. Delete one that is not needed.',
  }),
  too_many_event_secrets: failure(409, 'Too many valid secrets', {
    when: 'The event endpoint has the maximum number of valid secrets, because they were rotated several times within a day.',
    advice: 'Rotate again after the time that `detail` names.',
    example:
      'The endpoint has 5 valid secrets, which is the maximum. Each one stays valid for a day after it was ' +
      'replaced. Rotate again after 2026-11-16T09:30:00.000Z.',
  }),
  currency_mismatch: failure(409, 'Currency differs', {
    when: 'A plan has another currency than the subscription, or an add-on another one than the main plan.',
    advice: 'Choose a plan in the same currency, or create a new subscription.',
    example: 'The plan has another currency than the subscription. Choose a plan in the same currency.',
  }),
  interval_mismatch: failure(409, 'Interval differs', {
    when:
      'An add-on bills at another interval than the main plan. Or the main plan would change its interval while ' +
      '`addOns` or `otherItems` keep the old one.',
    advice:
      'Choose add-ons with the `interval` and `intervalCount` of the main plan. To change the interval, send `addOns` ' +
      'with plans of the new one.',
    example:
      'The price price_1MoBy5LkdIwHu7ixZhnattbh bills every year, and the main plan every month. List add-ons with the ' +
      'interval of the main plan.',
  }),
  too_many_items: failure(409, 'Too many items', {
    when: 'The processor allows fewer items in a subscription, or a checkout, than its plans and `otherItems`.',
    advice: 'Send fewer `addOns`. To bill more units of a plan, raise its `quantity`.',
    example: 'A subscription can have at most 100 items. Send fewer addOns.',
  }),
  subscription_ended: failure(409, 'Subscription ended', {
    when: 'The subscription has ended, and cannot change any more.',
    advice: 'Create a new subscription.',
    example: 'The subscription has ended. Create a new one.',
  }),
  subscription_incomplete: failure(409, 'Subscription incomplete', {
    when: 'The first payment of the subscription is not complete.',
    advice: 'Complete it with the `clientSecret`, or cancel the subscription.',
    example:
      'The first payment of the subscription is not complete. Complete it before you change the subscription.',
  }),
  subscription_ending: failure(409, 'Subscription about to end', {
    when:
      'The subscription ends with its period, so a change at the end of the period has no effect. Or the customer is to ' +
      'cancel it on the portal, and it ends already.',
    advice: 'Set `cancelAtPeriodEnd` to false first.',
    example:
      'The subscription ends with the current period. Set cancelAtPeriodEnd to false before you plan a change.',
  }),
  pending_change: failure(409, 'Change pending', {
    when: 'The customer is to cancel the subscription on the portal, and a change of it is pending.',
    advice:
      'Change back to the current plan first, which drops the pending change. Or cancel the subscription with ' +
      '`cancelAtPeriodEnd`.',
    example:
      'A change of the subscription is pending. Change back to the current plan before the portal cancels it.',
  }),
  payment_due: failure(409, 'Payment due', {
    when: 'No paid invoice covers the current period, and the change would bill or credit it.',
    advice:
      '`detail` names what works: pay first (`POST …/pay`) if there is an invoice to pay, or change with ' +
      '`proration: none` or `when: periodEnd`. See [failed payments](../failed-payments.md).',
    example:
      'No paid invoice covers the current period, and this change would bill or credit it. Send proration: ' +
      'none or when: periodEnd.',
  }),
  subscription_busy: failure(409, 'Subscription busy', {
    when: 'The request waited for 10 seconds while other requests changed the subscription, and did not change it.',
    advice: 'Repeat the request after `Retry-After`, with the same idempotency key or a new one.',
    example:
      'Other requests are changing the subscription. This request did not change it. Repeat this request.',
  }),
  subscription_limit_reached: failure(409, 'Subscription changed too often', {
    when: 'The processor takes no more changes of this subscription now: 10 new invoices a minute, 20 a day, 200 changes of its quantity an hour.',
    advice: 'Send `proration: nextInvoice` to bill changes together, or repeat the request later.',
    example:
      'The processor limits one subscription to 10 new invoices a minute, 20 a day, and 200 changes of its quantity an hour. Nothing was charged. Bill several changes together: send `proration` as `nextInvoice`, or repeat this request later.',
  }),
  concurrent_change: failure(409, 'Changed elsewhere', {
    when: 'The subscription was repeatedly changed outside Till at the same time.',
    advice: 'Repeat the request.',
    example: 'The subscription was changed outside Till at the same time. Repeat this request.',
  }),
  payment_not_cancelable: failure(409, 'Payment not cancelable', {
    when: 'The payment is no longer open.',
    advice: 'Refund it, if it has succeeded.',
    example: 'The payment is succeeded. You can only cancel a payment that is still open.',
  }),
  payment_not_capturable: failure(409, 'Payment not capturable', {
    when: 'The payment is not authorised, or already captured.',
    advice: 'Read the payment. A payment can be captured once, before `captureBefore`.',
    example: 'The payment is succeeded. You can only capture a payment that is authorised.',
  }),
  capture_exceeds_authorized: failure(409, 'Capture exceeds the authorised amount', {
    when: 'The amount is larger than the authorised one.',
    advice: 'Send an amount of at most `amountCapturable`.',
    example: 'Only 20.00 EUR is authorised. Send an amount of at most 2000.',
  }),
  payment_not_refundable: failure(409, 'Payment not refundable', {
    when: 'The payment has not succeeded.',
    advice: 'Cancel it, if it is still open.',
    example: 'The payment is canceled. You can only refund a payment that has succeeded.',
  }),
  payment_method_in_use: failure(409, 'Payment method in use', {
    when: 'A subscription charges this card, now or after a planned change.',
    advice: 'Make another card the default first, or cancel the subscription.',
    example:
      'A subscription uses this payment method. Set another default payment method first, or cancel the subscription.',
  }),
  refund_in_flight: failure(409, 'Refund in progress', {
    when: 'The outcome of an earlier refund of this payment is not known yet.',
    advice: 'Retry later, or repeat the earlier request with its idempotency key.',
    example:
      'A refund of 5.00 EUR is still pending. Retry later, or repeat this request with the same idempotency key.',
  }),
  refund_exceeds_remaining: failure(409, 'Refund exceeds the remaining amount', {
    when: 'The amount is larger than what remains of the payment.',
    advice: 'Send a smaller amount, or no amount to refund all that remains.',
    example: 'Only 5.00 EUR of the payment remains. Send an amount of at most 500.',
  }),
  too_many_api_keys: failure(409, 'Too many API keys', {
    when: 'The maximum number of valid API keys exists.',
    advice: 'Revoke API keys that are no longer used.',
    example: 'There are 1000 valid API keys. Revoke those that are no longer used.',
  }),
  resync_running: failure(409, 'Resync in progress', {
    when: 'A resync is running. Only one runs at a time.',
    advice: 'Wait until it has ended: `GET /api/v1/resyncs` shows it.',
    example: 'A comparison with the processor is running. Wait until it has ended.',
  }),
  endpoint_disabled: failure(409, 'Event endpoint turned off', {
    when: 'The event endpoint is turned off, so no events can be resent to it.',
    advice: 'Turn it on with `PATCH /api/v1/event-endpoints/{id}`, then resend.',
    example: 'The event endpoint is turned off. Turn it on, then resend.',
  }),
  event_expired: failure(410, 'Event expired', {
    when: 'The event, or the event of `after`, is older than the events that are kept.',
    advice:
      'A reader may have missed events: read the objects again, as [events.md](../events.md#if-after-is-refused) says. ' +
      'A single event can be neither read nor sent again.',
    example:
      'The event of query.after is older than the events that are kept, so you may have missed some. Read ' +
      'the objects again, and leave it out to start with the oldest event.',
  }),
  payload_too_large: failure(413, 'Request body too large', {
    when: 'The body is larger than 1 MiB, or 4 MiB for a batch of usage.',
    advice: 'Send a smaller body.',
    example: 'Send a body of at most 1048576 bytes.',
  }),
  unsupported_media_type: failure(415, 'Unsupported media type', {
    when: 'The body is not JSON, or it is compressed.',
    advice: 'Send it as `application/json`, without a `content-encoding`.',
    example: 'Send the body as application/json.',
  }),
  idempotency_key_reused: failure(422, 'Idempotency key used for a different request', {
    when: 'The idempotency key belongs to a request with other values.',
    advice: 'Send that request again, or use a new idempotency key.',
    example:
      'This idempotency key belongs to a different request. Send that request again, or use a new idempotency key.',
  }),
  processor_rejected: failure(422, 'Request rejected by the processor', {
    when: 'The processor refuses the values. `processorCode` is its own code.',
    advice: 'Correct the values as `detail` says. The same request fails again.',
    example: 'Amount must be at least 50 cents.',
    exampleFields: { processorCode: 'amount_too_small' },
  }),
  promotion_code_invalid: failure(422, 'Promotion code not valid', {
    when: 'The promotion code is unknown, expired, used up, or not for this customer or plan.',
    advice: 'Ask the customer for another code, or subscribe without one.',
    example: 'The promotion code does not exist, has expired or was used up, or is for another customer.',
  }),
  rate_limited: failure(429, 'Too many requests', {
    when:
      'The application, or an address that sends invalid API keys, sends more requests per minute than allowed. ' +
      'Or the API keys with one name have too many streams, waiting requests or exports open.',
    advice: 'Wait as long as `Retry-After` says.',
    example: 'More than 6000 requests in one minute. Retry in 12 s.',
  }),
  headers_too_large: failure(431, 'Request headers too large', {
    when: 'The headers are larger than 16 KiB.',
    advice: 'Send smaller headers.',
    example: 'Send at most 16384 bytes of headers.',
  }),
  internal_error: failure(500, 'Internal error', {
    when: 'A defect of Till.',
    advice: 'Retry later. If it happens again, look up the `requestId` in the log, and report it.',
    example: 'Retry later. If the error persists, look up the request id in the log.',
  }),
  processor_misconfigured: failure(502, 'Invalid processor credentials', {
    when: "The processor refuses Till's secret key, or the secret key lacks a permission.",
    advice: 'Check `PROCESSOR_SECRET_KEY`, and [its permissions](../processor-key.md).',
    example: 'The processor rejected PROCESSOR_SECRET_KEY (status 401). Check the key and its permissions.',
  }),
  processor_object_missing: failure(502, 'Object not found at the processor', {
    when: 'The processor does not know an object that Till has.',
    advice: 'Check that `PROCESSOR_SECRET_KEY` belongs to the right account. `detail` names the object.',
    example:
      'The processor has no such customer, and Till changed nothing. Check that PROCESSOR_SECRET_KEY ' +
      'belongs to the account and mode that created it.',
  }),
  processor_bad_answer: failure(502, 'Invalid response from the processor', {
    when: 'The response of the processor is malformed, such as an error page of a proxy.',
    advice: 'Retry later, with the same idempotency key.',
    example:
      'The processor sent an invalid response: payment_intent.amount is missing. Retry later, with the ' +
      'same idempotency key if you sent one.',
  }),
  processor_unavailable: failure(503, 'Processor unavailable', {
    when: 'The processor cannot be reached, fails, or rate-limits Till.',
    advice: 'Retry after `Retry-After`, with the same idempotency key.',
    example: 'The processor failed (status 500). Retry later, with the same idempotency key if you sent one.',
  }),
  sandbox_busy: failure(503, 'Sandbox busy', {
    when: 'A reset of the sandbox waited too long for requests, commands or sessions of the database.',
    advice: 'Nothing was reset. Wait until they have ended, such as a `till import`, and repeat the request.',
    example:
      'Requests or commands that use the sandbox or the database did not end in time, so nothing was reset. Wait for ' +
      'them, and repeat this request.',
  }),
  database_unavailable: failure(503, 'Database unavailable', {
    when: 'PostgreSQL cannot be reached, or refuses to write.',
    advice: 'Retry after `Retry-After`, with the same idempotency key.',
    example: 'The database is unavailable. Retry later.',
  }),
  overloaded: failure(503, 'Service overloaded', {
    when: 'The process has more work than it can do in time.',
    advice: 'Retry after `Retry-After`. If it happens often, start another process.',
    example: 'The service receives more requests than it can handle. Retry later.',
  }),
  processor_timeout: failure(504, 'Processor timeout', {
    when: 'The processor did not respond in time. The request may have taken effect.',
    advice: 'Repeat it with the same idempotency key: nothing happens twice.',
    example:
      'The processor did not respond in time. Retry later, with the same idempotency key if you sent one.',
  }),
};

/** The mark lets a bundler leave the catalogue out: the console uses constants of files that import it. */
/* @__NO_SIDE_EFFECTS__ */ function failure(
  status: number,
  title: string,
  texts: Omit<CatalogueEntry, 'status' | 'title'>,
): CatalogueEntry {
  return { status, title, ...texts };
}
