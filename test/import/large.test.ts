import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { holdingOf, median } from '../load/process-watch.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { effort } from '../support/effort.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { projectFolder } from '../support/till-in-child.ts';

/** Customers. Half of them subscribe, which is an invoice and a payment too, and as many pay once. */
const customerCount = effort({ short: 150, long: 33_334 });
/** The most objects that the sandbox takes at once. */
const fixturesMax = 1_000;
const rate = 50;
/** How much more a process may hold in the last third of the time than in the second. Node returns memory late. */
const growthMegabytesMax = 40;

const pagesPerAnalysis = 50;

interface Objects {
  readonly [kind: string]: readonly object[];
}

/** An account of about three times as many objects as customers. */
async function fill({ control }: Backend): Promise<number> {
  await control('fixtures', {
    prices: [
      {
        ...{ id: 'price_pro', currency: 'eur', unit_amount: 900 },
        ...{ recurring: { interval: 'month' }, product_data: { name: 'Pro' } },
      },
    ],
  });
  let count = 1;
  const load = async (objects: Objects) => {
    const loaded = Object(await control('fixtures', objects));
    count += Object.values(objects).flat().length;
    return loaded;
  };
  for (let first = 0; first < customerCount; first += fixturesMax / 2) {
    const length = Math.min(fixturesMax / 2, customerCount - first);
    const ids = Array.from({ length }, (_, index) => `cus_${first + index}`);
    await load({
      customers: ids.map((id) => ({
        ...{ id, email: `${id}@example.com`, payment_method: 'pm_card_visa' },
        invoice_settings: { default_payment_method: 'pm_card_visa' },
      })),
    });
    const [subscribers, others] = [
      ids.filter((_, index) => index % 2 === 0),
      ids.filter((_, index) => index % 2),
    ];
    await load({
      subscriptions: subscribers.map((customer) => ({ customer, items: [{ price: 'price_pro' }] })),
      payment_intents: others.map((customer) => ({
        ...{ customer, amount: 1_000, currency: 'eur', payment_method: 'pm_card_visa', confirm: true },
        return_url: 'https://shop.example.com',
      })),
    });
    count += 2 * subscribers.length;
  }
  return count;
}

/** What a process holds while it runs, in megabytes. */
async function watch(
  child: ChildProcessByStdio<null, Readable, null>,
  { sql }: Pick<Backend, 'sql'>,
): Promise<readonly number[]> {
  const held: number[] = [];
  // Each line is a page, so the measurements are as even as the work.
  for await (const _ of child.stdout) {
    if (child.exitCode === null && child.pid !== undefined) held.push(holdingOf(child.pid).rssMegabytes);
    // The server of the tests has no autovacuum, which would tell PostgreSQL that its tables are no longer empty.
    if (held.length % pagesPerAnalysis === 5) await sql('analyze');
  }
  return held;
}

/** The most requests within a second. */
function busiestSecond(times: readonly number[]): number {
  let [first, most] = [0, 0];
  for (const [index, time] of times.entries()) {
    while (time - (times[first] ?? 0) >= 1_000) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

test('a large account is imported at the rate that was asked for, and with the same memory from start to end', async (t) => {
  const backend = await startBackend(t, { delivery: 'paused' });
  await backend.control('delivery', { mode: 'drop' });
  const objects = await fill(backend);
  const proxy = await startProcessorProxy(backend);
  const startedMs = performance.now();
  const child = spawn(process.execPath, ['src/cli/bin.mjs', 'import', '--json', `--rate=${rate}`], {
    cwd: projectFolder,
    env: {
      ...process.env,
      DATABASE_URL: backend.databaseUrl,
      PROCESSOR_API_BASE: proxy.url,
      PROCESSOR_SECRET_KEY: 'sk_test_till',
      PROCESSOR_WEBHOOK_SECRET: 'whsec_current',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const held = await watch(child, backend);
  await exited;
  assert.equal(child.exitCode, 0);
  const [row] = await backend.sql<{ count: number }>(
    `select (select count(*) from till.customers) + (select count(*) from till.plans)
       + (select count(*) from till.subscriptions) + (select count(*) from till.invoices)
       + (select count(*) from till.payments) as count`,
  );
  assert.equal(Number(row?.count), objects);
  const busiest = busiestSecond(proxy.seen.map(({ atMs }) => atMs));
  // They arrive with some delay, so that a second can have a few of the one before it.
  assert.ok(busiest <= rate * 1.1, `${busiest} calls in a second`);
  const third = Math.floor(held.length / 3);
  const [before, after] = [median(held.slice(third, 2 * third)), median(held.slice(2 * third))];
  t.diagnostic(
    `${objects} objects in ${Math.round((performance.now() - startedMs) / 1_000)} s with ${proxy.seen.length} calls, ` +
      `at most ${busiest} in a second; ${Math.round(before)} MB, then ${Math.round(after)} MB, ` +
      `at most ${Math.round(Math.max(...held))} MB`,
  );
  if (held.length > 100) assert.ok(after - before < growthMegabytesMax, `${before} MB, then ${after} MB`);
});
