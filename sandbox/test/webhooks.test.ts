import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { customerAndPrice, incompleteSubscription, useReceiver, useSandbox } from './support.ts';

const secret = 'whsec_test';

test('events arrive signed with real time and show sandbox time, and pending_webhooks counts down', async (t) => {
  const receiver = await useReceiver(t);
  const { stripe, advance, control } = await useSandbox(t, { webhook: { url: receiver.url, secret } });
  await advance(40 * 86_400);
  const customer = await stripe.customers.create({ name: 'A' });
  await stripe.customers.update(customer.id, { name: 'B' });
  const received = await receiver.first(2);
  for (const { body, headers } of received)
    stripe.webhooks.constructEvent(body, String(headers['stripe-signature']), secret, 300);
  assert.deepEqual(received.map(({ event }) => event.type).toSorted(), [
    'customer.created',
    'customer.updated',
  ]);
  const updated = received.find(({ event }) => event.type === 'customer.updated')?.event;
  assert.deepEqual(updated?.data.previous_attributes, { name: 'A' });
  assert.ok((updated?.created ?? 0) > Date.now() / 1_000 + 39 * 86_400, 'the event carries sandbox time');
  await control('POST', 'delivery/flush');
  const listed = await stripe.events.list();
  assert.deepEqual(
    listed.data.map(({ pending_webhooks }) => pending_webhooks),
    [0, 0],
  );
  assert.equal((await stripe.events.list({ delivery_success: true })).data.length, 2);
});

test('an event that is refused does not hold up the next one, and is sent again', async (t) => {
  const receiver = await useReceiver(t);
  const nameOf = (event: Stripe.Event) => (event.data.object as Stripe.Customer).name;
  receiver.refuses = (event) => nameOf(event) === 'first';
  const { stripe, control } = await useSandbox(t, { webhook: { url: receiver.url, secret } });
  await stripe.customers.create({ name: 'first' });
  await stripe.customers.create({ name: 'second' });
  await control('POST', 'delivery/flush');
  const undelivered = await stripe.events.list({ delivery_success: false });
  assert.deepEqual(undelivered.data.map(nameOf), ['first']);
  receiver.refuses = () => false;
  await control('POST', 'delivery/flush');
  assert.equal((await stripe.events.list({ delivery_success: false })).data.length, 0);
  assert.ok(receiver.received.filter(({ event }) => nameOf(event) === 'first').length >= 2);
  assert.equal(receiver.received.filter(({ event }) => nameOf(event) === 'second').length, 1);
});

test('a refused event is retried by itself', async (t) => {
  const receiver = await useReceiver(t);
  receiver.refuses = () => receiver.received.length === 1;
  const { stripe } = await useSandbox(t, { webhook: { url: receiver.url, secret } });
  await stripe.customers.create({});
  const [first, second] = await receiver.first(2);
  assert.equal(first?.event.id, second?.event.id);
});

test('paused holds events back until normal or a flush; a flush leaves it paused', async (t) => {
  const receiver = await useReceiver(t);
  const { stripe, control } = await useSandbox(t, { webhook: { url: receiver.url, secret } });
  await control('POST', 'delivery', { mode: 'paused' });
  await stripe.customers.create({});
  assert.equal(receiver.received.length, 0);
  await control('POST', 'delivery/flush');
  assert.equal(receiver.received.length, 1);
  await stripe.customers.create({});
  assert.equal(receiver.received.length, 1);
  const { body } = await control('GET', 'delivery');
  assert.deepEqual(body, {
    mode: 'paused',
    endpoints: [{ endpoint: 'we_builtin', url: receiver.url, waiting: 1 }],
  });
  await control('POST', 'delivery', { mode: 'normal' });
  await receiver.first(2);
});

test('duplicate sends every event twice', async (t) => {
  const receiver = await useReceiver(t);
  const { stripe, control } = await useSandbox(t, { webhook: { url: receiver.url, secret } });
  await control('POST', 'delivery', { mode: 'duplicate' });
  await stripe.customers.create({});
  const [first, second] = await receiver.first(2);
  assert.equal(first?.event.id, second?.event.id);
});

test('shuffle delivers everything, in another order', async (t) => {
  const receiver = await useReceiver(t);
  const { stripe, control } = await useSandbox(t, { webhook: { url: receiver.url, secret } });
  await control('POST', 'delivery', { mode: 'shuffle' });
  const count = 40;
  await Promise.all(Array.from({ length: count }, () => stripe.customers.create({})));
  const arrived = (await receiver.first(count)).map(({ event }) => event.id);
  const created = (await stripe.events.list({ limit: 100 })).data.map(({ id }) => id).reverse();
  assert.deepEqual(arrived.toSorted(), created.toSorted());
  // Forty events stay in order by chance once in 40! times.
  assert.notDeepEqual(arrived, created);
});

