import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { operations } from '../resources/operations.ts';
import { startSandbox } from '../sandbox.ts';
import { Api } from '../wire/api.ts';
import { World } from '../worlds/world.ts';
import { clientOf, customerAndPrice, eventTypes, useReceiver, useSandbox, worldOf } from './support.ts';

const daySeconds = 86_400;
const start = 1_600_000_000;

async function subscribed(stripe: Stripe, test_clock: string | undefined) {
  const { price } = await customerAndPrice(stripe);
  const customer = await stripe.customers.create({
    payment_method: 'pm_card_visa',
    ...(test_clock === undefined ? {} : { test_clock }),
  });
  const [method] = (await stripe.customers.listPaymentMethods(customer.id)).data;
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: String(method?.id),
  });
  return { customer, subscription };
}

async function ready(stripe: Stripe, id: string): Promise<Stripe.TestHelpers.TestClock> {
  for (;;) {
    const clock = await stripe.testHelpers.testClocks.retrieve(id);
    if (clock.status !== 'advancing') return clock;
  }
}

test("a test clock and the world's clock move apart from each other", async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: start });
  const onClock = await subscribed(stripe, clock.id);
  const onWorld = await subscribed(stripe, undefined);
  const invoices = async ({ subscription }: typeof onClock) =>
    (await stripe.invoices.list({ subscription: subscription.id })).data.length;

  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: start + 32 * daySeconds });
  await ready(stripe, clock.id);
  assert.deepEqual([await invoices(onClock), await invoices(onWorld)], [2, 1]);
  await advance(20 * daySeconds);
  await advance(12 * daySeconds);
  // The clock itself is deleted 30 days after its creation, with everything on it.
  assert.deepEqual([await invoices(onClock), await invoices(onWorld)], [0, 2]);
  await assert.rejects(stripe.testHelpers.testClocks.retrieve(clock.id), { code: 'resource_missing' });
});

test('payments and events of a clock have the time of the world, billing objects that of the clock', async (t) => {
  const { stripe } = await useSandbox(t);
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: start });
  const { subscription, customer } = await subscribed(stripe, clock.id);
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: start + 31 * daySeconds + 7_200 });
  await ready(stripe, clock.id);
  const now = Math.floor(Date.now() / 1_000);
  const isNow = (seconds: number) => Math.abs(seconds - now) < 3_600;
  const { data: invoices } = await stripe.invoices.list({ customer: customer.id });
  assert.deepEqual(
    invoices.map(({ created, status_transitions }) => [
      (created - start) / daySeconds,
      ((status_transitions.paid_at ?? 0) - created) / 3_600,
    ]),
    [
      [30, 1],
      [0, 0],
    ],
  );
  const { data: intents } = await stripe.paymentIntents.list({ customer: customer.id });
  assert.deepEqual(
    intents.map(({ created, status }) => [isNow(created), status]),
    [
      [true, 'succeeded'],
      [true, 'succeeded'],
    ],
  );
  const events = await stripe.events.list({ limit: 100 });
  assert.ok(events.data.every(({ created }) => isNow(created)));
  await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true });
  const canceled = await stripe.subscriptions.cancel(subscription.id);
  assert.equal(canceled.ended_at, start + 31 * daySeconds + 7_200);
});

test('a clock announces its steps, before and after the events of its customers', async (t) => {
  const { sandbox } = await useSandbox(t);
  const { stripe } = worldOf(sandbox, 'clocks');
  const receiver = await useReceiver(t);
  await stripe.webhookEndpoints.create({
    url: receiver.url,
    enabled_events: ['test_helpers.test_clock.ready'],
  });
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: start });
  await subscribed(stripe, clock.id);
  const before = (await eventTypes(stripe)).length;
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: start + 31 * daySeconds + 7_200 });
  const [delivered] = await receiver.first(1);
  assert.equal(delivered?.event.type, 'test_helpers.test_clock.ready');
  const types = (await eventTypes(stripe)).slice(before);
  assert.equal(types[0], 'test_helpers.test_clock.advancing');
  assert.equal(types.at(-1), 'test_helpers.test_clock.ready');
  assert.ok(types.includes('invoice.paid') && types.includes('customer.subscription.updated'));
});

