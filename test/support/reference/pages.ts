import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { auditedActions } from './audited-actions.ts';
import { commandLinePage } from './command-line-page.ts';
import { clientErrorCodes, errorsPage } from './errors-page.ts';
import { eventsPage } from './events-page.ts';
import { metricsPage } from './metrics-page.ts';
import { scopesPage } from './scopes-page.ts';
import { settingsPage, settingsTable } from './settings-page.ts';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The part of the README that is written, between two comments. */
const settingsPart =
  /(<!-- settings: written by npm run reference -->\n\n)[\s\S]*?(\n\n<!-- end of settings -->)/;

/** Every generated file, and what it must contain. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const readme = readFileSync(`${root}/README.md`, 'utf8');
  if (!settingsPart.test(readme)) throw new Error('README.md has no place for the table of settings');
  return new Map([
    ['docs/reference/settings.md', settingsPage()],
    ['docs/reference/metrics.md', await metricsPage()],
    ['docs/reference/errors.md', errorsPage()],
    ['client/src/error-codes.ts', clientErrorCodes()],
    ['console/src/pages/audit-log/audited-actions.ts', auditedActions()],
    ['docs/reference/events.md', eventsPage()],
    ['docs/reference/scopes.md', scopesPage()],
    ['docs/reference/command-line.md', commandLinePage()],
    ['README.md', readme.replace(settingsPart, (_, begin, end) => `${begin}${settingsTable()}${end}`)],
  ]);
}
