import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { operations } from '../../sandbox/resources/operations.ts';
import { customerAndPrice, incompleteSubscription, useSandbox } from './support.ts';

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
    'email',
    'name',
    'query',
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
  ),
  fc.string(),
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
    '\u0000',
    '\ud800',
    '%',
    'https://x',
    'all',
  ),
  fc.string(),
  fc.string({ minLength: 600, maxLength: 700 }),
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
];
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

test('no form, however broken, makes any operation fail with a 5xx', async (t) => {
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

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...operations),
      fc.constantFrom(...ids),
      form,
      async (operation, id, garbage) => {
        const text = garbage
          .replaceAll('CUSTOMER', customer.id)
          .replaceAll('PRICE', price.id)
          .replaceAll('INTENT', intentId);
        const path = `/v1/${operation.path.replace('*', id)}`;
        const inQuery = operation.method !== 'POST';
        const response = await fetch(
          `${sandbox.url}${path}${inQuery ? `?${text.replaceAll('#', '%23')}` : ''}`,
          {
            method: operation.method,
            headers: { authorization: 'Bearer sk_test_x' },
            ...(inQuery ? {} : { body: text }),
          },
        );
        const body = (await response.json()) as WireFailure;
        assert.ok(response.status < 500, `${operation.name} ${text}: ${JSON.stringify(body)}`);
        if (response.status >= 400) assert.equal(typeof body.error.message, 'string');
        assert.match(String(response.headers.get('request-id')), /^req_/);
      },
    ),
    { numRuns: 1_000 },
  );
  assert.deepEqual(problems, []);
});

test('each kind of mistake gets its own kind of error', async (t) => {
  const { stripe, sandbox } = await useSandbox(t);
  const customer = await stripe.customers.create({});
  const post = async (path: string, body: string | Uint8Array<ArrayBuffer>) => {
    const response = await fetch(`${sandbox.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_test_x' },
      body,
    });
    const { error } = (await response.json()) as { error: { code?: string; param?: string; type: string } };
    return [response.status, error.code, error.param];
  };
  const tooManyKeys = Array.from({ length: 51 }, (_, index) => `metadata[k${index}]=v`).join('&');
  const cases: [string, string, unknown[]][] = [
    ['payment_intents', 'currency=usd', [400, 'parameter_missing', 'amount']],
    ['payment_intents', 'amount=ten&currency=usd', [400, 'parameter_invalid_integer', 'amount']],
    ['payment_intents', 'amount=1000&currency=xyz', [400, undefined, 'currency']],
    ['payment_intents', 'amount=49&currency=usd', [400, 'amount_too_small', 'amount']],
    ['payment_intents', 'amount=100000000&currency=usd', [400, 'amount_too_large', 'amount']],
    ['payment_intents', 'amount=1000&currency=usd&colour=red', [400, 'parameter_unknown', 'colour']],
    [
      'payment_intents',
      'amount=1000&currency=usd&payment_method_types[]=card',
      [400, 'parameter_unknown', 'payment_method_types'],
    ],
    ['payment_intents', 'amount[x]=1&currency=usd', [400, 'parameter_invalid_integer', 'amount']],
    ['payment_intents', 'amount=1000&currency=usd&customer=cus_none', [400, 'resource_missing', 'customer']],
    ['payment_intents', 'amount=1000&currency=usd&expand[]=nothing', [400, undefined, 'expand']],
    ['payment_intents/pi_none/confirm', '', [404, 'resource_missing', 'id']],
    ['customers', tooManyKeys, [400, undefined, 'metadata']],
    ['customers', `metadata[${'k'.repeat(41)}]=v`, [400, undefined, `metadata[${'k'.repeat(41)}]`]],
    ['customers', `metadata[k]=${'v'.repeat(501)}`, [400, undefined, 'metadata[k]']],
    ['customers', 'metadata[a]=1&metadata=2', [400, undefined, undefined]],
    ['customers', 'a[b][c][d][e][f][g]=1', [400, undefined, undefined]],
    ['customers', 'name=%E0%A4%A', [400, undefined, undefined]],
    ['customers', 'email=nobody', [400, 'email_invalid', 'email']],
    ['customers', `name=${'x'.repeat(1_048_600)}`, [413, undefined, undefined]],
    ['refunds', '', [400, 'parameter_missing', undefined]],
    [
      'subscriptions',
      `customer=${customer.id}&items[0][price]=price_none`,
      [400, 'resource_missing', 'items[0][price]'],
    ],
    ['nothing', '', [404, undefined, undefined]],
  ];
  for (const [path, body, expected] of cases)
    assert.deepEqual(await post(path, body), expected, `${path} ${body.slice(0, 80)}`);
  assert.equal((await stripe.paymentIntents.list()).data.length, 0);
});

test('metadata keys are set, kept and unset', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await stripe.customers.create({ metadata: { a: '1', b: '2' }, name: 'N' });
  const changed = await stripe.customers.update(customer.id, { metadata: { a: '', c: '3' }, name: '' });
  assert.deepEqual([changed.metadata, changed.name], [{ b: '2', c: '3' }, null]);
  assert.deepEqual((await stripe.customers.update(customer.id, { metadata: '' })).metadata, {});
});
