import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { type FailureCode, isOutageOfAll } from '#core/errors.ts';
import { describeError } from '#core/platform/logger.ts';
import { failureOf, startAdapter } from './adapter.ts';
import { respond, type Script, startScriptedServer } from './scripted-server.ts';
import { newPayment, paymentIntent, wireError } from './wire-objects.ts';

async function createAgainst(t: TestContext, script: Script) {
  const server = await startScriptedServer(t, script);
  const adapter = startAdapter(t, server.url);
  const failure = await failureOf(adapter.processor.payments.create(newPayment));
  return { failure, attempts: server.seen.length, outcomes: await adapter.outcomes() };
}

interface Expected {
  readonly code: FailureCode;
  readonly effect: 'none' | 'unknown';
  readonly attempts: number;
  readonly outcome: string;
}

const rejected: Expected = { code: 'processor_rejected', effect: 'none', attempts: 1, outcome: 'rejected' };
const misconfigured: Expected = {
  code: 'processor_misconfigured',
  effect: 'none',
  attempts: 1,
  outcome: 'misconfigured',
};
const invalidResponse: Expected = {
  code: 'processor_bad_answer',
  effect: 'unknown',
  attempts: 1,
  outcome: 'bad_answer',
};
const down: Expected = {
  code: 'processor_unavailable',
  effect: 'unknown',
  attempts: 3,
  outcome: 'unavailable',
};

/** Which limit a request has exceeded. */
const reason = 'stripe-rate-limited-reason';

