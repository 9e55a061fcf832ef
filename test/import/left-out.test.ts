import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import type { Skip } from '#operators/import/import-progress.ts';
import { startBackend } from '../support/backend.ts';
import { dumpTables } from '../support/dump-tables.ts';
import { makePayer, pay } from '../support/foreign-account.ts';
import { allAdopted, dumpRows, runImport, shortCounts } from '../support/imports.ts';
import { type CustomerBody, createCustomer, type PageBody } from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

/** Prices of other kinds than the sandbox has, by their nicknames. */
const odd: Readonly<Record<string, object>> = {
  tiered: { billing_scheme: 'tiered', tiers_mode: 'graduated', unit_amount: null },
  metered: { recurring: { interval: 'month', interval_count: 1, usage_type: 'metered' } },
};

/** Shows the prices with these nicknames as the processor would, wherever a response contains them. */
function withOddPrices(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withOddPrices);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [name, withOddPrices(field)]);
  const { object, nickname } = value as { readonly object?: unknown; readonly nickname?: unknown };
  const changes = object === 'price' && typeof nickname === 'string' ? odd[nickname] : {};
  return { ...Object.fromEntries(fields), ...changes };
}

async function startBehindProxy(t: Parameters<typeof startBackend>[0]) {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  return { till, proxy };
}

function makePrice(stripe: Stripe, nickname: string, extra: object = { recurring: { interval: 'month' } }) {
  const product_data = { name: nickname };
  return stripe.prices.create({ nickname, product_data, currency: 'eur', unit_amount: 900, ...extra });
}

/** One of everything that cannot be adopted. Returns the reasons that are expected, by id. */
async function makeUnadoptable({ stripe }: TillInProcess): Promise<Readonly<Record<string, RegExp>>> {
  const [plain, tiered, metered, once] = [
    await makePrice(stripe, 'plain'),
    await makePrice(stripe, 'tiered'),
    await makePrice(stripe, 'metered'),
    await makePrice(stripe, 'once', {}),
  ];
  const second = await makePrice(stripe, 'second');
  const customer = await makePayer(stripe, { email: 'ada@example.com' });
  const subscribe = async (prices: readonly string[], extra = {}) => {
    const items = prices.map((price) => ({ price }));
    return (await stripe.subscriptions.create({ customer, items, ...extra })).id;
  };
  await subscribe([plain.id]);
  const ofTiered = await subscribe([tiered.id]);
  await subscribe([plain.id, second.id]);
  const unpaid = await subscribe([plain.id], { payment_behavior: 'default_incomplete' });
  const invoices = await stripe.invoices.list({ subscription: unpaid, expand: ['data.payments'] });
  const [waiting] = invoices.data[0]?.payments?.data ?? [];
  const guest = await pay(stripe, undefined);
  const refund = await stripe.refunds.create({ payment_intent: guest });
  return {
    [tiered.id]: /tiers/,
    [metered.id]: /metered/,
    [once.id]: /paid once/,
    [ofTiered]: new RegExp(`tiers.*${tiered.id}`),
    [String(waiting?.payment.payment_intent)]: new RegExp(`invoice ${invoices.data[0]?.id}.*no attempt`),
    [guest]: /no customer/,
    [refund.id]: /payment has no customer/,
  };
}

describe('objects that cannot be adopted', () => {
  test('are listed with their reasons, and a dry run writes nothing and finds the same', async (t) => {
    const { till, proxy } = await startBehindProxy(t);
    const expected = await makeUnadoptable(till);
    proxy.alterResponses(({ body }) => withOddPrices(body));
    const before = await dumpRows(till);
    const foreseen = await runImport(till, { isDryRun: true });
    assert.equal(await dumpRows(till), before);
    const report = await runImport(till);
    assert.deepEqual(foreseen, report);
    assert.deepEqual(report.counts, {
      plan: { found: 5, adopted: 2, skipped: 3 },
      customer: allAdopted(1),
      subscription: { found: 4, adopted: 3, skipped: 1 },
      invoice: allAdopted(4),
      payment: { found: 5, adopted: 3, skipped: 2 },
      refund: { found: 1, skipped: 1 },
      dispute: {},
    });
    assert.deepEqual(report.skips.map(({ id }) => id).sort(), Object.keys(expected).sort());
    for (const { id, reason } of report.skips) assert.match(reason, expected[id] ?? /never/);
    // Events about them do not bring them here either.
    await till.settle();
    assert.equal((await till.get<PageBody<object>>('/subscriptions')).total, 3);
    // A second run says the same, and so does one that only looks.
    const again = await runImport(till);
    assert.deepEqual(again.skips, report.skips);
    assert.deepEqual(await runImport(till, { isDryRun: true }), again);
  });

  test('are listed too if Till cannot read them', async (t) => {
    const { till, proxy } = await startBehindProxy(t);
    const { id } = await till.stripe.customers.create({ email: 'odd@example.com' });
    await till.stripe.customers.create({ email: 'ada@example.com' });
    proxy.alterResponses(({ body }) => {
      const data = body['data'];
      if (!Array.isArray(data)) return body;
      return { ...body, data: data.map((one) => (one.id === id ? { ...one, email: 7 } : one)) };
    });
    const { counts, skips } = await runImport(till);
    assert.deepEqual(counts['customer'], { found: 2, adopted: 1, skipped: 1 });
    assert.deepEqual(
      skips.map(({ kind, id: skipped }) => [kind, skipped]),
      [['customer', id]],
    );
    assert.match(skips[0]?.reason ?? '', /cannot read it: customer\.email/);
  });
});

