import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { before, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { pages } from '../../examples/shop/pages.ts';
import { fillCard, fillDeclinedCard, payCheckout } from '../../sandbox/testing/playwright.mjs';
import { expectAccessible } from '../browser/support/accessible.ts';
import { browser, closeBrowser, skipWithoutChromium } from '../browser/support/chromium.ts';
import { type Problems, watchProblems } from '../browser/support/problems.ts';
import { createLifetime, type Lifetime } from '../support/backend.ts';
import { testKey } from '../support/client.ts';
import { freePort } from '../support/free-port.ts';
import { confirmSecret, type SubscriptionBody } from '../support/objects.ts';
import { atProcessEnd } from '../support/process-end.ts';
import { startTill } from '../support/till.ts';
import { projectFolder } from '../support/till-in-child.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

const monthSeconds = 32 * 86_400;
/** Far more than any step needs on a busy machine. A signal that never comes must end the test. */
const stepTimeoutMs = 20_000;

const life = createLifetime();
atProcessEnd(closeBrowser);
atProcessEnd(() => life.end());

interface Shop {
  readonly url: string;
  /** Resolves when the shop has printed a line with this text. */
  printed(text: string): Promise<void>;
  stop(): Promise<void>;
}

let till: TillInProcess;
let shop: Shop;

before(async () => {
  if (skipWithoutChromium()) return;
  till = await startTill({
    in: 'process',
    for: life,
    delivers: true,
    events: { allowPrivate: true, resolve: async () => ['127.0.0.1'] },
  });
  // Webhooks wait until a test lets them through, so what works before that does not depend on them.
  await till.control('checkout', { waitsForWebhook: false });
  shop = await startShop(life, { folder: await createFolder(life), port: await freePort() });
});

async function createFolder(life: Lifetime): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'shop-'));
  life.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The shop as `npm run shop` starts it. */
async function startShop(
  life: Lifetime,
  { folder, port }: { readonly folder: string; readonly port: number },
): Promise<Shop> {
  const child = spawn(process.execPath, ['examples/shop/shop.ts'], {
    cwd: projectFolder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      TILL_URL: till.url,
      TILL_API_KEY: testKey,
      SHOP_PORT: String(port),
      SHOP_FILE: join(folder, 'shop.sqlite'),
      STRIPE_JS: `${till.processorUrl}/stripe.js`,
    },
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await once(child, 'exit');
  };
  life.after(stop);
  const lines: string[] = [];
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line));
  // For example because a package is missing. The output of the shop says why.
  const ended = once(child, 'exit').then(([status]) => assert.fail(`the shop ended with ${status}`));
  ended.catch(() => undefined);
  const printed = async (text: string) => {
    while (!lines.some((line) => line.includes(text)))
      await Promise.race([once(reader, 'line', { signal: AbortSignal.timeout(stepTimeoutMs) }), ended]);
  };
  await printed('The shop is open');
  return { url: `http://127.0.0.1:${port}`, printed, stop };
}

interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly problems: Problems;
  readonly email: string;
  click(name: string): Promise<void>;
  signIn(email: string): Promise<void>;
  reads(text: string): Promise<void>;
}

/**
 * A test with a visitor who has an account. It fails if anything goes wrong in the page that the test does not expect.
 */
function visitorTest(name: string, use: (visitor: Visitor) => Promise<void>): void {
  test(name, { skip: skipWithoutChromium() }, async () => {
    const context = await (await browser()).newContext({ locale: 'en-US' });
    context.setDefaultTimeout(stepTimeoutMs);
    try {
      const page = await context.newPage();
      const email = `${crypto.randomUUID()}@example.com`;
      const problems = watchProblems(page, shop.url, till.processorUrl);
      const visitor = { context, page, problems, email, ...stepsOf(page) };
      await page.goto(shop.url);
      await visitor.click('Sign in');
      await visitor.signIn(email);
      await use(visitor);
      problems.check();
    } finally {
      await context.close();
    }
  });
}

function stepsOf(page: Page): Pick<Visitor, 'click' | 'signIn' | 'reads'> {
  const click = (name: string) =>
    page
      .getByRole('button', { name })
      .or(page.getByRole('link', { name, exact: true }))
      .click();
  return {
    click,
    signIn: async (email) => {
      await page.getByLabel('E-mail address').fill(email);
      await page.getByLabel('Password').fill('correct horse');
      await click('Continue');
    },
    reads: (text) => page.getByText(text).first().waitFor(),
  };
}