describe('a response that is an error of the API', () => {
  const table: readonly [number, Record<string, unknown>, Record<string, string>, Expected][] = [
    [400, { code: 'amount_too_small', param: 'amount' }, {}, rejected],
    [400, {}, {}, rejected],
    [402, { type: 'card_error', code: 'card_declined' }, {}, rejected],
    [404, { code: 'resource_missing', param: 'customer' }, {}, rejected],
    [400, { code: 'resource_missing', param: 'customer' }, {}, rejected],
    [400, { message: { deep: true }, code: 5, param: [] }, {}, rejected],
    [302, {}, {}, invalidResponse],
    [418, {}, {}, invalidResponse],
    [401, {}, {}, misconfigured],
    [403, {}, {}, misconfigured],
    [404, { message: 'Unrecognized request URL' }, {}, { ...invalidResponse, effect: 'none' }],
    [400, { type: 'idempotency_error' }, {}, invalidResponse],
    [429, { code: 'rate_limit' }, {}, { ...down, effect: 'none' }],
    [429, { code: 'rate_limit' }, { [reason]: 'endpoint-rate' }, { ...down, effect: 'none', attempts: 6 }],
    [
      429,
      { code: 'rate_limit' },
      { [reason]: 'resource-specific' },
      { ...down, effect: 'none', attempts: 1 },
    ],
    [429, { code: 'lock_timeout' }, {}, { ...down, effect: 'none', attempts: 7 }],
    [
      429,
      { code: 'lock_timeout' },
      { 'stripe-should-retry': 'false' },
      { ...down, effect: 'none', attempts: 1 },
    ],
    [400, { code: 'rate_limit' }, {}, { ...down, effect: 'none' }],
    [409, { type: 'idempotency_error', code: 'idempotency_key_in_use' }, {}, { ...down, attempts: 7 }],
    [424, {}, {}, down],
    [500, { type: 'api_error' }, {}, down],
    [503, { type: 'api_error' }, {}, down],
    [500, { type: 'api_error' }, { 'stripe-should-retry': 'false' }, { ...down, attempts: 1 }],
    [500, { type: 'api_error' }, { 'idempotent-replayed': 'true' }, { ...down, attempts: 1 }],
    [400, { code: 'lock_timeout' }, { 'stripe-should-retry': 'true' }, { ...rejected, attempts: 3 }],
  ];
  for (const [status, error, headers, expected] of table) {
    test(`${status} ${JSON.stringify(error)} ${JSON.stringify(headers)} is ${expected.code}, effect ${expected.effect}`, async (t) => {
      const { failure, attempts, outcomes } = await createAgainst(t, (response) =>
        respond(response, status, wireError(error), headers),
      );
      assert.equal(failure.code, expected.code);
      assert.equal(failure.extras.effect, expected.effect);
      assert.equal(attempts, expected.attempts);
      assert.deepEqual(outcomes, { [`payments.create ${expected.outcome}`]: 1 });
      assert.equal(failure.extras.retryAfterSeconds !== undefined, expected.code === 'processor_unavailable');
    });
  }

  test("the caller's values are refused with the processor's own code, parameter and message", async (t) => {
    const { failure } = await createAgainst(t, (response) =>
      respond(
        response,
        400,
        wireError({ code: 'amount_too_small', param: 'amount', message: 'At least 50.' }),
      ),
    );
    assert.equal(failure.message, 'At least 50.');
    assert.equal(failure.extras.processorCode, 'amount_too_small');
    assert.equal(failure.extras.processorParam, 'amount');
  });

  test('a locked object is written later under the same idempotency key, and is no outage', async (t) => {
    const server = await startScriptedServer(t, (response, _seen, count) => {
      if (count < 6) respond(response, 429, wireError({ code: 'lock_timeout' }));
      else respond(response, 200, paymentIntent);
    });
    const { processor } = startAdapter(t, server.url);
    await processor.payments.create(newPayment);
    assert.deepEqual(
      new Set(server.seen.map(({ headers }) => headers['idempotency-key'])),
      new Set(['key-1']),
    );
    assert.equal(server.seen.length, 7);

    const { failure } = await createAgainst(t, (response) =>
      respond(response, 429, wireError({ code: 'lock_timeout' })),
    );
    assert.match(failure.message, /^The processor is writing this object for another request\. Retry later/);
    // The next object may be free.
    assert.equal(isOutageOfAll(failure), false);
  });

  test('a locked object leaves no time for an attempt beyond the deadline', async (t) => {
    const server = await startScriptedServer(t, (response) =>
      respond(response, 429, wireError({ code: 'lock_timeout' })),
    );
    const { processor } = startAdapter(t, server.url, { limits: { deadlineMs: 300, retryDelayMs: 200 } });
    const failure = await failureOf(processor.payments.create(newPayment));
    assert.equal(failure.code, 'processor_unavailable');
    assert.ok(server.seen.length <= 2, `${server.seen.length} attempts`);
  });

  test('a limit of one subscription is refused with what to do, and not repeated', async (t) => {
    const server = await startScriptedServer(t, (response) =>
      respond(response, 429, wireError({ code: 'rate_limit' }), { [reason]: 'resource-specific' }),
    );
    const { processor, outcomes } = startAdapter(t, server.url);
    const change = { processorSubscriptionId: 'sub_1', metadata: { order: '1' }, idempotencyKey: 'key-1' };
    const failure = await failureOf(processor.subscriptions.update(change));
    assert.equal(failure.code, 'subscription_limit_reached');
    assert.equal(failure.extras.effect, 'none');
    assert.equal(failure.extras.retryAfterSeconds, undefined);
    assert.match(failure.message, /20 a day.*nextInvoice/);
    assert.equal(server.seen.length, 1);
    assert.deepEqual(await outcomes(), { 'subscriptions.update rejected': 1 });
    assert.equal((await failureOf(processor.subscriptions.readToPay('sub_1'))).code, 'processor_unavailable');
  });

  test('a failure that the processor remembers under the idempotency key says so', async (t) => {
    const { failure } = await createAgainst(t, (response) =>
      respond(response, 500, wireError({}), { 'idempotent-replayed': 'true' }),
    );
    assert.equal(failure.extras.replayed, true);
  });

  for (const [header, seconds] of [
    ['17', 17],
    ['999999', 300],
    ['0', 2],
    ['Wed, 21 Oct 2026 07:28:00 GMT', 2],
  ] as const) {
    test(`Retry-After: ${header} tells the caller to come back in ${seconds} s`, async (t) => {
      const { failure } = await createAgainst(t, (response) =>
        respond(response, 429, wireError({}), { 'retry-after': header }),
      );
      assert.equal(failure.extras.retryAfterSeconds, seconds);
    });
  }

  test('no secret key and no other secret is left in what callers and logs are shown', async (t) => {
    const { failure } = await createAgainst(t, (response) =>
      respond(
        response,
        400,
        wireError({ message: 'Bad sk_test_adapter and client_secret=hush', payment_intent: paymentIntent }),
      ),
    );
    const shown = inspect(failure, { depth: 20, showHidden: true }) + JSON.stringify(describeError(failure));
    assert.match(failure.message, /^Bad \[struck out\] and client_secret=\[struck out\]$/);
    assert.doesNotMatch(shown, /sk_test_adapter|hush/);
  });
});

