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

/**
 * Asserts that axe-core finds nothing wrong. In the short form the colours count only where a test asks for them:
 * every-page.test.ts does so on each page. Behind a modal dialog everything is inert, so only the dialog is checked.
 * It is evaluated, because the policy of the page blocks script tags.
 */
export async function expectAccessible(
  page: Page,
  where = page.url(),
  rules: keyof typeof ruleSets = effort({ short: 'others', long: 'all' }),
): Promise<void> {
  const options = { resultTypes: ['violations'], ...ruleSets[rules] };
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
