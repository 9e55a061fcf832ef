import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Scope } from '#core/model/api-key.ts';
import { createLifetime, type Lifetime } from '../../support/backend.ts';
import { testKey } from '../../support/client.ts';
import { openSession } from '../../support/console-session.ts';
import { atProcessEnd } from '../../support/process-end.ts';
import { startTill } from '../../support/till.ts';
import type { TillInProcess } from '../../support/till-in-process.ts';
import { browser, closeBrowser, skipWithoutChromium } from './chromium.ts';
import { type Problems, watchProblems } from './problems.ts';
import { createWorld, type World } from './world.ts';

/** Far more than any step needs on a busy machine. A signal that never comes must end the test. */
const stepTimeoutMs = 20_000;

/**
 * All tabs share a process, which compiles the console and axe-core once. Optimised code would not repay its
 * compilation.
 */
const chromiumArgs = ['--process-per-site', '--js-flags=--single-threaded,--no-opt'];

/** How a test sees the console, if not on a desktop. */
export interface TabOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: 'light' | 'dark';
  /** The time zone of the browser, if it is not that of the other tabs. */
  readonly browserZone?: string;
}

export interface Tab {
  readonly page: Page;
  readonly till: TillInProcess;
  readonly problems: Problems;
  /** Opens an address of the console in a tab that is signed in. Without scopes, the API key may do everything. */
  open(path: string, options?: { readonly scopes?: readonly Scope[] }): Promise<void>;
}

let till: Promise<TillInProcess> | undefined;
let world: Promise<World> | undefined;
let firstTab: Promise<Page> | undefined;

const life = createLifetime();
atProcessEnd(closeBrowser);
atProcessEnd(() => life.end());

/** The Till of this process. Its webhooks wait until a test calls `settle`. */
export function sharedTill(): Promise<TillInProcess> {
  till ??= startConsole(life);
  return till;
}

/** The objects of the shared Till that tests look at. A test that changes an object creates its own. */
export async function sharedWorld(): Promise<World> {
  world ??= createWorld(await sharedTill());
  return world;
}

/** A Till with the console, for a test that needs one of its own. */
export function startConsole(life: Lifetime): Promise<TillInProcess> {
  return startTill({ in: 'process', for: life, hasConsole: true });
}

interface BrowserTestOptions extends TabOptions {
  /** Another Till than the shared one. */
  readonly on?: (t: TestContext) => Promise<TillInProcess>;
}

/**
 * A test in a tab of its own, which is signed in only if the test does so. It fails if anything goes wrong in the page
 * that the test does not expect.
 */
export function browserTest(
  name: string,
  run: (tab: Tab, t: TestContext) => Promise<void>,
  { on = sharedTill, ...options }: BrowserTestOptions = {},
): void {
  test(name, { skip: skipWithoutChromium() }, async (t) => {
    const { close, ...tab } = await openConsole(await on(t), options);
    try {
      await run(tab, t);
      tab.problems.check();
    } finally {
      await close();
    }
  });
}

/** A tab for pages that are not the console's. */
export async function openTab(): Promise<Page> {
  const page = await (await browser(chromiumArgs)).newPage();
  page.setDefaultTimeout(stepTimeoutMs);
  return page;
}

/** A new tab, which is not signed in. */
export async function openConsole(
  till: TillInProcess,
  { viewport, colorScheme, browserZone }: TabOptions = {},
): Promise<Tab & { close(): Promise<void> }> {
  const page = browserZone === undefined ? await openBeside(till) : await openFirstTab(till, browserZone);
  // All tabs share the cookies.
  await page.context().clearCookies();
  if (viewport !== undefined) await page.setViewportSize(viewport);
  if (colorScheme !== undefined) await page.emulateMedia({ colorScheme });
  const problems = watchProblems(page, till.url);
  const close = () => (browserZone === undefined ? page : page.context()).close();
  return { page, till, problems, open: openIn(page, till), close };
}

async function openBeside(till: TillInProcess): Promise<Page> {
  firstTab ??= openFirstTab(till, 'Europe/Berlin');
  const opener = await firstTab;
  const opened = opener.context().waitForEvent('page');
  await opener.evaluate('void open()');
  return opened;
}

/**
 * Opens the other tabs, so that they join its process: a tab that the browser opens starts in a process of its own. It
 * stays open, because the process of the tabs ends with the last one.
 */
async function openFirstTab(till: TillInProcess, timezoneId: string): Promise<Page> {
  const context = await (await browser(chromiumArgs)).newContext({
    locale: 'en-US',
    timezoneId,
    viewport: { width: 1_280, height: 900 },
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(stepTimeoutMs);
  const page = await context.newPage();
  // A page of the same origin without requests of its own.
  await page.goto(`${till.url}/console/assets/icon.svg`);
  return page;
}

function openIn(page: Page, till: TillInProcess): Tab['open'] {
  return async (path, { scopes } = {}) => {
    const key = scopes === undefined ? testKey : (await createKey(till, scopes)).key;
    // As after a reload, the browser has the cookie. sign-in.test.ts uses the form.
    const value = (await openSession(till.url, key)).slice('till='.length);
    await page
      .context()
      .addCookies([{ name: 'till', value, url: till.url, httpOnly: true, sameSite: 'Strict' }]);
    await page.goto(`${till.url}${path}`);
    await signedIn(page);
  };
}

/** Signs in as a person does. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await signedIn(page);
}

function signedIn(page: Page): Promise<void> {
  return page.getByRole('navigation', { name: 'Main', includeHidden: true }).waitFor({ state: 'attached' });
}

export function createKey(
  till: TillInProcess,
  scopes: readonly Scope[],
): Promise<{ readonly id: string; readonly key: string; readonly name: string }> {
  return till.post('/api-keys', { name: `tests.${scopes.join('-')}`, scopes });
}
