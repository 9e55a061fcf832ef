import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { callsAtOnce } from '#operators/import/stage.ts';
import { type Lifetime, startBackend } from '../support/backend.ts';
import { makePayer, pay } from '../support/foreign-account.ts';
import { dumpRows, runImport } from '../support/imports.ts';
import { type CustomerBody, createCustomer, type PageBody } from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

const options = { externalIdFrom: 'user' };

async function findOwner(till: TillInProcess, externalId: string): Promise<string | undefined> {
  const path = `/customers?externalId=${externalId}`;
  return (await till.get<PageBody<CustomerBody>>(path)).data[0]?.processorCustomerId;
}

async function start(t: Lifetime) {
  const till = await startTill({ in: 'process', for: t });
  const { stripe } = till;
  const { id: price } = await stripe.prices.create({
    ...{ currency: 'eur', unit_amount: 900, recurring: { interval: 'month' }, product_data: { name: 'Pro' } },
  });
  const payer = (user: string) => makePayer(stripe, { email: `${user}@example.com`, metadata: { user } });
  const subscribe = (customer: string, params = {}) =>
    stripe.subscriptions.create({ customer, items: [{ price }], ...params });
  return { till, stripe, payer, subscribe };
}

describe('of several customers with the same external id', () => {
  test('the one with a live subscription gets it, then the one that paid last, then the newest', async (t) => {
    const { till, stripe, payer, subscribe } = await start(t);
    const live = [await payer('live'), await payer('live'), await payer('live')] as const;
    await subscribe(live[0]);
    await pay(stripe, live[1]);
    await stripe.subscriptions.cancel((await subscribe(live[2])).id);
    const paid = [await payer('paid'), await payer('paid'), await payer('paid')] as const;
    await pay(stripe, paid[0]);
    await till.control('clock', { advanceSeconds: 60 });
    await pay(stripe, paid[1]);
    const plain = [await payer('plain'), await payer('plain')] as const;

    const before = await dumpRows(till);
    const foreseen = await runImport(till, { ...options, isDryRun: true });
    assert.equal(await dumpRows(till), before);
    const report = await runImport(till, options);
    assert.deepEqual(report, foreseen);
    assert.deepEqual(report.counts['external_id'], { found: 8, adopted: 3, skipped: 5 });
    assert.deepEqual(
      [await findOwner(till, 'live'), await findOwner(till, 'paid'), await findOwner(till, 'plain')],
      [live[0], paid[1], plain[1]],
    );
    const reasons = Object.fromEntries(report.skips.map(({ id, reason }) => [id, reason]));
    const day =
      /^Another customer has the external id "live": cus_\w+\. This one has no live subscriptions and its last payment on \d{4}-\d\d-\d\d\.$/;
    assert.match(reasons[live[1]] ?? '', day);
    assert.match(reasons[live[2]] ?? '', day);
    assert.equal(
      reasons[plain[0]],
      `Another customer has the external id "plain": ${plain[1]}. This one has no live subscriptions and no successful payment.`,
    );
    assert.deepEqual((await runImport(till, options)).skips, report.skips);
    assert.deepEqual(await runImport(till, { ...options, isDryRun: true }), await runImport(till, options));
  });

  test('one that pays comes before one whose subscription is unpaid, even if the other paid last', async (t) => {
    const { till, stripe, payer, subscribe } = await start(t);
    await till.control('dunning', { afterwards: 'unpaid' });
    const [paying, unpaid] = [await payer('user'), await payer('user')];
    const { id } = await subscribe(unpaid);
    const card = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer: unpaid });
    await stripe.subscriptions.update(id, { default_payment_method: card.id });
    await subscribe(paying, { trial_period_days: 90 });
    await till.control('clock', { advanceSeconds: 32 * 86_400 });
    await pay(stripe, unpaid);
    await runImport(till, options);
    assert.equal(await findOwner(till, 'user'), paying);
  });

  test('one that has it keeps it, and the others are listed with what they have', async (t) => {
    const { till, payer, subscribe } = await start(t);
    const own = await createCustomer(till, { externalId: 'own' });
    const other = await payer('own');
    await subscribe(other);
    const foreseen = await till.services.accountImport.run({ ...options, isDryRun: true });
    const { skips } = await runImport(till, options);
    // The report names it again at its end, because it pays.
    const { access } = await till.services.accountImport.run(options);
    assert.deepEqual(access, foreseen.access);
    const { reason = '' } = skips[0] ?? {};
    assert.deepEqual(access.withoutExternalId, {
      items: [{ processorCustomerId: other, email: 'own@example.com', reason }],
      more: 0,
    });
    assert.deepEqual(
      skips.map(({ id }) => id),
      [other],
    );
    assert.match(
      reason,
      new RegExp(
        `"own": ${own.processorCustomerId}\\. This one has 1 live subscription and its last payment on `,
      ),
    );
    assert.equal(await findOwner(till, 'own'), own.processorCustomerId);
  });

  test('none gets a value that so many have that it is not an id', async (t) => {
    const { till } = await start(t);
    const customers = Array.from({ length: 101 }, () => ({
      email: 'a@example.com',
      metadata: { user: 'null' },
    }));
    await till.control('fixtures', { customers });
    const { counts, skips } = await runImport(till, options);
    assert.deepEqual(counts['external_id'], { found: 101, skipped: 101 });
    assert.match(
      skips[0]?.reason ?? '',
      /^101 customers have the value "null", so it identifies none of them\.$/,
    );
  });

  test('an import that was killed before it gave out the external ids remembers who has them', async (t) => {
    const { till, payer, subscribe } = await start(t);
    const [older] = [await payer('user'), await payer('user')];
    await subscribe(older);
    class Killed extends Error {}
    const onProgress = ({ kind }: { readonly kind: string }) => {
      if (kind === 'invoice') throw new Killed();
    };
    await assert.rejects(runImport(till, options, { onProgress }), Killed);
    const noted = () => till.sql<{ count: number }>('select count(*) as count from till.import_external_ids');
    assert.equal((await noted())[0]?.count, 2);
    const { counts } = await runImport(till, options);
    assert.deepEqual(counts['external_id'], { found: 2, adopted: 1, skipped: 1 });
    assert.equal(await findOwner(till, 'user'), older);
    assert.equal((await noted())[0]?.count, 0);
  });
});