describe('objects that only their own read shows as unreadable', () => {
  test('are listed, and stop neither the import nor its report', async (t) => {
    const { till, proxy } = await startBehindProxy(t);
    const { stripe } = till;
    const prices: { price: string }[] = [];
    for (let count = 0; count < 12; count += 1)
      prices.push({ price: (await makePrice(stripe, `p${count}`)).id });
    const ada = await makePayer(stripe, { email: 'ada@example.com' });
    const { id } = await stripe.subscriptions.create({ customer: ada, items: prices });
    const grace = await makePayer(stripe, { email: 'grace@example.com' });
    await stripe.subscriptions.create({ customer: grace, items: prices.slice(0, 1) });
    // The processor's lists show ten items.
    const shortened = (one: Stripe.Subscription) =>
      one.id === id
        ? { ...one, items: { ...one.items, data: one.items.data.slice(0, 10), has_more: true } }
        : one;
    proxy.alterResponses(({ path, body }) => {
      if (path === `/v1/subscriptions/${id}`) return { ...body, status: 'odd' };
      if (path !== '/v1/subscriptions') return body;
      return { ...body, data: (body['data'] as readonly Stripe.Subscription[]).map(shortened) };
    });
    for (const isDryRun of [true, false]) {
      const skips: Skip[] = [];
      const onSkipped = (skip: Skip) => skips.push(skip);
      const { access, counts } = await till.services.accountImport.run({ isDryRun }, { onSkipped });
      assert.deepEqual(shortCounts(counts)['subscription'], { found: 2, adopted: 1, skipped: 1 });
      const [skip] = skips;
      assert.deepEqual([skips.length, skip?.kind, skip?.id], [1, 'subscription', id]);
      assert.match(skip?.reason ?? '', /^Till cannot read it\. \w/);
      assert.deepEqual([access.payingCount, access.entitledCount], [2, 1]);
      assert.deepEqual(access.exceptions.items, [
        {
          processorCustomerId: ada,
          email: 'ada@example.com',
          reason: `${id} is left out. ${skip?.reason}`,
        },
      ]);
    }
    proxy.passUnaltered();
    assert.deepEqual((await runImport(till)).skips, []);
  });

  test('such as the invoice of a payment', async (t) => {
    const { till, proxy } = await startBehindProxy(t);
    const customer = await makePayer(till.stripe, { email: 'ada@example.com' });
    const { id } = await till.stripe.paymentIntents.create({ customer, amount: 900, currency: 'eur' });
    proxy.alterResponses(({ path, body }) => (path === '/v1/invoice_payments' ? { ...body, data: 7 } : body));
    const { counts, skips } = await runImport(till, { isDryRun: true });
    assert.deepEqual(counts['payment'], { found: 1, skipped: 1 });
    assert.deepEqual(
      skips.map((skip) => [skip.kind, skip.id]),
      [['payment', id]],
    );
  });

  test('such as a customer whose email the report would show', async (t) => {
    const { till, proxy } = await startBehindProxy(t);
    const { id: price } = await makePrice(till.stripe, 'pro');
    const customer = await makePayer(till.stripe, { email: 'ada@example.com' });
    const { id } = await till.stripe.subscriptions.create({ customer, items: [{ price }] });
    const unreadable = (one: Readonly<Record<string, unknown>>) =>
      one['id'] === customer ? { ...one, email: 7 } : one;
    proxy.alterResponses(({ body }) => {
      const data = body['data'];
      return Array.isArray(data) ? { ...body, data: data.map(unreadable) } : unreadable(body);
    });
    const { access } = await till.services.accountImport.run();
    const [exception] = access.exceptions.items;
    assert.partialDeepStrictEqual(exception, { processorCustomerId: customer, email: null });
    assert.match(exception?.reason ?? '', new RegExp(`^${id} has no row`));
  });
});

