import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Stripe from 'stripe';
import { startSandbox } from '../sandbox.ts';
import { clientOf, customerAndPrice, type TestSandbox, useSandbox, worldOf } from './support.ts';

const like = { like: 'stripe', seed: 7 };
const none = { like: null, seed: null };

const refusalOf = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => assert.fail('it was not refused'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Stripe.errors.StripeRateLimitError, String(error));
  return error;
};
const reasonOf = ({ headers }: Stripe.errors.StripeError) => headers?.['stripe-rate-limited-reason'];

/** Many requests at once, as the processor answers them. */
async function burst(count: number, send: () => Promise<unknown>) {
  const refusals: Stripe.errors.StripeError[] = [];
  const startedMs = performance.now();
  const sent = Array.from({ length: count }, () =>
    send().catch((error: unknown) => {
      assert.ok(error instanceof Stripe.errors.StripeError, String(error));
      refusals.push(error);
    }),
  );
  await Promise.all(sent);
  const seconds = Math.ceil((performance.now() - startedMs) / 1_000);
  return { refusals, served: count - refusals.length, seconds };
}

/** A subscription that a change bills at once. */
async function billed(t: TestContext): Promise<TestSandbox & { change(quantity: number): Promise<unknown> }> {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const { customer, price } = await customerAndPrice(stripe);
  const card = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  const { id, items } = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: card.id,
  });
  const item = String(items.data[0]?.id);
  return {
    ...sandbox,
    change: (quantity) =>
      stripe.subscriptions.update(id, {
        items: [{ id: item, quantity }],
        proration_behavior: 'always_invoice',
      }),
  };
}

test('by default there are no manners', async (t) => {
  const { stripe, control } = await useSandbox(t);
  assert.deepEqual((await control('GET', 'manners')).body, none);
  const { refusals } = await burst(100, () => stripe.customers.create());
  assert.deepEqual(refusals, []);
});

test('a burst is limited in all, for each operation and for searches, as the official client understands it', async (t) => {
  const { stripe, control } = await useSandbox(t);
  assert.deepEqual(await control('POST', 'manners', like), { status: 200, body: like });
  const { refusals, served, seconds } = await burst(200, () => stripe.customers.list());
  assert.ok(served >= 25 && served <= 25 * seconds, `${served} of 200 in ${seconds} s`);
  const [refusal] = refusals;
  assert.ok(refusal instanceof Stripe.errors.StripeRateLimitError);
  assert.deepEqual(
    [refusal.statusCode, refusal.rawType, refusal.code, reasonOf(refusal)],
    [429, 'invalid_request_error', 'rate_limit', 'global-rate'],
  );
  await control('POST', 'manners', like);
  const searches = await burst(200, () => stripe.customers.search({ query: "email:'jenny@example.com'" }));
  assert.ok(searches.served >= 20 && searches.served <= 20 * searches.seconds);
  assert.equal(reasonOf(searches.refusals[0] ?? assert.fail()), 'endpoint-rate');
});

test('a refused request did no work, and its idempotency key is free', async (t) => {
  const { stripe, control } = await useSandbox(t);
  await control('POST', 'manners', like);
  const keys = Array.from({ length: 60 }, (_, at) => `key ${at}`);
  const create = (idempotencyKey: string) =>
    stripe.customers.create({ metadata: { key: idempotencyKey } }, { idempotencyKey });
  const settled = await Promise.allSettled(keys.map(create));
  const refused = keys.filter((_, at) => settled[at]?.status === 'rejected');
  assert.notEqual(refused.length, 0);
  assert.deepEqual((await control('POST', 'manners', { like: null })).body, none);
  const customers = await stripe.customers.list({ limit: 100 });
  assert.equal(customers.data.length, keys.length - refused.length);
  await Promise.all(keys.map(create));
  assert.equal((await stripe.customers.list({ limit: 100 })).data.length, keys.length);
});

test('of two writes of one object at the same time one is refused, and a read is not', async (t) => {
  const { stripe, control } = await useSandbox(t);
  const { id } = await stripe.paymentIntents.create({ amount: 900, currency: 'eur' });
  await control('POST', 'manners', like);
  const update = (client: Stripe, order: string) => client.paymentIntents.update(id, { metadata: { order } });
  const settled = await Promise.allSettled([
    update(stripe, 'first'),
    update(stripe, 'second'),
    stripe.paymentIntents.retrieve(id),
  ]);
  const refusals = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  assert.equal(refusals.length, 1);
  assert.equal(settled[2].status, 'fulfilled');
  const refusal = await refusalOf(Promise.reject(refusals[0]));
  assert.deepEqual(
    [refusal.statusCode, refusal.rawType, refusal.code, reasonOf(refusal)],
    [429, 'invalid_request_error', 'lock_timeout', undefined],
  );
  assert.match(refusal.message, /^This object cannot be accessed right now because another API request/);
  assert.equal(refusal.headers?.['stripe-should-retry'], 'true');
  assert.equal((await update(stripe, 'third')).metadata['order'], 'third');
});

