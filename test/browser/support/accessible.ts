import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { effort } from '../../support/effort.ts';

/** The smaller of its two files, because every page that is loaded compiles it again. */
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The rules whose result depends on colours. They take half of the time. */
const colourRules = ['color-contrast', 'link-in-text-block'];

const ruleSets = {
  all: {},
  colours: { runOnly: { type: 'rule', values: colourRules } },
  others: { rules: Object.fromEntries(colourRules.map((rule) => [rule, { enabled: false }])) },
};

/** The rules of a check that asks for none, and whether it leaves the pages of the console to every-page.test.ts. */
const { usual, leavesPages } = effort<{
  readonly usual: keyof typeof ruleSets;
  readonly leavesPages: boolean;
}>({
  short: { usual: 'others', leavesPages: true },
  long: { usual: 'all', leavesPages: false },
});

/**
 * Asserts that axe-core finds nothing wrong. In the short form, a check of the console that asks for no rules is one of
 * the open dialog: every-page.test.ts checks each page, and loading axe-core takes as long as the page itself. Behind a
 * modal dialog everything is inert, so only the dialog is checked. It is evaluated, because the policy of the page
 * blocks script tags.
 */
export async function expectAccessible(
  page: Page,
  where = page.url(),
  rules?: keyof typeof ruleSets,
): Promise<void> {
  const isLeft = rules === undefined && leavesPages && new URL(page.url()).pathname.startsWith('/console');
  if (isLeft && (await page.locator('dialog:modal').count()) === 0) return;
  const options = { resultTypes: ['violations'], ...ruleSets[rules ?? usual] };
  if (await page.evaluate<boolean>('typeof axe === "undefined"')) await page.evaluate(axe);
  const found = await page.evaluate<readonly string[]>(
    `axe.run(document.querySelector('dialog:modal') ?? document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ html, failureSummary }) => id + ': ' + help + '\\n' + html + '\\n' + failureSummary)))`,
  );
  assert.deepEqual(found, [], where);
}

/** The same for a page and all of its frames, whatever their origin. */
export async function expectFramesAccessible(page: Page): Promise<void> {
  for (const frame of page.frames())
    await frame.evaluate(`${axe}; axe.configure({ allowedOrigins: ['<unsafe_all_origins>'] })`);
  await expectAccessible(page);
}
