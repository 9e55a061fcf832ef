import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { effort } from '../support/effort.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';
import { type ConsolePage, pages, waitForPage } from './support/pages.ts';

/** The narrowest screen that pages must fit: 1280 pixels at a zoom of 400 %. */
const phone = { width: 320, height: 800 };
const desktop = { width: 1_280, height: 900 };
/** The browser chooses forced colours, and no style of the console overrides them. */
const checksForcedContrast = effort({ short: false, long: true });

/**
 * In the short form the colours of a page are checked in one scheme: two pages in light, the next two in dark, because
 * the page of an object follows its list.
 */
const schemes = ['light', 'dark'] as const;
const schemesOf = (index: number) =>
  schemes.filter((scheme) => effort({ short: index % 4 < 2 === (scheme === 'light'), long: true }));

/** The layout of a phone is the same for all pages, so in the short form axe checks it on some of them. */
const phoneChecksEvery = effort({ short: 4, long: 1 });

/** The long form also checks the widths of phones, tablets and large screens, in both colour schemes. */
const otherWidths = effort<readonly number[]>({ short: [], long: [390, 768, 1_440] });

/** Follows a link to the page, as a person does, and waits until everything on it is loaded. */
async function goTo(page: Page, target: ConsolePage): Promise<void> {
  const path = target.path(await sharedWorld());
  await page.evaluate(
    `(() => {
      const link = Object.assign(document.createElement('a'), { href: ${JSON.stringify(path)} });
      document.querySelector('main').append(link);
      link.click();
      link.remove();
    })()`,
  );
  await waitForPage(page, target);
}

browserTest(
  'every page is accessible in light, dark and forced colours and on a phone, which it fits, and a navigation moves the focus to its heading',
  async ({ page, open }) => {
    await sharedWorld();
    await open('/console/start');
    for (const [index, target] of pages.entries()) {
      await goTo(page, target);
      await expectHeading(page, target);
      for (const [order, colorScheme] of schemesOf(index).entries()) {
        await page.emulateMedia({ colorScheme });
        const rules = order === 0 ? 'all' : 'colours';
        await expectAccessible(page, `${target.name}, ${colorScheme}`, rules);
      }
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' });
      await expectForcedColours(page, target);
      await page.emulateMedia({ forcedColors: 'none' });
      await page.setViewportSize(phone);
      await expectPhone(page, target);
      if (index % phoneChecksEvery === 0) await expectAccessible(page, `${target.name} on a phone`);
      await expectOtherWidths(page, target);
      await page.setViewportSize(desktop);
    }
  },
);

browserTest(
  'the heading of a new page has the focus and names the tab as soon as it is there',
  async ({ page, open }) => {
    await open('/console/start');
    await page.getByRole('heading', { level: 1 }).waitFor();
    const seen = await page.evaluate(
      `new Promise((resolve) => {
      const before = document.querySelector('h1');
      new MutationObserver((_, observer) => {
        const heading = document.querySelector('h1');
        if (heading === null || heading === before) return;
        observer.disconnect();
        resolve({ focus: document.activeElement.tagName, title: document.title });
      }).observe(document.querySelector('main'), { childList: true, subtree: true });
      document.querySelector('#navigation a[href="/console/resyncs"]').click();
    })`,
    );
    assert.deepEqual(seen, { focus: 'H1', title: 'Resync · Till' });
  },
);

async function expectHeading(page: Page, { name, heading }: ConsolePage): Promise<void> {
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, name);
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1', name);
  const title = await page.title();
  assert.ok(
    typeof heading === 'string' ? title.startsWith(heading) : heading.test(title),
    `${name}: ${title}`,
  );
}

/** What colours and backgrounds say, other signs say too. */
async function expectForcedColours(page: Page, { name }: ConsolePage): Promise<void> {
  if (checksForcedContrast) await expectAccessible(page, `${name} with forced colours`, 'colours');
  assert.deepEqual(await withoutEdge(page), [], name);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid', name);
}

async function expectOtherWidths(page: Page, { name }: ConsolePage): Promise<void> {
  for (const width of otherWidths) {
    await page.setViewportSize({ width, height: 900 });
    await expectAccessible(page, `${name}, ${width} pixels wide`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, `${name}, dark, ${width} pixels wide`);
    await page.emulateMedia({ colorScheme: 'light' });
  }
}

/** No page scrolls sideways. */
async function expectPhone(page: Page, { name }: ConsolePage): Promise<void> {
  const width = await page.evaluate<number>('document.documentElement.scrollWidth');
  assert.ok(width <= phone.width, `${name} is ${width} pixels wide: ${await widest(page)}`);
}

/** What reaches beyond the screen and does not scroll in a region of its own. */
function widest(page: Page): Promise<string> {
  return page.evaluate<string>(
    `[...document.querySelectorAll('main *, header *')]
      .filter((element) => !element.closest('.table') && element.getBoundingClientRect().right > innerWidth)
      .map((element) => element.tagName + '.' + element.className).slice(0, 5).join(', ')`,
  );
}

/** Statuses, and the current page in the navigation, that only a background would show. */
function withoutEdge(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(
    `[...document.querySelectorAll('.status, #navigation [aria-current=page]')]
      .filter((element) => getComputedStyle(element).borderTopStyle !== 'solid'
        || getComputedStyle(element).borderTopColor === getComputedStyle(document.body).backgroundColor)
      .map((element) => element.textContent)`,
  );
}

/** The pages of objects, and their headings if there is no such object. */
const objectPages = {
  customers: 'No such customer',
  checkouts: 'Checkout',
  payments: 'Payment',
  subscriptions: 'Subscription',
  invoices: 'Invoice',
  plans: 'Plan',
  'webhook-events': 'Webhook event',
  'event-endpoints': 'Event endpoint',
};

browserTest(
  'the page of an object that does not exist says so under a heading',
  async ({ page, open, problems }) => {
    problems.expect(/ 404 /);
    await open('/console/start');
    for (const [list, heading] of Object.entries(objectPages)) {
      const path = `/console/${list}/0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90`;
      await goTo(page, { name: list, path: () => path, heading });
      await page.getByText(/^No .+ has (this|the) id/).waitFor();
      assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, list);
    }
    await expectAccessible(page);
  },
);