test('drop loses events for the receiver, and the event list still has them as undelivered', async (t) => {
  const receiver = await useReceiver(t);
  const { stripe, control } = await useSandbox(t, { webhook: { url: receiver.url, secret } });
  await control('POST', 'delivery', { mode: 'drop' });
  await stripe.customers.create({ name: 'lost' });
  await control('POST', 'delivery', { mode: 'normal' });
  await stripe.customers.create({ name: 'kept' });
  await receiver.first(1);
  await control('POST', 'delivery/flush');
  assert.equal(receiver.received.length, 1);
  const undelivered = await stripe.events.list({ delivery_success: false });
  assert.deepEqual(
    undelivered.data.map(({ data, pending_webhooks }) => [
      (data.object as Stripe.Customer).name,
      pending_webhooks,
    ]),
    [['lost', 1]],
  );
});

test('a registered endpoint gets only what it asked for, signed with its own secret', async (t) => {
  const receiver = await useReceiver(t);
  const { stripe, control } = await useSandbox(t);
  const endpoint = await stripe.webhookEndpoints.create({
    url: receiver.url,
    enabled_events: ['customer.deleted'],
  });
  assert.match(String(endpoint.secret), /^whsec_/);
  assert.equal((await stripe.webhookEndpoints.retrieve(endpoint.id)).secret, undefined);
  const customer = await stripe.customers.create({});
  await stripe.customers.del(customer.id);
  const [received] = await receiver.first(1);
  stripe.webhooks.constructEvent(
    received?.body ?? '',
    String(received?.headers['stripe-signature']),
    String(endpoint.secret),
  );
  assert.equal(received?.event.type, 'customer.deleted');

  await stripe.webhookEndpoints.update(endpoint.id, { disabled: true });
  await stripe.customers.del((await stripe.customers.create({})).id);
  await control('POST', 'delivery/flush');
  assert.equal(receiver.received.length, 1);
  await stripe.webhookEndpoints.del(endpoint.id);
  assert.equal((await stripe.webhookEndpoints.list()).data.length, 0);
});

test('an endpoint of an older version gets the older shape', async (t) => {
  const receiver = await useReceiver(t);
  const { stripe, control } = await useSandbox(t);
  await stripe.webhookEndpoints.create({
    url: receiver.url,
    enabled_events: ['*'],
    api_version: '2024-06-20',
  });
  const { customer, price } = await customerAndPrice(stripe);
  const { subscription, invoice, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
  await stripe.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });
  await control('POST', 'delivery/flush');
  const objectOf = (type: string): Record<string, unknown> => {
    const found = receiver.received.find(({ event }) => event.type === type)?.event;
    assert.equal(found?.api_version, '2024-06-20');
    // The older shape is in no type of the package, so it is looked at as plain JSON.
    return found?.data.object as unknown as Record<string, unknown>;
  };
  const item = subscription.items.data[0];
  const older = objectOf('customer.subscription.created');
  assert.equal(older['current_period_end'], item?.current_period_end);
  assert.equal(older['current_period_start'], item?.current_period_start);
  const paid = objectOf('invoice.paid');
  assert.deepEqual(
    [paid['id'], paid['subscription'], paid['payment_intent'], paid['paid'], paid['parent']],
    [invoice.id, subscription.id, intentId, true, undefined],
  );
  assert.match(String(paid['charge']), /^ch_/);
  const [line] = (paid['lines'] as { data: Record<string, unknown>[] }).data;
  assert.deepEqual(
    [line?.['type'], line?.['proration'], line?.['pricing']],
    ['subscription', false, undefined],
  );
  assert.equal(objectOf('payment_intent.succeeded')['invoice'], invoice.id);
  await stripe.invoiceItems.create({ customer: customer.id, amount: 900, currency: 'usd' });
  await control('POST', 'delivery/flush');
  const single = objectOf('invoiceitem.created');
  assert.deepEqual([single['unit_amount'], single['subscription'], single['parent']], [900, null, undefined]);
});

test('an event shows its object as it was then', async (t) => {
  const { stripe } = await useSandbox(t);
  const intent = await stripe.paymentIntents.create({ amount: 500, currency: 'eur' });
  await stripe.paymentIntents.confirm(intent.id, {
    payment_method: 'pm_card_visa',
    return_url: 'https://example.com',
  });
  const statuses = (
    await stripe.events.list({ types: ['payment_intent.created', 'payment_intent.succeeded'] })
  ).data.map(({ data }) => (data.object as Stripe.PaymentIntent).status);
  assert.deepEqual(statuses, ['succeeded', 'requires_payment_method']);
});

test('an endpoint of an older version gets metadata that looks like an object as it is', async (t) => {
  const receiver = await useReceiver(t);
  const { stripe } = await useSandbox(t);
  await stripe.webhookEndpoints.create({
    url: receiver.url,
    enabled_events: ['customer.created'],
    api_version: '2024-06-20',
  });
  const metadata = { id: 'x', object: 'subscription' };
  await stripe.customers.create({ metadata });
  const [first] = await receiver.first(1);
  const received = first?.event.data.object as Stripe.Customer | undefined;
  assert.deepEqual(received?.metadata, metadata);
});