test('a customer keeps the external id that a request sets while an import gives out others', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const importing = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const till = await startTill({ in: 'process', on: backend });
  const { stripe } = backend;
  const make = async (_: unknown, index: number) =>
    (await stripe.customers.create({ metadata: { user: `user-${index}` } })).id;
  const keys = await Promise.all(Array.from({ length: callsAtOnce + 1 }, make));
  await runImport(till);
  for (const key of keys) proxy.hold(`/v1/customers/${key}`);
  const running = runImport(importing, options);
  // The import has read the rows of all of them, and gives external ids to the first ones.
  const held = new Set<string>();
  while (held.size < callsAtOnce) held.add((await proxy.nextHeld()).path);
  const waiting = keys.find((key) => !held.has(`/v1/customers/${key}`)) ?? '';
  const { data } = await till.get<PageBody<CustomerBody>>('/customers');
  const { id = '' } = data.find((one) => one.processorCustomerId === waiting) ?? {};
  assert.equal((await till.call('PATCH', `/customers/${id}`, { externalId: 'chosen' })).status, 200);
  proxy.releaseAll();
  const { counts, skips } = await running;
  assert.deepEqual(counts['external_id'], { found: keys.length, adopted: callsAtOnce, skipped: 1 });
  assert.deepEqual(skips, [
    { kind: 'external_id', id: waiting, reason: 'The customer has the external id "chosen".' },
  ]);
  await till.settle();
  assert.equal((await till.get<CustomerBody>(`/customers/${id}`)).externalId, 'chosen');
});

test('an import gives no external id to a customer to which a request is giving another one', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const { id: key } = await backend.stripe.customers.create({ metadata: { user: 'user' } });
  await runImport(till);
  const { data } = await till.get<PageBody<CustomerBody>>('/customers');
  proxy.holdOne('/v1/disputes', 'GET');
  const running = runImport(till, options);
  // The import has read the customers, and has yet to give them their external ids.
  const disputes = await proxy.nextHeld();
  proxy.holdOne(`/v1/customers/${key}`);
  const change = till.call('PATCH', `/customers/${data[0]?.id}`, { externalId: 'chosen' });
  const respond = await (await proxy.nextHeld()).holdResponse();
  disputes.release();
  assert.deepEqual((await running).skips, [
    { kind: 'external_id', id: key, reason: 'The customer has the external id "chosen".' },
  ]);
  respond();
  assert.equal((await change).status, 200);
  const { metadata } = await till.stripe.customers
    .retrieve(key)
    .then((found) => ({ metadata: {}, ...found }));
  assert.ok(Object.values(metadata).includes('chosen'));
});
