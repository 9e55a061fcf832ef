import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { operations } from '../../sandbox/resources/operations.ts';
import { customerAndPrice, incompleteSubscription, useSandbox } from '../../sandbox/test/support.ts';
import { sendRawForAll } from '../support/raw-http.ts';
import { fuzz } from './fuzz.ts';
import { hostileJson, hostileText, hugeBody } from './hostile-values.ts';
import { createWireClient } from './wire-client.ts';

const amount = { short: 400, long: 5_000 };
const controlAmount = { short: 80, long: 1_000 };

interface WireFailure {
  readonly error: { readonly type: string; readonly message: string };
}

/** Names and values that come close to what operations take, and some that come close to nothing. */
const names = fc.oneof(
  fc.constantFrom(
    'amount',
    'currency',
    'customer',
    'metadata',
    'metadata[a]',
    'metadata[]',
    'items',
    'items[0]',
    'items[0][price]',
    'items[0][quantity]',
    'items[1e9][price]',
    'payment_method',
    'payment_method_data[card][number]',
    'created',
    'created[gte]',
    'limit',
    'starting_after',
    'ending_before',
    'expand',
    'expand[]',
    'expand[0]',
    'types[]',
    'type',
    'confirm',
    'trial_period_days',
    'trial_end',
    'pause_collection',
    'pause_collection[behavior]',
    'pricing[price]',
    'price_data[unit_amount_decimal]',
    'unit_amount_decimal',
    'quantity',
    'lookup_keys[]',
    'payment_method_types[]',
    'shipping[address]',
    'subscription',
    'invoice',
    'source',
    'email',
    'name',
    'query',
    'evidence',
    'evidence[uncategorized_text]',
    'submit',
    'use_stripe_sdk',
    'statement_descriptor_suffix',
    'card[cvc]',
    'page',
    'url',
    'enabled_events[]',
    'recurring[interval]',
    'product_data[name]',
    'unit_amount',
    '__proto__',
    '__proto__[x]',
    'constructor[prototype]',
    'a[b',
    'a]b[',
    '[',
    '[]',
    '',
    'return_url',
    'cancel_at',
    'payment_intent',
    'status',
    `a${'[b]'.repeat(100)}`,
    `items[${'9'.repeat(300)}]`,
    'metadata[__proto__]',
    'items[0][price][x]',
  ),
  fc.string(),
  hostileText,
);
const values = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1',
    '50',
    '1000',
    '99999999999999999999',
    '1.5',
    'NaN',
    'true',
    'false',
    'usd',
    'USD',
    'xxx',
    'card',
    'pm_card_visa',
    'pm_card_chargeDeclined',
    'pm_card_threeDSecure2Required',
    '4242424242424242',
    'data.customer',
    'customer',
    'latest_invoice.payments',
    'a.b.c.d.e.f',
    "metadata['a']:'b'",
    "-metadata['__proto__']:null OR status:'active'",
    `email~"${'\\'.repeat(50)}" AND created>5`,
    'created>=99999999999999999999 amount<-1.5',
    'winning_evidence',
    'pm_card_createDispute',
    '\u0000',
    '\ud800',
    '%',
    'https://x',
    'all',
    'now',
    'void',
    'tok_visa',
    'CUSTOMER',
    'PRICE',
  ),
  fc.string(),
  fc.string({ minLength: 600, maxLength: 700 }),
  hostileText,
);
const pair = fc.tuple(names, values).map(([name, value]) => `${encode(name)}=${encode(value)}`);
/** Garbage alone is mostly refused at the door; behind a valid beginning it gets further. */
const beginnings = [
  '',
  'amount=1000&currency=usd&',
  'amount=1000&currency=usd&confirm=true&payment_method=pm_card_visa&return_url=https://x&',
  'currency=usd&unit_amount=500&product_data[name]=P&',
  'name=N&',
  'type=card&card[number]=4242424242424242&card[exp_month]=1&card[exp_year]=40&',
  'payment_method=pm_card_visa&',
  'url=https://x&enabled_events[]=*&',
  'customer=CUSTOMER&items[0][price]=PRICE&payment_behavior=default_incomplete&',
  'customer=CUSTOMER&items[0][price]=PRICE&trial_period_days=3&',
  'customer=CUSTOMER&',
  'payment_intent=INTENT&',
  'customer=CUSTOMER&amount=1000&currency=usd&',
  'customer=CUSTOMER&collection_method=send_invoice&days_until_due=3&',
  "query=name~'abc' AND created>0&",
  'evidence[uncategorized_text]=winning_evidence&',
];
/** Each has other parameters and shapes; most clients name one. */
const versions = [undefined, undefined, '2026-10-28.endive', '2024-06-20', '2020-08-27'];
const form = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .tuple(fc.constantFrom(...beginnings), fc.array(pair, { maxLength: 4 }))
      .map(([beginning, pairs]) => beginning + pairs.join('&')),
  },
  { weight: 1, arbitrary: fc.string() },
);

function encode(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    // A lone surrogate has no encoding; sent as it is, it arrives as broken UTF-8.
    return text;
  }
}

