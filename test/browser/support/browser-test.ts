import { type TestContext, test } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Scope } from '../../../src/model/api-key.ts';
import { createLifetime, type Lifetime } from '../../support/backend.ts';
import { testKey } from '../../support/client.ts';
import { atProcessEnd } from '../../support/process-end.ts';
import { startTill } from '../../support/till.ts';
import type { TillInProcess } from '../../support/till-in-process.ts';
import { browser, closeBrowser, skipWithoutChromium } from './chromium.ts';
import { type Problems, watchProblems } from './problems.ts';
import { createWorld, type World } from './world.ts';

/** Far more than any step needs on a busy machine. A signal that never comes must end the test. */
const stepTimeoutMs = 20_000;

/** The clock, the language and the size of every tab, unless a test says otherwise. */
const tabDefaults: BrowserContextOptions = {
  locale: 'en-US',
  timezoneId: 'Europe/Berlin',
  viewport: { width: 1_280, height: 900 },
  reducedMotion: 'reduce',
};

export interface Tab {
  readonly page: Page;
  readonly till: TillInProcess;
  readonly problems: Problems;
  /** Opens an address of the console and signs in there. Without scopes, the key may do everything. */
  open(path: string, options?: { readonly scopes?: readonly Scope[] }): Promise<void>;
}

let till: Promise<TillInProcess> | undefined;
let world: Promise<World> | undefined;

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

interface BrowserTestOptions extends BrowserContextOptions {
  /** Another Till than the shared one. */
  readonly on?: (t: TestContext) => Promise<TillInProcess>;
}

/**
 * A test in a tab of its own, which knows nothing of the tabs of other tests. It fails if anything goes wrong in the page
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

/** A tab in a browser profile of its own. */
export async function openConsole(
  till: TillInProcess,
  options: BrowserContextOptions = {},
): Promise<Tab & { close(): Promise<void> }> {
  const context = await (await browser()).newContext({ ...tabDefaults, ...options, baseURL: till.url });
  context.setDefaultTimeout(stepTimeoutMs);
  const page = await context.newPage();
  const problems = watchProblems(page, till.url);
  return { page, till, problems, open: openIn(page, till), close: () => context.close() };
}

function openIn(page: Page, till: TillInProcess): Tab['open'] {
  return async (path, { scopes } = {}) => {
    await page.goto(path);
    await signIn(page, scopes === undefined ? testKey : (await createKey(till, scopes)).key);
  };
}

/** Signs in as a person does. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main', includeHidden: true }).waitFor({ state: 'attached' });
}

export function createKey(
  till: TillInProcess,
  scopes: readonly Scope[],
): Promise<{ readonly id: string; readonly key: string; readonly name: string }> {
  return till.post('/api-keys', { name: `tests.${scopes.join('-')}`, scopes });
}
