import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { openPage } from './page-support.ts';
import { callControl, eventTypes, useReceiver, useSandbox, worldOf } from './support.ts';

test('a world sees its own objects, events and account, and no others', async (t) => {
  const { sandbox, stripe } = await useSandbox(t);
  const red = worldOf(sandbox, 'red');
  const blue = worldOf(sandbox, 'blue');
  const customer = await red.stripe.customers.create({ name: 'Red' }, { idempotencyKey: 'same' });
  const other = await blue.stripe.customers.create({ name: 'Blue' }, { idempotencyKey: 'same' });
  assert.notEqual(customer.id, other.id);

  for (const client of [stripe, blue.stripe])
    await assert.rejects(client.customers.retrieve(customer.id), { code: 'resource_missing' });
  assert.deepEqual((await stripe.customers.list()).data, []);
  assert.deepEqual(
    (await red.stripe.customers.list()).data.map(({ name }) => name),
    ['Red'],
  );
  assert.deepEqual([await eventTypes(stripe), await eventTypes(red.stripe)], [[], ['customer.created']]);
  const accounts = await Promise.all(
    [stripe, red.stripe, blue.stripe].map(async (client) => (await client.accounts.retrieveCurrent()).id),
  );
  assert.equal(new Set(accounts).size, 3);
  assert.equal(accounts[0], 'acct_sandbox');
});

test('restricted keys and basic authentication open the same world', async (t) => {
  const { sandbox } = await useSandbox(t);
  const { id } = await worldOf(sandbox, 'red').stripe.customers.create({});
  for (const authorization of [
    'Bearer rk_test_world_red',
    `Basic ${Buffer.from('sk_test_world_red:').toString('base64')}`,
  ]) {
    const response = await fetch(`${sandbox.url}/v1/customers/${id}`, { headers: { authorization } });
    assert.equal(response.status, 200);
  }
});

test('an empty world may begin in the past, and its clock only moves forward from there', async (t) => {
  const { sandbox } = await useSandbox(t);
  const { stripe, control } = worldOf(sandbox, 'old');
  const begins = 1_500_000_000;
  await control('POST', 'clock', { to: begins });
  const { created } = await stripe.customers.create({});
  assert.ok(created >= begins && created < begins + 60, String(created));
  const { status, body } = await control('POST', 'clock', { to: begins - 1 });
  assert.equal(status, 400);
  assert.match(JSON.stringify(body), /only moves forward, except in an empty world/);
  await control('POST', 'clock', { to: begins + 86_400 });
  const [later] = (await stripe.customers.list()).data;
  assert.equal(later?.created, created);
  assert.ok((await stripe.customers.create({})).created >= begins + 86_400);
});

test('each world has its own clock, delivery mode, dunning and faults', async (t) => {
  const { sandbox, stripe, control } = await useSandbox(t);
  const { stripe: red, control: controlRed } = worldOf(sandbox, 'red');
  await controlRed('POST', 'clock', { advanceSeconds: 86_400 });
  await controlRed('POST', 'delivery', { mode: 'paused' });
  await controlRed('POST', 'dunning', { afterwards: 'unpaid' });
  await controlRed('POST', 'faults', { operation: 'customers.create', kind: 'error', status: 503 });

  const offset = async (read: typeof control) =>
    ((await read('GET', 'clock')).body as { offsetSeconds: number }).offsetSeconds;
  assert.ok((await offset(controlRed)) >= 86_400 - 1);
  assert.equal(await offset(control), 0);
  assert.deepEqual((await control('GET', 'delivery')).body, { mode: 'normal', endpoints: [] });
  assert.deepEqual((await control('GET', 'dunning')).body, {
    afterwards: 'cancel',
    firstFailure: 'past_due',
    resumption: 'manual',
  });
  assert.deepEqual((await control('GET', 'faults')).body, { faults: [] });
  const later = await red.products.create({ name: 'Later' });
  const now = await stripe.products.create({ name: 'Now' });
  assert.ok(later.created - now.created > 86_000);
  await stripe.customers.create({});
  await assert.rejects(red.customers.create({}), { statusCode: 503 });
});

test("a world's events go to its own endpoints, and never to the one of the default world", async (t) => {
  const builtIn = await useReceiver(t);
  const own = await useReceiver(t);
  const { sandbox, stripe } = await useSandbox(t, { webhook: { url: builtIn.url, secret: 'whsec_x' } });
  const red = worldOf(sandbox, 'red');
  const endpoint = await red.stripe.webhookEndpoints.create({ url: own.url, enabled_events: ['*'] });
  const customer = await red.stripe.customers.create({});
  await stripe.products.create({ name: 'Default' });

  const [delivered] = await own.first(1);
  const event = red.stripe.webhooks.constructEvent(
    delivered?.body ?? '',
    String(delivered?.headers['stripe-signature']),
    String(endpoint.secret),
  );
  assert.equal((event.data.object as { id: string }).id, customer.id);
  assert.equal((await builtIn.first(1))[0]?.event.type, 'product.created');
  assert.deepEqual(
    [own.received.length, builtIn.received.length, (await stripe.webhookEndpoints.list()).data.length],
    [1, 1, 0],
  );
});