test('a change of an item waits for its subscription', async (t) => {
  const { stripe, control } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const created = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    trial_period_days: 9,
  });
  await control('POST', 'manners', like);
  const settled = await Promise.allSettled([
    stripe.subscriptionItems.update(String(created.items.data[0]?.id), { quantity: 2 }),
    stripe.subscriptions.update(created.id, { metadata: { order: '1' } }),
    stripe.invoiceItems.create({
      customer: customer.id,
      subscription: created.id,
      amount: 1,
      currency: 'usd',
    }),
    stripe.invoices.createPreview({ subscription: created.id }),
  ]);
  const outcomes = settled.map((one) => (one.status === 'fulfilled' ? 'done' : String(one.reason.code)));
  assert.deepEqual(outcomes.slice(0, 3).sort(), ['done', 'lock_timeout', 'lock_timeout']);
  assert.equal(outcomes[3], 'done');
});

test('a subscription gets at most 10 new invoices a minute and 20 a day, and a refused change changes nothing', async (t) => {
  const { stripe, control, advance, change } = await billed(t);
  const changes = async (from: number, to: number) => {
    for (let quantity = from; quantity <= to; quantity += 1) await change(quantity);
  };
  const manners = async (set: object) => assert.equal((await control('POST', 'manners', set)).status, 200);
  await advance(3_600);
  // Invoices count from before, too. Without manners, creating them takes no time.
  await changes(2, 11);
  await manners(like);
  const refusal = await refusalOf(change(12));
  assert.deepEqual([refusal.code, reasonOf(refusal)], ['rate_limit', 'resource-specific']);
  assert.match(refusal.message, /at most 10 new invoices of subscription sub_\w+ per minute/);
  const [subscription] = (await stripe.subscriptions.list()).data;
  assert.equal(subscription?.items.data[0]?.quantity, 11);
  assert.equal((await stripe.invoices.list({ limit: 100 })).data.length, 11);
  assert.equal((await stripe.invoiceItems.list({ pending: true })).data.length, 0);
  await manners({ like: null });
  await advance(61);
  await changes(12, 20);
  await manners(like);
  assert.match(
    (await refusalOf(change(21))).message,
    /at most 20 new invoices of subscription sub_\w+ per day/,
  );
  await advance(86_400);
  await change(22);
});

test('manners are those of one world, survive a restart, and end with a reset', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-sandbox-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const before = await startSandbox({ port: 0, dataDir });
  const red = worldOf(before, 'red');
  await red.control('POST', 'manners', like);
  await before.close();
  const { sandbox, control } = await useSandbox(t, { dataDir });
  const again = worldOf(sandbox, 'red');
  assert.deepEqual((await again.control('GET', 'manners')).body, like);
  assert.deepEqual((await control('GET', 'manners')).body, none);
  const { refusals } = await burst(200, () => again.stripe.customers.list());
  assert.notEqual(refusals.length, 0);
  assert.deepEqual((await burst(30, () => clientOf(sandbox.port).customers.list())).refusals, []);
  await again.control('POST', 'reset');
  assert.deepEqual((await again.control('GET', 'manners')).body, none);
});

test('search lags, and is up to date again without manners', async (t) => {
  const { stripe, control } = await useSandbox(t);
  await control('POST', 'manners', like);
  await stripe.customers.create({ name: 'Ada' });
  const found = async () => (await stripe.customers.search({ query: "name:'ada'" })).data.length;
  assert.equal(await found(), 0);
  await control('POST', 'manners', { like: null });
  assert.equal(await found(), 1);
});

test('a stop of the sandbox ends the requests that wait', async (t) => {
  const { stripe, control, sandbox } = await useSandbox(t);
  const { id } = await stripe.paymentIntents.create({ amount: 900, currency: 'eur' });
  await control('POST', 'manners', like);
  const updates = ['1', '2'].map((order) =>
    stripe.paymentIntents.update(id, { metadata: { order } }).then(
      () => assert.fail(),
      (error: unknown) => error,
    ),
  );
  // The other one waits, because it has locked the object.
  assert.ok((await Promise.race(updates)) instanceof Stripe.errors.StripeRateLimitError);
  await sandbox.close();
  const errors = await Promise.all(updates);
  assert.ok(errors.some((error) => error instanceof Stripe.errors.StripeConnectionError));
});

test('the control refuses what it does not understand', async (t) => {
  const { control } = await useSandbox(t);
  for (const body of [
    {},
    { seed: 1 },
    { like: 'adyen' },
    { like: 'stripe', seed: -1 },
    { like: 'stripe', seed: 2 ** 32 },
    { like: 'stripe', seed: 'x' },
    { like: 'stripe', speed: 1 },
    { like: ['stripe'] },
  ])
    assert.equal((await control('POST', 'manners', body)).status, 400, JSON.stringify(body));
  assert.deepEqual((await control('GET', 'manners')).body, none);
  assert.deepEqual((await control('POST', 'manners', { like: 'stripe' })).body, { like: 'stripe', seed: 1 });
});