describe('an invalid response', () => {
  const whole = JSON.stringify(paymentIntent);
  const without = (field: keyof typeof paymentIntent) =>
    JSON.stringify({ ...paymentIntent, [field]: undefined });
  const table: readonly [string, number, string, Expected][] = [
    ['a page', 200, '<html>', invalidResponse],
    ['nothing', 200, '', invalidResponse],
    ['null', 200, 'null', invalidResponse],
    ['a number', 200, '5', invalidResponse],
    ['a text', 200, '"ok"', invalidResponse],
    ['true', 200, 'true', invalidResponse],
    ['a list', 200, '[]', invalidResponse],
    ['an empty object', 200, '{}', invalidResponse],
    ['another kind of object', 200, whole.replace('"payment_intent"', '"charge"'), invalidResponse],
    ['an object without an id', 200, without('id'), invalidResponse],
    ['an object without a status', 200, without('status'), invalidResponse],
    ['an object without an amount', 200, without('amount'), invalidResponse],
    ['an object without a currency', 200, without('currency'), invalidResponse],
    ['an unknown status', 200, whole.replace('requires_payment_method', 'half_paid'), invalidResponse],
    ['an error with a status of success', 200, JSON.stringify(wireError({})), invalidResponse],
    ['the object with a status of failure', 400, whole, invalidResponse],
    ['an error that is a text', 400, '{"error":"invalid_client"}', invalidResponse],
    ['an error that is true', 400, '{"error":true}', invalidResponse],
    ['a redirect', 302, '{}', invalidResponse],
    ["a gateway's page", 502, '<html>', down],
    ["a gateway's object", 503, '{"message":"no upstream"}', down],
    ["a gateway's limit", 429, 'slow down', down],
  ];
  for (const [what, status, body, expected] of table) {
    test(`${status} with ${what} is ${expected.code}`, async (t) => {
      const { failure, attempts } = await createAgainst(t, (response) => respond(response, status, body));
      assert.equal(failure.code, expected.code);
      assert.equal(failure.extras.effect, expected.effect);
      assert.equal(attempts, expected.attempts);
    });
  }
});

describe('a connection that fails', () => {
  test('an unreachable server had no effect', async (t) => {
    const server = await startScriptedServer(t, () => {});
    server.server.close();
    const { processor, outcomes } = startAdapter(t, server.url);
    const failure = await failureOf(processor.payments.create(newPayment));
    assert.equal(failure.code, 'processor_unavailable');
    assert.equal(failure.extras.effect, 'none');
    assert.deepEqual(await outcomes(), { 'payments.create unavailable': 1 });
  });

  for (const [what, script] of [
    ['reset before the response', (response) => response.socket?.resetAndDestroy()],
    ['closed before the response', (response) => response.destroy()],
    [
      'cut within the body',
      (response) => {
        response.writeHead(200, { 'content-length': '5000' });
        response.write('{"id":"pi_1"', () => response.destroy());
      },
    ],
    [
      'reset within a chunked body',
      (response) => {
        response.writeHead(200);
        response.write('{"id":"pi_1"', () => response.socket?.resetAndDestroy());
      },
    ],
  ] as readonly [string, Script][]) {
    test(`${what} leaves the effect unknown, and is attempted three times in all`, async (t) => {
      const { failure, attempts } = await createAgainst(t, script);
      assert.equal(failure.code, 'processor_unavailable');
      assert.equal(failure.extras.effect, 'unknown');
      assert.equal(attempts, 3);
    });
  }

  test('a read that fails has no effect, whatever happened', async (t) => {
    const server = await startScriptedServer(t, (response) => response.destroy());
    const { processor } = startAdapter(t, server.url);
    const failure = await failureOf(processor.payments.read('pi_1'));
    assert.equal(failure.extras.effect, 'none');
  });

  test('an effect once unknown stays unknown, even if a later attempt is refused', async (t) => {
    const { failure, attempts } = await createAgainst(t, (response, _seen, count) =>
      count === 0 ? response.destroy() : respond(response, 401, wireError({})),
    );
    assert.equal(failure.code, 'processor_misconfigured');
    assert.equal(failure.extras.effect, 'unknown');
    assert.equal(attempts, 2);
  });

  test('a kept connection that the server closed meanwhile costs a retry and no failure', async (t) => {
    const server = await startScriptedServer(t, (response) => respond(response, 200, paymentIntent));
    const { processor } = startAdapter(t, server.url);
    await processor.payments.read('pi_1');
    server.server.closeAllConnections();
    assert.equal((await processor.payments.read('pi_1'))?.payment.processorPaymentIntentId, 'pi_1');
  });
});