async function subscriptionsOf(email: string): Promise<readonly SubscriptionBody[]> {
  const [customer] = (await till.get<{ data: { id: string }[] }>(`/customers?email=${email}`)).data;
  return (await till.get<{ data: SubscriptionBody[] }>(`/subscriptions?customerId=${customer?.id}`)).data;
}

visitorTest(
  'a visitor signs up, subscribes, adds seats, changes the plan, buys the handbook, cancels, and loses access',
  async ({ page, problems, email, click, reads }) => {
    problems.expect(/402/);
    await page.goto(`${shop.url}/notebook`);
    await reads('Not part of your plan');

    await click('See the plans');
    await click('Subscribe to Solo');
    await payCheckout(page);
    // No webhook has arrived.
    await reads('The heron is back');

    await click('Account');
    await page.getByLabel('Extra seats').fill('2');
    await click('See the price');
    await reads('Due now');
    await page.getByRole('button', { name: 'Change and pay' }).click();
    assert.equal(await page.getByLabel('Extra seats').inputValue(), '2');

    await page.goto(shop.url);
    await click('Change to Team');
    await reads('Due now');
    await page.getByRole('button', { name: 'Change and pay' }).click();
    await reads('Team');
    await click('Reports');
    await reads('12 notes');

    await click('Handbook');
    await fillDeclinedCard(page);
    await click('Pay');
    await reads('Your card was declined.');
    await fillCard(page);
    await click('Pay');
    await reads('Chapter 1');

    await till.settle();
    await shop.printed(`${email}: Your plan has started.`);
    await click('Account');
    await reads('Welcome!');
    await expectAccessible(page, page.url(), 'all');
    await click('Cards, invoices and cancellation');
    await click('Cancel plan');
    await click('Cancel plan');
    await page.goto(`${shop.url}/account?fresh`);
    await reads('Ends on');
    await click('Notebook');
    await reads('The heron is back');

    await till.control('clock', { advanceSeconds: monthSeconds });
    await till.settle();
    await page.reload();
    await reads('Not part of your plan');
    await shop.printed(`${email}: Your plan has ended.`);
    assert.deepEqual(
      (await subscriptionsOf(email)).map(({ status }) => status),
      ['canceled'],
    );
  },
);

