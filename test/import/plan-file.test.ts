import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import { type Backend, startBackend } from '../support/backend.ts';
import { listAll } from '../support/checks/mirrors.ts';
import { makePayer } from '../support/foreign-account.ts';
import { dumpRows } from '../support/imports.ts';
import type { PageBody, PlanBody, SubscriptionBody } from '../support/objects.ts';
import { runTill } from '../support/run-till.ts';
import { startTill } from '../support/till.ts';

interface Shop {
  readonly month: string;
  readonly year: string;
  readonly seat: string;
  readonly product: string;
  readonly customer: string;
}

/** A shop that sells a plan and extra seats, and keeps features in the metadata of its product. */
async function openShop({ stripe }: Backend): Promise<Shop> {
  const { id: product } = await stripe.products.create({
    name: 'Pro',
    metadata: { features: '{"sso":true,"seats":5}', group: 'base' },
  });
  const recurring = (interval: 'month' | 'year') => ({
    currency: 'eur',
    unit_amount: 900,
    recurring: { interval },
  });
  const { id: month } = await stripe.prices.create({ product, ...recurring('month') });
  const { id: year } = await stripe.prices.create({ product, ...recurring('year') });
  const { id: seat } = await stripe.prices.create({ ...recurring('month'), product_data: { name: 'Seat' } });
  const customer = await makePayer(stripe, { email: 'ada@example.com' });
  await stripe.subscriptions.create({ customer, items: [{ price: seat, quantity: 3 }, { price: month }] });
  return { month, year, seat, product, customer };
}

function commandOf({ databaseUrl, processorUrl }: Backend) {
  const environment = {
    DATABASE_URL: databaseUrl,
    PROCESSOR_API_BASE: processorUrl,
    PROCESSOR_SECRET_KEY: 'sk_test_till',
  };
  return (...args: readonly string[]) => runTill(environment, 'import', '--rate=100', ...args);
}