test('no form, however broken, makes any operation of the sandbox fail with a 5xx', async (t) => {
  const problems: unknown[] = [];
  const { stripe, sandbox } = await useSandbox(t, {
    log: (level, fields, message) => {
      if (level === 'error') problems.push({ fields, message });
    },
  });
  const { customer, price } = await customerAndPrice(stripe);
  const { subscription, invoice, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
  const ids = [
    customer.id,
    price.id,
    subscription.id,
    invoice.id,
    intentId,
    'pi_none',
    'pm_card_visa',
    '%00',
    '%ff',
    '..',
    '*',
  ];

  const requests = fc.tuple(
    fc.constantFrom(...operations),
    fc.constantFrom(...ids),
    form,
    fc.constantFrom(...versions),
  );
  await fuzz(amount, requests, async ([operation, id, garbage, version]) => {
    const text = garbage
      .replaceAll('CUSTOMER', customer.id)
      .replaceAll('PRICE', price.id)
      .replaceAll('INTENT', intentId);
    const path = `/v1/${operation.path.replace('*', id)}`;
    const inQuery = operation.method !== 'POST';
    const response = await fetch(`${sandbox.url}${path}${inQuery ? `?${text.replaceAll('#', '%23')}` : ''}`, {
      method: operation.method,
      headers: {
        authorization: 'Bearer sk_test_x',
        ...(version === undefined ? {} : { 'stripe-version': version }),
      },
      ...(inQuery ? {} : { body: text }),
    });
    const body = (await response.json()) as WireFailure;
    assert.ok(response.status < 500, `${operation.name} ${text}: ${JSON.stringify(body)}`);
    if (response.status >= 400) assert.equal(typeof body.error.message, 'string');
    assert.match(String(response.headers.get('request-id')), /^req_/);
  });
  assert.deepEqual(problems, []);
});

test('no request makes the controls of the sandbox fail with a 5xx or respond without JSON', async (t) => {
  const problems: unknown[] = [];
  const { sandbox } = await useSandbox(t, {
    log: (level, fields, message) => {
      if (level === 'error') problems.push({ fields, message });
    },
  });
  const { send, close } = createWireClient(sandbox.url);
  t.after(close);
  const field = fc.tuple(
    fc.constantFrom('advanceSeconds', 'mode', 'operation', 'kind', 'status', 'times', 'delayMs', '__proto__'),
    fc.oneof(hostileJson, fc.constantFrom('"*"', '"error"', '"paused"', '"auto"', '0', '503')),
  );
  const fixture = fc.tuple(
    fc.constantFrom(
      'customers',
      'products',
      'prices',
      'payment_intents',
      'events',
      '__proto__',
      'constructor',
    ),
    fc.array(
      fc
        .tuple(
          fc.constantFrom('id', 'name', 'amount', 'metadata', 'items', 'secret', '__proto__'),
          hostileJson,
        )
        .map(([name, json]) => `{"${name}":${json}}`),
      { maxLength: 3 },
    ),
  );
  const body = fc.oneof(
    {
      weight: 20,
      arbitrary: fc
        .array(field, { maxLength: 4 })
        .map((fields) => `{${fields.map(([name, json]) => `"${name}":${json}`).join(',')}}`),
    },
    {
      weight: 20,
      arbitrary: fc
        .array(fixture, { maxLength: 3 })
        .map((kinds) => `{${kinds.map(([kind, objects]) => `"${kind}":[${objects.join(',')}]`).join(',')}}`),
    },
    { weight: 5, arbitrary: hostileJson },
    { weight: 1, arbitrary: hugeBody },
  );
  const requests = fc.record({
    method: fc.constantFrom('GET', 'POST', 'DELETE', 'PUT'),
    // The clock is left alone: an hour there and back again is a test of its own, and a year takes its time.
    path: fc.oneof(
      fc.constant('fixtures'),
      fc.constantFrom('faults', 'delivery', 'delivery/flush', 'world', 'nothing', '..%2f', '%00', '%zz'),
    ),
    authorization: fc.constantFrom('', 'Bearer sk_test_world_a', 'Bearer sk_test_world_../b', 'Basic !', 'x'),
    body,
  });
  await fuzz(controlAmount, requests, async ({ method, path, authorization, body: text }) => {
    const {
      status,
      headers,
      text: response,
    } = await send({
      method,
      path: `/sandbox/${path}`,
      headers: [['authorization', authorization]],
      body: Buffer.from(text),
      isChunked: false,
    });
    assert.ok(status < 500, `${method} ${path} ${text.slice(0, 300)}: ${response}`);
    if (headers['content-type'] === 'application/json') JSON.parse(response);
    else assert.ok(status < 400, `${method} ${path}: ${status} ${response}`);
  });
  assert.deepEqual(problems, []);
});

test('malformed HTTP gets an error in JSON from the sandbox too, and ends its connection', async (t) => {
  const { sandbox } = await useSandbox(t);
  const broken = [
    'NONSENSE\r\n\r\n',
    'POST /v1/customers HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'GET /v1/customers HTTP/1.1\r\nhost: x\r\nx y: z\r\n\r\n',
    `GET /v1/customers HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
  ];
  for (const request of broken) {
    const [response, ...more] = await sendRawForAll(sandbox.port, request);
    assert.deepEqual(
      [response?.status, response?.headers['content-type'], more],
      [400, 'application/json', []],
    );
    assert.equal(JSON.parse(response?.body ?? '').error.type, 'invalid_request_error');
  }
});