describe('the payment of a subscription does not become a one-off payment', () => {
  /** The processor's objects are a day old, so no payment is newer than the lists. */
  async function start(t: Parameters<typeof startBackend>[0]) {
    const { till, proxy } = await startBehindProxy(t);
    await till.control('clock', { to: Math.floor(Date.now() / 1_000) - 86_400 });
    const { id: price } = await makePrice(till.stripe, 'pro');
    const customer = await makePayer(till.stripe, { email: 'ada@example.com' });
    const subscribe = () => till.stripe.subscriptions.create({ customer, items: [{ price }] });
    const findInvoices = async () =>
      (await till.sql<{ id: string | null }>('select processor_invoice_id as id from till.payments')).map(
        ({ id }) => id,
      );
    return { till, proxy, subscribe, findInvoices };
  }

  test('if its invoice cannot be read', async (t) => {
    const { till, proxy, subscribe, findInvoices } = await start(t);
    const { latest_invoice: invoice } = await subscribe();
    const unreadable = (one: Readonly<Record<string, unknown>>) =>
      one['id'] === invoice ? { ...one, amount_due: 'x' } : one;
    proxy.alterResponses(({ body }) => {
      const data = body['data'];
      return Array.isArray(data) ? { ...body, data: data.map(unreadable) } : unreadable(body);
    });
    const { skips } = await runImport(till);
    assert.deepEqual(skips.map(({ kind }) => kind).sort(), ['invoice', 'payment']);
    assert.deepEqual(await findInvoices(), []);
    proxy.passUnaltered();
    assert.deepEqual((await runImport(till)).skips, []);
    assert.deepEqual(await findInvoices(), [invoice]);
  });

  test('if it is newer than the list of invoices, and one read of it fails', async (t) => {
    const { till, proxy, subscribe, findInvoices } = await start(t);
    proxy.hold('/v1/invoice_payments', 'GET');
    const running = runImport(till);
    await proxy.nextHeld();
    const { latest_invoice: invoice } = await subscribe();
    let failures = 1;
    proxy.alterResponses(({ path, body }) => {
      if (!path.startsWith('/v1/payment_intents/') || failures === 0) return body;
      failures -= 1;
      return { ...body, amount: 'x' };
    });
    proxy.releaseAll();
    assert.deepEqual((await running).skips, []);
    assert.equal(failures, 0);
    assert.deepEqual(await findInvoices(), [invoice]);
  });
});

describe('external ids', () => {
  const findCustomer = async (till: TillInProcess, key: string) =>
    (await till.get<PageBody<CustomerBody>>('/customers')).data.find(
      ({ processorCustomerId }) => processorCustomerId === key,
    );

  test('come from the metadata, are set at the processor, and stay unique', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const make = async (user?: string) =>
      (await till.stripe.customers.create({ email: 'a@example.com', metadata: user ? { user } : {} })).id;
    const own = await createCustomer(till, { externalId: 'user-1' });
    const [taken, older, newer, wrong, none] = [
      await make('user-1'),
      await make('user-2'),
      await make('user-2'),
      await make('user 3'),
      await make(),
    ];
    const options = { externalIdFrom: 'user' };
    const before = await dumpRows(till);
    const foreseen = await runImport(till, { ...options, isDryRun: true });
    assert.equal(await dumpRows(till), before);
    const report = await runImport(till, options);
    assert.deepEqual(report, foreseen);
    assert.deepEqual(report.counts['customer'], { found: 6, adopted: 5, unchanged: 1 });
    assert.deepEqual(report.counts['external_id'], { found: 4, adopted: 1, skipped: 3 });
    const reasons = Object.fromEntries(report.skips.map(({ id, reason }) => [id, reason]));
    assert.match(reasons[taken] ?? '', /Another customer has the external id "user-1"/);
    assert.match(reasons[older] ?? '', /Another customer has the external id "user-2"/);
    assert.match(reasons[wrong] ?? '', /"user 3" is not a valid/);
    assert.equal((await findCustomer(till, newer))?.externalId, 'user-2');
    for (const id of [taken, older, wrong, none])
      assert.equal((await findCustomer(till, id))?.externalId, null);
    // The processor has it too, so later events keep it.
    await till.stripe.customers.update(newer, { name: 'Newer' });
    await till.settle();
    assert.partialDeepStrictEqual(await findCustomer(till, newer), { name: 'Newer', externalId: 'user-2' });
    assert.equal((await findCustomer(till, own.processorCustomerId))?.externalId, 'user-1');
    assert.deepEqual((await runImport(till, options)).skips, report.skips);
  });

  test('that were left out do not outlive their customers in what an import has stored', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const make = (user: string) => till.stripe.customers.create({ metadata: { user } });
    await make('eve.private@example.test');
    await make('eve.private@example.test');
    await make('Eve Private, 1 Secret Road');
    const { skips } = await runImport(till, { externalIdFrom: 'user' });
    const isAboutEve = (text: string) => /eve.private/i.test(text);
    assert.equal(skips.filter(({ reason }) => isAboutEve(reason)).length, 2);
    await till.settle();
    const { data } = await till.get<PageBody<CustomerBody>>('/customers');
    for (const { id } of data) assert.equal((await till.call('DELETE', `/customers/${id}`)).status, 204);
    await till.settle();
    await till.services.erasure.run();
    const rows = (await dumpTables(till.databaseUrl)).split('\n');
    assert.deepEqual(rows.filter(isAboutEve), []);
  });
});
