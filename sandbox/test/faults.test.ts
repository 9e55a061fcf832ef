import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { type TestSandbox, useSandbox } from './support.ts';

const intent = { amount: 1_000, currency: 'usd' };

test('an error fault returns its status and code, as often as configured, and does no work', async (t) => {
  const { stripe, control } = await useSandbox(t);
  await control('POST', 'faults', {
    operation: 'payment_intents.create',
    kind: 'error',
    status: 429,
    code: 'rate_limit',
    times: 2,
  });
  for (let count = 0; count < 2; count++)
    await assert.rejects(stripe.paymentIntents.create(intent), { statusCode: 429, code: 'rate_limit' });
  assert.equal((await stripe.paymentIntents.list()).data.length, 0);
  assert.equal((await stripe.paymentIntents.create(intent)).object, 'payment_intent');
});

test('a 500 is replayed under its idempotency key, a 503 is not', async (t) => {
  const { stripe, control } = await useSandbox(t);
  await control('POST', 'faults', { operation: 'payment_intents.create', kind: 'error', status: 500 });
  for (let count = 0; count < 2; count++)
    await assert.rejects(stripe.paymentIntents.create(intent, { idempotencyKey: 'inside' }), {
      statusCode: 500,
    });
  await control('POST', 'faults', { operation: 'payment_intents.create', kind: 'error', status: 503 });
  await assert.rejects(stripe.paymentIntents.create(intent, { idempotencyKey: 'door' }), { statusCode: 503 });
  assert.equal((await stripe.paymentIntents.create(intent, { idempotencyKey: 'door' })).amount, 1_000);
});

test('reset_before loses the request, reset_after only the response', async (t) => {
  const { stripe, control } = await useSandbox(t);
  // The client repeats a reset once by itself; a second fault meets that repetition.
  await control('POST', 'faults', { operation: 'payment_intents.create', kind: 'reset_before', times: 2 });
  await assert.rejects(stripe.paymentIntents.create(intent, { idempotencyKey: 'before' }), {
    type: 'StripeConnectionError',
  });
  assert.equal((await stripe.paymentIntents.list()).data.length, 0);
  await control('DELETE', 'faults');

  await control('POST', 'faults', { operation: 'payment_intents.create', kind: 'reset_after' });
  const key = { idempotencyKey: 'after' };
  const found = await stripe.paymentIntents
    .create(intent, key)
    .catch(() => stripe.paymentIntents.create(intent, key));
  const { data } = await stripe.paymentIntents.list();
  assert.deepEqual(
    data.map(({ id }) => id),
    [found.id],
  );
});

test('hang keeps the connection open until the faults are cleared or the client gives up, and does no work', async (t) => {
  const { stripe, control, sandbox } = await useSandbox(t);
  // Plain requests: the official client would repeat one whose connection was cut.
  const create = (signal: AbortSignal | null) =>
    fetch(`${sandbox.url}/v1/payment_intents`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_test_x', 'idempotency-key': 'hung' },
      body: 'amount=1000&currency=usd',
      signal,
    });
  await control('POST', 'faults', { operation: '*', kind: 'hang' });
  const cleared = assert.rejects(create(null), TypeError);
  await untilTaken(control);
  await control('DELETE', 'faults');
  await cleared;

  await control('POST', 'faults', { operation: '*', kind: 'hang' });
  const aborter = new AbortController();
  const abandoned = assert.rejects(create(aborter.signal), { name: 'AbortError' });
  await untilTaken(control);
  aborter.abort();
  await abandoned;
  assert.equal((await stripe.paymentIntents.list()).data.length, 0);
});

test('latency waits and then goes on; meanwhile the same idempotency key is in use', async (t) => {
  const { stripe, control } = await useSandbox(t);
  await control('POST', 'faults', {
    operation: 'payment_intents.create',
    kind: 'latency',
    latencyMs: 600_000,
  });
  const key = { idempotencyKey: 'slow' };
  const slow = stripe.paymentIntents.create(intent, key);
  const faultsLeft = async () =>
    ((await control('GET', 'faults')).body as { faults: unknown[] }).faults.length;
  await until(async () => (await faultsLeft()) === 0);
  await assert.rejects(stripe.paymentIntents.create(intent, key), {
    statusCode: 409,
    code: 'idempotency_key_in_use',
  });
  await control('DELETE', 'faults');
  const created = await slow;
  assert.equal((await stripe.paymentIntents.create(intent, key)).id, created.id);
});

test('the control API refuses what it does not understand, and says why', async (t) => {
  const { control, sandbox, stripe } = await useSandbox(t);
  // Only the clock of a world without objects may be put back.
  await stripe.customers.create();
  const refused = [
    ['clock', {}],
    ['clock', { to: 5 }],
    ['clock', { advanceSeconds: -1 }],
    ['clock', { advanceSeconds: 1.5 }],
    ['clock', { to: Date.now() }],
    ['delivery', { mode: 'never' }],
    ['faults', { operation: 'payment_intents.create', kind: 'explode' }],
    ['faults', { operation: 'no', kind: 'hang' }],
    ['faults', { operation: 'payment_intent.create', kind: 'hang' }],
    ['faults', { operation: '*', kind: 'latency' }],
    ['faults', { operation: '*', kind: 'hang', sometimes: true }],
    ['dunning', { afterwards: 'forgive' }],
  ] as const;
  for (const [path, body] of refused) {
    const response = await control('POST', path, body);
    assert.equal(response.status, 400, JSON.stringify(body));
    assert.equal(typeof (response.body as { error: unknown }).error, 'string');
  }
  const notJson = await fetch(`${sandbox.url}/sandbox/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{',
  });
  assert.equal(notJson.status, 400);
  assert.equal((await control('GET', 'nothing')).status, 404);
  assert.equal(
    (await control('POST', 'payment_intents/pi_none/authenticate', { result: 'succeeded' })).status,
    404,
  );
});

test('the sandbox reports how much it holds', async (t) => {
  const { stripe, sandbox } = await useSandbox(t);
  await stripe.customers.create({});
  const overview = (await (await fetch(`${sandbox.url}/sandbox`)).json()) as {
    holds: Record<string, number>;
  };
  assert.deepEqual(
    [overview.holds['customers'], overview.holds['events'], overview.holds['refunds']],
    [1, 1, 0],
  );
});

test('reset forgets everything', async (t) => {
  const { stripe, control, advance } = await useSandbox(t);
  await stripe.paymentIntents.create(intent, { idempotencyKey: 'again' });
  await advance(86_400);
  await control('POST', 'faults', { operation: '*', kind: 'hang', times: 5 });
  await control('POST', 'reset');
  assert.equal((await stripe.paymentIntents.list()).data.length, 0);
  assert.equal((await stripe.events.list()).data.length, 0);
  const { body } = await control('GET', 'clock');
  assert.equal((body as { offsetSeconds: number }).offsetSeconds, 0);
  await stripe.paymentIntents.create({ ...intent, amount: 2_000 }, { idempotencyKey: 'again' });
});

/** Settles once a request has met the fault that was set for it. */
async function untilTaken(control: TestSandbox['control']): Promise<void> {
  const left = async () => ((await control('GET', 'faults')).body as { faults: unknown[] }).faults.length;
  await until(async () => (await left()) === 0);
}