test('nothing on a clock changes while it is advancing', async () => {
  const world = new World({
    accountId: 'acct_sandbox',
    url: () => '',
    basePath: '',
    log: (_level, fields, message) => assert.fail(`${message} ${JSON.stringify(fields)}`),
  });
  const api = new Api({
    worlds: { default: world, open: () => world },
    operations,
    logError: ({ error }: { error?: unknown }) => assert.fail(error as Error),
  });
  const call = async (method: string, path: string, body = '') => {
    const response = await api.respond({
      method,
      path: `/v1/${path}`,
      query: '',
      body,
      authorization: 'Bearer sk_test_x',
      idempotencyKey: undefined,
      version: undefined,
      gone: new Promise(() => {}),
    });
    assert.ok(response !== null);
    // Objects and errors are looked at for what they may have.
    return { status: response.status, body: response.body as { id: string; error?: { message: string } } };
  };
  const { body: clock } = await call('POST', 'test_helpers/test_clocks', `frozen_time=${start}`);
  const { body: customer } = await call('POST', 'customers', `test_clock=${clock.id}`);
  const path = `test_helpers/test_clocks/${clock.id}`;
  // The clock advances after the response to the first request. The others are handled before that.
  const [advanced, ...refused] = await Promise.all([
    call('POST', `${path}/advance`, `frozen_time=${start + daySeconds}`),
    call('POST', `customers/${customer.id}`, 'name=New'),
    call('POST', 'payment_intents', `amount=500&currency=usd&customer=${customer.id}`),
    call('POST', `${path}/advance`, `frozen_time=${start + 2 * daySeconds}`),
    call('DELETE', path),
  ]);
  assert.equal(advanced?.status, 200);
  for (const { status, body } of refused) {
    assert.equal(status, 429);
    assert.match(
      body.error?.message ?? '',
      /^Test clock advancement underway - cannot perform modifications/,
    );
  }
  await world.close();
});

test('a clock takes three customers, and an existing customer with its subscriptions', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, subscription } = await subscribed(stripe, undefined);
  const now = Math.floor(Date.now() / 1_000);
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: now, customer: customer.id });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).test_clock, clock.id);
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: now + 32 * daySeconds });
  await ready(stripe, clock.id);
  assert.equal((await stripe.invoices.list({ customer: customer.id })).data.length, 2);

  for (let count = 1; count < 3; count++) await stripe.customers.create({ test_clock: clock.id });
  await assert.rejects(stripe.customers.create({ test_clock: clock.id }), { param: 'test_clock' });
  await assert.rejects(stripe.testHelpers.testClocks.create({ frozen_time: now, customer: customer.id }), {
    param: 'customer',
  });
});

test('deleting a clock leaves nothing of its customers behind', async (t) => {
  const { stripe, control } = await useSandbox(t);
  const holds = async () => ((await control('GET', '')).body as { holds: Record<string, number> }).holds;
  await customerAndPrice(stripe);
  const { events: _, products, prices, ...before } = await holds();
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: start });
  const { customer } = await subscribed(stripe, clock.id);
  const intents = await stripe.paymentIntents.list({ customer: customer.id });
  await stripe.refunds.create({ payment_intent: String(intents.data[0]?.id), amount: 100 });
  await stripe.testHelpers.testClocks.del(clock.id);
  const { events: __, products: ___, prices: ____, ...after } = await holds();
  assert.deepEqual(after, { ...before, customers: Number(before['customers']) + 1 });
  assert.deepEqual([products, prices], [1, 1]);
});

test('a clock that was advancing when the process was killed arrives after a restart', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-sandbox-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const before = await startSandbox({ port: 0, dataDir });
  const first = clientOf(before.port);
  const clock = await first.testHelpers.testClocks.create({ frozen_time: start });
  const { subscription } = await subscribed(first, clock.id);
  const frozen_time = start + 31 * daySeconds + 7_200;
  await first.testHelpers.testClocks.advance(clock.id, { frozen_time });
  await ready(first, clock.id);
  await before.close();
  // The journal up to the line that starts the advance is what a killed process leaves behind.
  const path = join(dataDir, 'sandbox', 'journal.jsonl');
  const lines = (await readFile(path, 'utf8')).split('\n');
  const last = lines.findIndex((line) => line.includes('"status":"advancing"'));
  assert.ok(last > 0);
  await writeFile(path, `${lines.slice(0, last + 1).join('\n')}\n`);

  const { stripe } = await useSandbox(t, { dataDir });
  const arrived = await ready(stripe, clock.id);
  assert.deepEqual([arrived.status, arrived.frozen_time], ['ready', frozen_time]);
  const { data } = await stripe.invoices.list({ subscription: subscription.id });
  assert.deepEqual(
    data.map(({ status }) => status),
    ['paid', 'paid'],
  );
});
