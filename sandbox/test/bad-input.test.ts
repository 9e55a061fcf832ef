import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useSandbox } from './support.ts';

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
      'amount=1000&currency=usd&payment_method_types[]=sepa_debit',
      [400, 'payment_intent_invalid_parameter', 'payment_method_types'],
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
    ['invoices/create_preview', `customer=${customer.id}`, [404, 'invoice_upcoming_none', undefined]],
    [
      'test_helpers/test_clocks',
      'frozen_time=1800000000000',
      [400, 'parameter_invalid_integer', 'frozen_time'],
    ],
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

test('only paths below /v1 belong to the API', async (t) => {
  const { sandbox } = await useSandbox(t);
  const headers = { authorization: 'Bearer sk_test_x' };
  for (const path of ['/v2/customers', '/customers', '/x/customers', '/v1', '/v1/', '/v1//customers'])
    assert.equal((await fetch(`${sandbox.url}${path}`, { headers })).status, 404, path);
});