visitorTest(
  'a visitor who starts with a plan signs up, and pays for that plan',
  async ({ page, problems, click, signIn, reads }) => {
    problems.expect(/422/);
    await click('Account');
    await click('Sign out');
    const email = `${crypto.randomUUID()}@example.com`;
    await click('Start with Team');
    // A mistake does not lose the plan.
    await page.getByLabel('E-mail address').evaluate((input) => input.setAttribute('type', 'text'));
    await signIn('no address');
    await reads('The password needs eight characters.');
    await signIn(email);
    await page.waitForURL(/\/c\/pay\//);
    await payCheckout(page);
    await click('Reports');
    await reads('12 notes');
    assert.equal((await subscriptionsOf(email)).length, 1);
    await click('Account');
    await click('Sign out');
    await click('Start with Solo');
    await signIn(email);
    await reads('Your plan');
  },
);

test('the shop starts as often as it is started, and verifies events with the same secret', {
  skip: skipWithoutChromium(),
}, async () => {
  const place = { folder: await createFolder(life), port: await freePort() };
  for (let starts = 0; starts < 7; starts += 1) await (await startShop(life, place)).stop();
  assert.equal((await stat(join(place.folder, 'shop.sqlite'))).mode & 0o777, 0o600);
  const again = await startShop(life, place);
  const email = `${crypto.randomUUID()}@example.com`;
  await fetch(`${again.url}/sign-in`, {
    ...{ method: 'POST', redirect: 'manual', headers: { origin: again.url } },
    body: new URLSearchParams({ email, password: 'correct horse' }),
  });
  const [customer] = (await till.get<{ data: { id: string }[] }>(`/customers?email=${email}`)).data;
  const order = { customerId: customer?.id, amount: 900, currency: 'eur' };
  const { clientSecret } = await till.post<{ clientSecret: string }>('/payments', order);
  await confirmSecret(till, clientSecret);
  await till.settle();
  await again.printed(`${email}: We received your payment.`);

  // An endpoint that is new at Till has a new secret.
  const { data } = await till.get<{ data: { id: string; url: string }[] }>('/event-endpoints');
  const known = data.filter(({ url }) => url === `${again.url}/till-events`);
  assert.equal(known.length, 1);
  await again.stop();
  await till.call('DELETE', `/event-endpoints/${known[0]?.id}`);
  const last = await startShop(life, place);
  const next = await till.post<{ clientSecret: string }>('/payments', order);
  await confirmSecret(till, next.clientSecret);
  await till.settle();
  await last.printed(`${email}: We received your payment.`);
  await last.stop();
});

test('the shop refuses forms of other sites, forged sessions and malformed addresses, and escapes input', {
  skip: skipWithoutChromium(),
}, async () => {
  const send = (path: string, headers: Record<string, string>, form?: Record<string, string>) =>
    fetch(shop.url + path, {
      redirect: 'manual',
      headers,
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
  const account = { email: `${crypto.randomUUID()}@example.com`, password: 'correct horse' };
  for (const headers of [{}, { origin: 'https://other.example.com' }, { origin: till.processorUrl }])
    assert.equal((await send('/sign-in', headers, account)).status, 403);
  const own = { origin: shop.url };
  const signedUp = await send('/sign-in', own, account);
  assert.equal(signedUp.status, 303);
  const [cookie = ''] = signedUp.headers.getSetCookie();
  assert.match(cookie, /; HttpOnly; SameSite=Lax$/);
  const session = String(cookie.split(';')[0]);
  assert.equal((await send('/account', { cookie: session })).status, 200);
  for (const forged of [`${session}0`, session.replace('shop=', 'shop=x'), 'shop=', 'shop=.'])
    assert.equal((await send('/account', { cookie: forged })).headers.get('location'), '/sign-in');
  assert.equal((await send('/sign-in', own, { ...account, password: 'wrong horse' })).status, 422);
  assert.equal((await send('/sign-in', own, { ...account, password: '' })).status, 422);
  assert.equal((await send('/sign-in', own, {})).status, 422);
  assert.equal((await send('/sign-in', own, { ...account, email: 'a'.repeat(20_000) })).status, 413);
  for (const path of ['//', '/%', '/public/../shop.ts', '/public/%2e%2e/shop.ts'])
    assert.equal((await send(path, { cookie: session })).status, 404, path);
  assert.equal((await send('/till-events', {}, { type: 'payment.succeeded' })).status, 400);
  assert.ok(String(await pages.signIn('"><script>&')).includes('&quot;&gt;&lt;script&gt;&amp;'));
});

visitorTest(
  'two tabs that subscribe at once share one checkout, and pay once',
  async ({ context, page, click, email, reads }) => {
    const other = await context.newPage();
    const steps = stepsOf(other);
    await other.goto(shop.url);
    await Promise.all([click('Subscribe to Solo'), steps.click('Subscribe to Solo')]);
    await Promise.all([page, other].map((tab) => tab.waitForURL(/\/c\/pay\//)));
    assert.equal(page.url(), other.url());
    await payCheckout(page);
    await till.settle();
    await reads('The heron is back');
    await payCheckout(other);
    await steps.reads('The heron is back');
    await other.goto(shop.url);
    await steps.reads('Your plan');
    assert.equal((await subscriptionsOf(email)).length, 1);
  },
);

visitorTest(
  'of two tabs with different plans, the later choice can be paid, and the earlier one no longer',
  async ({ context, page, click, email, reads }) => {
    await click('Subscribe to Solo');
    await page.waitForURL(/\/c\/pay\//);
    const other = await context.newPage();
    const steps = stepsOf(other);
    await other.goto(shop.url);
    await steps.click('Subscribe to Team');
    await other.waitForURL(/\/c\/pay\//);
    await payCheckout(page);
    await reads('expired');
    await payCheckout(other);
    await steps.reads('The heron is back');
    await steps.click('Reports');
    await steps.reads('12 notes');
    assert.equal((await subscriptionsOf(email)).length, 1);
  },
);
