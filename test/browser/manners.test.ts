import assert from 'node:assert/strict';
import type { Page, Request } from 'playwright-core';
import { createCustomer, createPaidPayment, createPlan } from '../support/objects.ts';
import { until } from '../support/until.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld, startConsole } from './support/browser-test.ts';

const phone = { viewport: { width: 390, height: 844 } };
/** The promise. */
const noticedMsMax = 5_000;
const pulsePath = '/console/pulse';
/** The console asks for it so often. */
const pulseIntervalMs = 1_500;

/** Lets a test stop the time of the page, so that the speed of the machine does not count. */
async function installClock(page: Page) {
  const { clock } = page;
  await clock.install({ time: Date.now() });
  await page.addInitScript(`AbortSignal.timeout = (ms) => {
    const ended = new AbortController();
    setTimeout(() => ended.abort(new DOMException('', 'TimeoutError')), ms);
    return ended.signal;
  }`);
  return {
    stop: async () => {
      const soonMs = (await page.evaluate<number>('Date.now()')) + 100;
      // If that time is over already, this stops the clock, and then fails.
      await clock.pauseAt(soonMs).catch(() => {});
    },
    pass: (ms: number) => clock.runFor(ms),
    resume: () => clock.resume(),
  };
}

browserTest(
  'a hard load reads its object once, shows relative times, and a dead connection ends “Live” within 5 seconds',
  async ({ page, open }, t) => {
    const { payments } = await sharedWorld();
    const { id, createdAt } = payments.paid;
    const clock = await installClock(page);
    // All tabs share it.
    t.after(() => clock.resume());
    const reads: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.endsWith(`/api/v1/payments/${id}`)) reads.push(pathname);
    });
    const [pulses, answered] = [new Set<Request>(), new Set<Request>()];
    const isPulse = (request: Request) => request.url().endsWith(pulsePath);
    page.on('request', (request) => isPulse(request) && pulses.add(request));
    page.on('response', (response) => isPulse(response.request()) && answered.add(response.request()));
    await open(`/console/payments/${id}`);
    const live = page.locator('.top .live');
    await live.getByText('Live', { exact: true }).waitFor();
    await page.getByText('No refunds.').waitFor();
    await clock.stop();
    // A reload would come with the first second.
    await clock.pass(pulseIntervalMs);
    await until(() => answered.size > 0 && answered.size === pulses.size);
    assert.equal(reads.length, 1);

    const time = page.locator(`.fields time[datetime="${createdAt}"]`).first();
    assert.match((await time.locator('[aria-hidden]').textContent()) ?? '', /^(now|\d+ minutes? ago)$/);
    const exact = new Intl.DateTimeFormat('en-US', {
      dateStyle: 'medium',
      timeStyle: 'short',
      timeZone: 'UTC',
    }).format(new Date(createdAt));
    assert.equal(await time.locator('.visually-hidden').textContent(), exact);
    assert.ok((await time.getAttribute('title'))?.includes(createdAt), 'the exact time is there on hover');

    // Requests get no response and no error, and the one that waits for events goes on waiting.
    await page.route('**/*', () => {});
    await clock.pass(noticedMsMax);
    await live.getByText('Connecting').waitFor();
    await page.getByText('No connection to Till.').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  },
);

browserTest(
  'a page that loads again while its person is away says so, until there is an input',
  async ({ page, till, open }) => {
    await open('/console/customers');
    await page.locator('.top .live').getByText('Live', { exact: true }).waitFor();
    const reload = async () => {
      const [request] = await Promise.all([
        page.waitForRequest((one) => new URL(one.url()).pathname.endsWith('/api/v1/customers')),
        createCustomer(till),
      ]);
      return request.headers()['x-till-background'];
    };
    assert.equal(await reload(), undefined);
    await page.clock.setFixedTime(Date.now() + 120_000);
    assert.equal(await reload(), '1');
    await page.mouse.move(200, 200);
    assert.equal(await reload(), undefined);
  },
  { on: startConsole },
);

browserTest(
  'on a phone filters are behind a button, which says how many there are',
  async ({ page, open }) => {
    await sharedWorld();
    await open('/console/payments?status=canceled');
    const button = page.getByRole('button', { name: 'Filters (1)' });
    await button.waitFor();
    assert.equal(await page.getByLabel('Status').isVisible(), false);
    assert.equal(await button.getAttribute('aria-expanded'), 'false');
    await button.click();
    await page.getByLabel('Status').selectOption('refunded');
    await page.waitForURL(/status=refunded/);
    assert.equal(await page.getByLabel('Status').isVisible(), true, 'a choice leaves them open');
    await expectAccessible(page);
    await page.setViewportSize({ width: 1_280, height: 900 });
    await button.waitFor({ state: 'hidden' });
    assert.equal(await page.getByLabel('Status').isVisible(), true);
  },
  phone,
);

browserTest(
  'a fresh installation shows first steps, which tick themselves off and go away',
  async ({ page, till, open }) => {
    await open('/console');
    const steps = page.getByRole('heading', { name: 'First steps' }).locator('../..');
    await steps.getByText('0 of 5 done').waitFor();
    await expectAccessible(page, 'light', 'all');
    await page.emulateMedia({ colorScheme: 'dark' });
    await createPlan(till);
    await steps.getByText('1 of 5 done').waitFor();
    await steps.getByRole('listitem').filter({ hasText: 'Done: Create a plan' }).waitFor();
    await expectAccessible(page, 'dark', 'colours');
    const { id: customerId } = await createCustomer(till);
    await steps.getByText('2 of 5 done').waitFor();
    await createPaidPayment(till, { customerId });
    await steps.getByText('3 of 5 done').waitFor();
    await till.post('/event-endpoints', { url: 'https://shop.example.com/events', types: null });
    await steps.getByRole('link', { name: 'Create an API key' }).click();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    await page.goBack();
    await steps.getByText('4 of 5 done').waitFor();
    await till.post('/api-keys', { name: 'shop', scopes: ['write'] });
    await page.reload();
    await page.getByText('Volume', { exact: true }).first().waitFor();
    await page.locator('.steps').waitFor({ state: 'detached' });
  },
  { on: startConsole },
);
