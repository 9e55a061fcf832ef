import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { startSandbox } from '../sandbox.ts';
import { clientOf, useSandbox } from './support.ts';

const customer = (stripe: Stripe, name: string, plan: string) =>
  stripe.customers.create({ name, email: `${name.toLowerCase()}@example.com`, metadata: { plan } });

test('search finds objects by any clause, all clauses or none', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const ada = await customer(stripe, 'Ada', 'gold');
  await advance(100);
  await customer(stripe, 'Grace', 'gold');
  await customer(stripe, 'Linus', 'free');
  const deleted = await customer(stripe, 'Alan', 'free');
  await stripe.customers.del(deleted.id);
  const names = async (query: string) =>
    (await stripe.customers.search({ query })).data.map(({ name }) => name).toReversed();
  assert.deepEqual(await names("email:'ADA@example.com'"), ['Ada']);
  assert.deepEqual(await names("name~'inu'"), ['Linus']);
  assert.deepEqual(await names("metadata['plan']:'gold'"), ['Ada', 'Grace']);
  assert.deepEqual(await names("metadata['plan']:'gold' AND name:'grace'"), ['Grace']);
  assert.deepEqual(await names("metadata['plan']:'free' OR name:'ada'"), ['Ada', 'Linus']);
  assert.deepEqual(await names("-metadata['plan']:'gold'"), ['Linus']);
  assert.deepEqual(await names(`created>${ada.created} -name:'Linus'`), ['Grace']);
  assert.deepEqual(await names(`created<=${ada.created}`), ['Ada']);
  assert.deepEqual(await names("email:'nobody@example.com'"), []);
});

test('search finds payments, invoices and subscriptions by status and amount, page by page', async (t) => {
  const { stripe } = await useSandbox(t);
  const person = await stripe.customers.create({ payment_method: 'pm_card_visa' });
  const [card] = (await stripe.customers.listPaymentMethods(person.id)).data;
  const price = await stripe.prices.create({
    currency: 'eur',
    unit_amount: 700,
    recurring: { interval: 'month' },
    product_data: { name: 'Plan' },
  });
  const subscription = await stripe.subscriptions.create({
    customer: person.id,
    items: [{ price: price.id }],
    default_payment_method: String(card?.id),
  });
  for (const amount of [1_000, 2_000, 3_000]) await stripe.paymentIntents.create({ amount, currency: 'usd' });
  const ids = (found: Stripe.ApiSearchResult<{ id?: string }>) => found.data.map(({ id }) => id);
  const query = "status:'requires_payment_method' AND amount>1500";
  const first = await stripe.paymentIntents.search({ query, limit: 1 });
  assert.deepEqual([first.data[0]?.amount, first.has_more], [3_000, true]);
  const second = await stripe.paymentIntents.search({ query, limit: 1, page: String(first.next_page) });
  assert.deepEqual([second.data[0]?.amount, second.has_more, second.next_page], [2_000, false, null]);
  assert.deepEqual(ids(await stripe.subscriptions.search({ query: "status:'active'" })), [subscription.id]);
  assert.deepEqual(ids(await stripe.subscriptions.search({ query: "-status:'active'" })), []);
  const invoices = await stripe.invoices.search({ query: `subscription:'${subscription.id}' total>=700` });
  assert.deepEqual(ids(invoices), [String(subscription.latest_invoice)]);
  const charges = await stripe.charges.search({ query: "payment_method_details.card.last4:'4242'" });
  assert.equal(charges.data.length, 1);
  assert.deepEqual(ids(await stripe.prices.search({ query: "active:'true' currency:'eur'" })), [price.id]);
  assert.equal((await stripe.products.search({ query: "url:null name~'plan'" })).data.length, 1);
});

test('search lags behind on demand, for new objects and for changes', async (t) => {
  const { stripe, control, advance } = await useSandbox(t);
  const query = "metadata['plan']:'gold'";
  const found = async () => (await stripe.customers.search({ query })).data.map(({ name }) => name);
  const ada = await customer(stripe, 'Ada', 'gold');
  assert.deepEqual(await control('POST', 'search', { lagSeconds: 600 }), {
    status: 200,
    body: { lagSeconds: 600 },
  });
  assert.deepEqual(await found(), ['Ada']);
  await customer(stripe, 'Grace', 'gold');
  await stripe.customers.update(ada.id, { metadata: { plan: 'free' }, name: 'Lovelace' });
  assert.deepEqual(await found(), ['Ada']);
  assert.equal((await stripe.customers.list()).data.length, 2);
  await advance(300);
  assert.deepEqual(await found(), ['Ada']);
  await advance(300);
  assert.deepEqual(await found(), ['Grace']);
  await customer(stripe, 'Linus', 'gold');
  assert.deepEqual(await found(), ['Grace']);
  await control('POST', 'search', { lagSeconds: 0 });
  assert.deepEqual(await found(), ['Linus', 'Grace']);
  for (const body of [{ lagSeconds: -1 }, { lagSeconds: 1.5 }, { lagSeconds: 3_601 }, {}, { lag: 1 }])
    assert.equal((await control('POST', 'search', body)).status, 400);
});

test('the lag of search survives a restart', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-search-'));
  t.after(() => rm(dataDir, { recursive: true }));
  const before = await startSandbox({ port: 0, dataDir });
  t.after(() => before.close());
  await fetch(`${before.url}/sandbox/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"lagSeconds":60}',
  });
  await before.close();
  const after = await startSandbox({ port: 0, dataDir });
  t.after(() => after.close());
  const stripe = clientOf(after.port);
  await customer(stripe, 'Ada', 'gold');
  assert.deepEqual((await stripe.customers.search({ query: "name:'ada'" })).data, []);
});