const scratch = mkdtempSync(join(tmpdir(), 'till-plans-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

function fileWith(content: unknown): string {
  const path = join(mkdtempSync(join(scratch, 'file-')), 'plans.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

async function countEvents(stripe: Stripe): Promise<number> {
  return (await listAll(stripe.events.list({ limit: 100 }))).length;
}

describe('till import --plans', () => {
  test('takes the printed template, and gives the customers their features', async (t) => {
    const backend = await startBackend(t);
    const { stripe } = backend;
    const { month, year, seat } = await openShop(backend);
    const importPlans = commandOf(backend);
    const before = await dumpRows(backend);
    const printed = await importPlans('--plans-template');
    assert.deepEqual([printed.code, await dumpRows(backend)], [0, before]);
    const template = JSON.parse(printed.stdout) as Record<string, object>;
    const pro = {
      ...{ name: 'Pro', group: 'base', repeatable: true, addOn: false },
      features: { sso: true, seats: 5 },
    };
    assert.deepEqual(template, {
      [month]: pro,
      [year]: pro,
      [seat]: { name: 'Seat', group: null, repeatable: true, features: {}, addOn: false },
    });

    const entries = { ...template, [seat]: { features: { seats: 1, backup: false }, addOn: true } };
    const file = fileWith(entries);
    const events = await countEvents(stripe);
    const foreseen = await importPlans('--plans', file, '--dry-run');
    assert.deepEqual(
      [foreseen.code, await countEvents(stripe), await dumpRows(backend)],
      [0, events, before],
    );
    assert.match(foreseen.stdout, /\nSettings of 2 products and 1 price would be written\.\n/);
    const done = await importPlans('--plans', file);
    assert.equal(done.code, 0, done.stderr);
    const changed = foreseen.stdout
      .replace('This is what an import would do. Nothing was written.', 'The import is finished.')
      .replace('would be written', 'were written')
      .replace('would call', 'calls');
    assert.equal(done.stdout, changed);
    assert.match(
      done.stdout,
      /\n\nFeatures that no customer has: backup\.\n1 customer pays now: .* Till calls 1 of them entitled\.\n$/,
    );

    const till = await startTill({ in: 'process', on: backend });
    const plans = await till.get<(PlanBody & { readonly addOn: boolean })[]>('/plans');
    const planOf = (price: string) => plans.find(({ processorPriceId }) => processorPriceId === price);
    assert.partialDeepStrictEqual(planOf(year), pro);
    assert.partialDeepStrictEqual(planOf(seat), {
      addOn: true,
      group: null,
      features: { seats: 1, backup: false },
    });
    const [subscription] = (await till.get<PageBody<SubscriptionBody>>('/subscriptions')).data;
    assert.partialDeepStrictEqual(subscription, {
      planId: planOf(month)?.id,
      addOns: [{ planId: planOf(seat)?.id, quantity: 3 }],
    });

    // A second run writes nothing.
    const eventsAfter = await countEvents(stripe);
    const again = await importPlans('--plans', file);
    assert.equal(await countEvents(stripe), eventsAfter);
    assert.doesNotMatch(again.stdout, /^Settings/m);
    assert.deepEqual(JSON.parse((await importPlans('--plans-template')).stdout)[seat], {
      ...{ name: 'Seat', features: { seats: 1, backup: false }, addOn: true },
    });
  });

  test('finds every mistake before anything is done', async (t) => {
    const backend = await startBackend(t);
    const { month, year } = await openShop(backend);
    const importPlans = commandOf(backend);
    const [events, rows] = [await countEvents(backend.stripe), await dumpRows(backend)];
    for (const [content, message] of [
      ['{', /plans\.json: It is not JSON/],
      [{ [month]: { features: { seats: 1.5 } } }, /the feature "seats" is invalid/],
      [{ price_gone: { addOn: true } }, /price_gone: the account has no price and no product/],
      [
        { [month]: { group: 'a' }, [year]: { group: 'b' } },
        new RegExp(`${month} and ${year} have different values of group`),
      ],
    ] as const) {
      const { code, stdout, stderr } = await importPlans('--plans', fileWith(content));
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, message);
    }
    const missing = await importPlans('--plans', '/nowhere/plans.json');
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /^\/nowhere\/plans\.json: .*no such file/);
    assert.deepEqual([await countEvents(backend.stripe), await dumpRows(backend)], [events, rows]);
  });

  test('continues after a failure between its writes, and corrects plans that were adopted before', async (t) => {
    const backend = await startBackend(t);
    const { month, year, seat } = await openShop(backend);
    const till = await startTill({ in: 'process', on: backend });
    const importPlans = commandOf(backend);
    assert.equal((await importPlans()).code, 0);
    const file = fileWith({
      [month]: { group: 'main', features: { api: true } },
      [seat]: { addOn: true },
      [year]: { repeatable: false },
    });
    await backend.setFault({ operation: 'prices.update', kind: 'error', status: 400, times: 1 });
    const failed = await importPlans('--plans', file);
    assert.equal(failed.code, 1, failed.stdout);
    // Events do not arrive, and the product is written already.
    await backend.control('delivery', { mode: 'drop' });
    assert.equal((await importPlans('--plans', file)).code, 0);
    const prices = [month, year, seat];
    const plans = await till.get<PlanBody[]>('/plans');
    assert.deepEqual(
      plans
        .toSorted((a, b) => prices.indexOf(a.processorPriceId) - prices.indexOf(b.processorPriceId))
        .map(({ group, features, addOn, repeatable }) => ({ group, features, addOn, repeatable })),
      [
        { group: 'main', features: { api: true }, addOn: false, repeatable: true },
        { group: 'main', features: { api: true }, addOn: false, repeatable: false },
        { group: null, features: {}, addOn: true, repeatable: true },
      ],
    );
  });
});
