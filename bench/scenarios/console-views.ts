import type { Page } from 'playwright-core';
import { browser, closeBrowser, skipWithoutChromium } from '../../test/browser/support/chromium.ts';
import { freePort } from '../../test/support/free-port.ts';
import type { BenchDatabase } from '../lab/database.ts';
import type { Lab } from '../lab/lab.ts';
import { listShops } from '../lab/list-shops.ts';
import { median } from '../lab/numbers.ts';
import type { Scenario } from '../lab/scenario.ts';
import { customerOf } from '../lab/seed-lists.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { createCustomer } from '../lab/shop.ts';
import { apiKey } from '../load/requests.ts';

const name = 'console_slowest_view';
/** A user's attention stays on the task if a page takes no longer than this. */
const goalMs = 1_000;
const looksFull = 5;
const looksQuick = 2;
const dayMs = 86_400_000;

/** The time from opening an address until its data is on the screen. */
export const consoleViews: Scenario = {
  names: [name],
  async run(lab) {
    const missing = skipWithoutChromium();
    if (missing !== false) return [{ name, value: null, unit: 'ms p50', note: missing }];
    const { database, rows } = (await listShops(lab)).many;
    const port = await freePort();
    const address = { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` };
    await using till = await lab.startTill(database, { CONSOLE: 'on', ...address });
    const times = await measure(lab, till, await viewsOf(database, (await createCustomer(till)).id));
    const medians = [...times].map(([view, ms]) => [view, Math.round(median(ms))] as const);
    return [
      {
        name,
        value: Math.max(...medians.map(([, ms]) => ms)),
        unit: 'ms p50',
        baseline: goalMs,
        goal: { atMost: 1 },
        note: `${rows.toLocaleString('en-US')} rows: ${medians.map(([view, ms]) => `${view} ${ms}`).join(', ')}`,
      },
    ];
  },
  end: closeBrowser,
};

/** The address of each view, by name. Its customer exists at the processor, from which the view reads the cards. */
async function viewsOf(
  database: BenchDatabase,
  customerId: string,
): Promise<Readonly<Record<string, string>>> {
  const [payment] = await database.query<{ id: string }>(
    `update till.payments set customer_id = '${customerId}' where customer_id = '${customerOf(7)}' returning id`,
  );
  const [subscription] = await database.query<{ id: string }>(
    `update till.subscriptions set customer_id = '${customerId}'
     where id = (select id from till.subscriptions limit 1) returning id`,
  );
  const today = Date.now();
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return {
    overview: '',
    'overview of a year': `?from=${dayOf(today - 364 * dayMs)}&to=${dayOf(today)}`,
    'needs attention': '/attention',
    customers: '/customers',
    customer: `/customers/${customerId}`,
    payments: '/payments',
    'canceled payments': '/payments?status=canceled',
    payment: `/payments/${payment?.id}`,
    refunds: '/refunds',
    subscriptions: '/subscriptions',
    subscription: `/subscriptions/${subscription?.id}`,
    invoices: '/invoices',
    plans: '/plans',
    'webhook events': '/webhook-events',
    'event endpoints': '/event-endpoints',
    resync: '/resyncs',
    'API keys': '/api-keys',
  };
}

async function measure(
  lab: Lab,
  till: ServerProcess,
  views: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, number[]>> {
  const page = await (await browser()).newPage({ baseURL: till.url });
  try {
    await signIn(page);
    const times = new Map<string, number[]>(Object.keys(views).map((view) => [view, []]));
    for (const path of Object.values(views)) await show(page, path);
    for (let look = 0; look < lab.amount(looksFull, looksQuick) * lab.scale.rounds; look += 1)
      for (const [view, path] of Object.entries(views)) times.get(view)?.push(await show(page, path));
    return times;
  } finally {
    await page.close();
  }
}

async function signIn(page: Page): Promise<void> {
  await page.goto('/console');
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#navigation').waitFor();
}

/** Milliseconds until the page has finished loading. */
async function show(page: Page, path: string): Promise<number> {
  const startedAtMs = performance.now();
  await page.goto(`/console${path}`, { waitUntil: 'commit' });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page
    .locator('main')
    .filter({ hasNot: page.locator('.spinner') })
    .waitFor();
  const tookMs = performance.now() - startedAtMs;
  const failures = await page.getByRole('alert').allInnerTexts();
  if (failures.length > 0) throw new Error(`/console${path} failed: ${failures.join(', ')}`);
  return tookMs;
}
