import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useSandbox } from './support.ts';

const origin = 'https://shop.example';

test('a browser confirms with a publishable key and the client secret, and nothing else', async (t) => {
  const { stripe, sandbox } = await useSandbox(t);
  const customer = await stripe.customers.create({});
  const intent = await stripe.paymentIntents.create({
    amount: 500,
    currency: 'usd',
    customer: customer.id,
    metadata: { a: 'b' },
  });
  const other = await stripe.paymentIntents.create({ amount: 500, currency: 'usd' });
  const call = (path: string, fields: Record<string, string>, method = 'POST') => {
    const form = new URLSearchParams({ key: 'pk_test_x', ...fields });
    const url = `${sandbox.url}/v1/${path}${method === 'GET' ? `?${form}` : ''}`;
    return fetch(url, { method, headers: { origin }, ...(method === 'GET' ? {} : { body: form }) });
  };
  const secret = String(intent.client_secret);

  const seen = await call(`payment_intents/${intent.id}`, { client_secret: secret }, 'GET');
  assert.equal(seen.headers.get('access-control-allow-origin'), '*');
  const shown = (await seen.json()) as Record<string, unknown>;
  assert.deepEqual([shown['id'], 'customer' in shown, 'metadata' in shown], [intent.id, false, false]);

  for (const fields of [{}, { client_secret: String(other.client_secret) }, { client_secret: 'guess' }])
    assert.ok([400, 404].includes((await call(`payment_intents/${intent.id}`, fields, 'GET')).status));
  for (const [path, method] of [
    ['customers', 'GET'],
    ['payment_intents', 'POST'],
    [`payment_intents/${intent.id}/cancel`, 'POST'],
  ] as const) {
    const refused = await call(path, {}, method);
    assert.equal(refused.status, 401);
    assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'secret_key_required');
  }

  const card = {
    type: 'card',
    'card[number]': '4242424242424242',
    'card[exp_month]': '12',
    'card[exp_year]': '34',
    'card[cvc]': '123',
  };
  const method = (await (await call('payment_methods', card)).json()) as { id: string };
  const confirmed = await call(`payment_intents/${intent.id}/confirm`, {
    client_secret: secret,
    payment_method: method.id,
    return_url: 'https://shop.example/done',
  });
  assert.equal(((await confirmed.json()) as { status: string }).status, 'succeeded');
});

test('a preflight gets its response', async (t) => {
  const { sandbox } = await useSandbox(t);
  const response = await fetch(`${sandbox.url}/v1/payment_intents/pi_x/confirm`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    },
  });
  assert.equal(response.status, 204);
  assert.equal(response.headers.get('access-control-allow-headers'), 'authorization');
});

test('API keys that are not test keys are refused and not repeated', async (t) => {
  const { sandbox } = await useSandbox(t);
  const response = async (authorization?: string) => {
    const response = await fetch(`${sandbox.url}/v1/customers`, {
      headers: authorization === undefined ? {} : { authorization },
    });
    return { status: response.status, text: await response.text() };
  };
  assert.equal((await response()).status, 401);
  const live = await response('Bearer sk_live_abcdefghijklmnop');
  assert.equal(live.status, 401);
  assert.ok(!live.text.includes('sk_live_abcdefghijklmnop'));
  assert.equal((await response('Bearer sk_test_any-thing.goes')).status, 200);
  assert.equal((await response(`Basic ${Buffer.from('sk_test_x:').toString('base64')}`)).status, 200);
});