test('the publishable key and the authentication page belong to the world of the payment', async (t) => {
  const { sandbox } = await useSandbox(t);
  const red = worldOf(sandbox, 'red');
  const intent = await red.stripe.paymentIntents.create({
    amount: 900,
    currency: 'eur',
    confirm: true,
    payment_method: 'pm_card_authenticationRequired',
    return_url: 'https://shop.example/done',
  });
  const seen = async (key: string): Promise<number> => {
    const query = new URLSearchParams({ key, client_secret: String(intent.client_secret) });
    return (await fetch(`${sandbox.url}/v1/payment_intents/${intent.id}?${query}`)).status;
  };
  assert.deepEqual(
    await Promise.all([red.publishableKey, 'pk_test_x', 'pk_test_world_blue'].map(seen)),
    [200, 404, 404],
  );

  const link = new URL(intent.next_action?.redirect_to_url?.url ?? '');
  assert.equal((await fetch(new URL(link.href.replace('/worlds/red', '')))).status, 404);
  assert.equal((await fetch(new URL(link.href.replace('/red/', '/nothing/')))).status, 404);
  const { location } = await (await openPage(link)).send({ result: 'succeeded' });
  assert.match(location, /^\/worlds\/red\//);
  assert.equal((await red.stripe.paymentIntents.retrieve(intent.id)).status, 'succeeded');
});

test('an invoice page belongs to the world of its invoice', async (t) => {
  const { sandbox } = await useSandbox(t);
  const { stripe } = worldOf(sandbox, 'red');
  const customer = await stripe.customers.create({ payment_method: 'pm_card_visa' });
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 500,
    recurring: { interval: 'month' },
    product_data: { name: 'Plan' },
  });
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
  });
  const invoice = await stripe.invoices.retrieve(String(subscription.latest_invoice));
  const link = String(invoice.hosted_invoice_url);
  assert.match(link, /\/worlds\/red\//);
  const page = await openPage(link);
  assert.equal(page.status, 200);
  await page.send({ payment_method: 'pm_card_visa' });
  assert.equal((await stripe.invoices.retrieve(invoice.id)).status, 'paid');
  assert.equal((await fetch(link.replace('/worlds/red', ''))).status, 404);
});

test('a secret key with a malformed world name is refused, by the API and by the control API', async (t) => {
  const { sandbox } = await useSandbox(t);
  for (const key of [
    'sk_test_world_',
    'sk_test_world_a.b',
    'sk_test_world_../x',
    `sk_test_world_${'x'.repeat(65)}`,
  ]) {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${sandbox.url}/v1/customers`, { headers });
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    assert.deepEqual([response.status, error.type], [401, 'invalid_request_error']);
    assert.match(error.message, /^Invalid API Key provided/);
    assert.equal((await callControl(sandbox.url, 'GET', 'clock', undefined, headers)).status, 401);
  }
  for (const authorization of ['Bearer sk_live_x', 'Bearer', 'nonsense'])
    assert.equal((await callControl(sandbox.url, 'GET', 'clock', undefined, { authorization })).status, 401);
  const { body } = await callControl(sandbox.url, 'GET', '', undefined, {
    authorization: 'Bearer sk_test_any',
  });
  assert.equal((body as { account: string }).account, 'acct_sandbox');
});

test('removing a world removes everything in it, and nothing else', async (t) => {
  const { sandbox, stripe, control } = await useSandbox(t);
  const red = worldOf(sandbox, 'red');
  const blue = worldOf(sandbox, 'blue');
  await Promise.all([stripe, red.stripe, blue.stripe].map((client) => client.customers.create({})));
  await red.control('POST', 'clock', { advanceSeconds: 86_400 });
  assert.deepEqual(await red.control('DELETE', 'world'), {
    status: 200,
    body: { world: 'red', removed: true },
  });
  const counts = await Promise.all(
    [stripe, red.stripe, blue.stripe].map(async (client) => (await client.customers.list()).data.length),
  );
  assert.deepEqual(counts, [1, 0, 1]);
  assert.equal(((await red.control('GET', 'clock')).body as { offsetSeconds: number }).offsetSeconds, 0);

  const never = worldOf(sandbox, 'never');
  assert.deepEqual((await never.control('DELETE', 'world')).body, { world: 'never', removed: false });
  const refused = await control('DELETE', 'world');
  assert.equal(refused.status, 400);
  assert.match((refused.body as { error: string }).error, /POST \/sandbox\/reset/);
});

test('removing a world ends the requests that a fault holds in it', async (t) => {
  const { sandbox } = await useSandbox(t);
  const red = worldOf(sandbox, 'red');
  await red.control('POST', 'faults', { operation: 'customers.create', kind: 'hang' });
  // Not the official client, which repeats a request whose connection was closed.
  const headers = { authorization: 'Bearer sk_test_world_red' };
  const hanging = assert.rejects(fetch(`${sandbox.url}/v1/customers`, { method: 'POST', headers }));
  await until(async () => {
    const { body } = await red.control('GET', 'faults');
    return (body as { faults: unknown[] }).faults.length === 0;
  });
  await red.control('DELETE', 'world');
  await hanging;
});

test('a reset empties one world', async (t) => {
  const { sandbox, stripe } = await useSandbox(t);
  const red = worldOf(sandbox, 'red');
  await Promise.all([stripe.customers.create({}), red.stripe.customers.create({})]);
  await red.control('POST', 'reset');
  assert.equal((await red.stripe.customers.list()).data.length, 0);
  assert.equal((await stripe.customers.list()).data.length, 1);
});
