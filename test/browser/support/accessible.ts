import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

/** The smaller of its two files, because every page that is loaded compiles it again. */
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The rules whose result depends on colours. Most of the time goes to the others. */
const colourRules = ['color-contrast', 'link-in-text-block'];

/**
 * Asserts that axe-core finds nothing wrong, or nothing wrong with the colours of a page that was checked before in other
 * colours. Behind a modal dialog everything is inert, so only the dialog is checked. It is evaluated, because the policy of
 * the page blocks script tags.
 */
export async function expectAccessible(
  page: Page,
  where = page.url(),
  rules: 'all' | 'colours' = 'all',
): Promise<void> {
  const options = {
    resultTypes: ['violations'],
    ...(rules === 'all' ? {} : { runOnly: { type: 'rule', values: colourRules } }),
  };
  if (await page.evaluate<boolean>('typeof axe === "undefined"')) await page.evaluate(axe);
  const found = await page.evaluate<readonly string[]>(
    `axe.run(document.querySelector('dialog:modal') ?? document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ html, failureSummary }) => id + ': ' + help + '\\n' + html + '\\n' + failureSummary)))`,
  );
  assert.deepEqual(found, [], where);
}
