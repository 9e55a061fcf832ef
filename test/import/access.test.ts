import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stripe } from 'stripe';
import { startBackend } from '../support/backend.ts';
import { makePayer } from '../support/foreign-account.ts';
import type { PageBody, SubscriptionBody } from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { runTill } from '../support/run-till.ts';
import { startTill } from '../support/till.ts';

async function makePrice(stripe: Stripe, extra: Partial<Stripe.PriceCreateParams> = {}): Promise<string> {
  const usual = { currency: 'eur', unit_amount: 900, recurring: { interval: 'month' as const } };
  return (await stripe.prices.create({ ...usual, product_data: { name: 'Pro' }, ...extra })).id;
}

test('a paying customer without a plan is named, and the exit code says so, in a dry run too', async (t) => {
  const backend = await startBackend(t);
  const { stripe } = backend;
  const plan = await makePrice(stripe);
  const packaged = await makePrice(stripe, { transform_quantity: { divide_by: 10, round: 'up' } });
  const [ada, grace] = [
    await makePayer(stripe, { email: 'ada@example.com' }),
    await makePayer(stripe, { email: 'grace@example.com' }),
  ];
  await stripe.subscriptions.create({ customer: ada, items: [{ price: plan }] });
  const left = await stripe.subscriptions.create({ customer: grace, items: [{ price: packaged }] });
  const environment = {
    DATABASE_URL: backend.databaseUrl,
    PROCESSOR_API_BASE: backend.processorUrl,
    PROCESSOR_SECRET_KEY: 'sk_test_till',
  };
  const reason = `${left.id} is left out. The price divides the quantity into packages, and a plan bills each unit. (${packaged})`;
  for (const [args, calls] of [
    [['--dry-run'], 'Till would call'],
    [[], 'Till calls'],
    [[], 'Till calls'],
  ] as const) {
    const { code, stdout } = await runTill(environment, 'import', '--rate=100', ...args);
    assert.equal(code, 3);
    assert.ok(
      stdout.endsWith(`
Customer ${grace} grace@example.com pays and is not entitled: ${reason}
2 customers pay now: a subscription is active or in its trial. ${calls} 1 of them entitled.
Not entitled, for the reasons above: 1.
`),
      stdout,
    );
    const json = await runTill(environment, 'import', '--rate=100', '--json', ...args);
    assert.equal(json.code, 3);
    assert.partialDeepStrictEqual(JSON.parse(json.stdout.trim().split('\n').at(-1) ?? ''), {
      type: 'finished',
      access: {
        ...{ payingCount: 2, entitledCount: 1 },
        exceptions: { items: [{ processorCustomerId: grace, email: 'grace@example.com', reason }], more: 0 },
      },
    });
  }
});

test('a subscription that is created while an import runs is adopted at its end', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const customer = await makePayer(backend.stripe, { email: 'ada@example.com' });
  proxy.hold('/v1/refunds', 'GET');
  const running = till.services.accountImport.run();
  await proxy.nextHeld();
  const price = await makePrice(backend.stripe);
  await backend.stripe.subscriptions.create({ customer, items: [{ price }] });
  proxy.releaseAll();
  const { access } = await running;
  assert.partialDeepStrictEqual(access, {
    payingCount: 1,
    entitledCount: 1,
    exceptions: { items: [], more: 0 },
  });
});

test('a subscription that Till cannot read is an exception', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const customer = await makePayer(backend.stripe, { email: 'ada@example.com' });
  const price = await makePrice(backend.stripe);
  const { id } = await backend.stripe.subscriptions.create({ customer, items: [{ price }] });
  proxy.alterResponses(({ body }) => {
    const data = body['data'];
    if (!Array.isArray(data)) return body;
    return { ...body, data: data.map((one) => (one.id === id ? { ...one, status: 'odd' } : one)) };
  });
  for (const isDryRun of [true, false]) {
    const { access } = await till.services.accountImport.run({ isDryRun });
    assert.deepEqual([access.payingCount, access.exceptions.items.length], [0, 1]);
    assert.match(
      access.exceptions.items[0]?.reason ?? '',
      new RegExp(`^Till cannot read the subscription ${id}: `),
    );
  }
});

test('a plan among more items than the processor lists at once entitles its customer', async (t) => {
  const backend = await startBackend(t);
  const { stripe } = backend;
  const till = await startTill({ in: 'process', on: backend });
  const plan = await makePrice(stripe);
  const others: string[] = [];
  for (let count = 0; count < 11; count += 1)
    others.push(await makePrice(stripe, { transform_quantity: { divide_by: 10, round: 'up' } }));
  for (const prices of [
    [plan, ...others],
    [...others, plan],
  ]) {
    const customer = await makePayer(stripe, { email: 'ada@example.com' });
    await stripe.subscriptions.create({ customer, items: prices.map((price) => ({ price })) });
  }
  for (const isDryRun of [true, false]) {
    const { access } = await till.services.accountImport.run({ isDryRun });
    assert.deepEqual([access.payingCount, access.entitledCount], [2, 2]);
  }
  const { data } = await till.get<PageBody<SubscriptionBody>>('/subscriptions');
  assert.deepEqual(
    data.map(({ otherItems }) => otherItems.length),
    [11, 11],
  );
});

test('an import that is interrupted in its report repeats only the report', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const customer = await makePayer(backend.stripe, { email: 'ada@example.com' });
  const price = await makePrice(backend.stripe);
  await backend.stripe.subscriptions.create({ customer, items: [{ price }] });
  const stop = new AbortController();
  const onProgress = ({ kind }: { readonly kind: string }) => {
    if (kind === 'dispute') proxy.hold('/v1/subscriptions', 'GET');
  };
  const interrupted = till.services.accountImport.run({ signal: stop.signal }, { onProgress });
  await Promise.race([proxy.nextHeld(), interrupted]);
  stop.abort(new Error('stopped'));
  proxy.releaseAll();
  await assert.rejects(interrupted, /stopped/);
  const seen = proxy.seen.length;
  const resumed: Date[] = [];
  const { access, counts } = await till.services.accountImport.run(
    {},
    { onResumed: (startedAt) => resumed.push(startedAt) },
  );
  assert.deepEqual([resumed.length, access.payingCount, access.entitledCount], [1, 1, 1]);
  assert.equal(counts.find(({ kind }) => kind === 'subscription')?.adopted, 1);
  assert.deepEqual(
    proxy.seen.slice(seen).map(({ path }) => path),
    ['/v1/subscriptions'],
  );
});
