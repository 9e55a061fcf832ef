import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { skipWithoutPackages } from '../../sandbox/test/browser-library/shop.ts';
import { launchOptions, skipWithoutChromium } from '../browser/support/chromium.ts';
import { readPage } from '../support/markdown.ts';
import { projectFolder } from '../support/till-in-child.ts';
import { openPlace, startExampleTill } from './support/example-place.ts';
import { serveApplication, writeApplication } from './support/guide-application.ts';
import { readExamples } from './support/page-examples.ts';

const pages = ['checkout', 'customer-portal', 'card-form', 'browser-tests'];
const files = pages.flatMap(
  (page) => readExamples(readPage(readFileSync(join(projectFolder, `docs/${page}.md`), 'utf8')).blocks).files,
);
/** Buyers are back before the webhook, which does not come. */
const withoutWebhooks = { delivery: { mode: 'paused' }, checkout: { waitsForWebhook: false } };
const json = { method: 'POST', headers: { 'content-type': 'application/json' } };
/** Far more than any step needs on a busy machine. */
const stepTimeoutMs = 20_000;
/** Of the guide to browser tests. */
const testsCount = 7;

test("the application of the guides passes the guides' own tests in a browser, even if no webhook arrives", {
  skip: skipWithoutChromium() || skipWithoutPackages(),
}, async (t) => {
  const till = await startExampleTill(t);
  const place = await openPlace(t, till);
  await writeApplication(files, place);
  const { TILL_API_KEY = '' } = place.environment;
  const plan = await fetch(`${till.url}/api/v1/plans`, {
    ...json,
    headers: { ...json.headers, 'x-api-key': TILL_API_KEY },
    body: JSON.stringify({
      name: 'Pro',
      amount: 1_900,
      currency: 'eur',
      interval: 'month',
      group: 'main',
      features: { reports: true },
    }),
  });
  for (const [control, body] of Object.entries(withoutWebhooks))
    await fetch(`${till.sandboxUrl}/sandbox/${control}`, { ...json, body: JSON.stringify(body) });
  const environment = { TILL_API_KEY, PRO_PLAN_ID: String(Object(await plan.json()).id) };
  const routes = await serveApplication(files, place, { life: t, environment });

  const unknown = new Request('http://shop/checkout', {
    method: 'POST',
    headers: { cookie: 'user=user-1' },
    body: new URLSearchParams({ plan: 'none' }),
  });
  assert.equal((await routes['/checkout']?.['POST']?.(unknown))?.status, 400);

  await writeFile(
    join(place.folder, 'here.config.ts'),
    `import config from './playwright.config';
    const use = { ...config.use, launchOptions: ${JSON.stringify(launchOptions())} };
    const timeouts = { timeout: ${place.timeoutMs}, expect: { timeout: ${stepTimeoutMs} } };
    const here = { ...config, ...timeouts, workers: 2, reporter: 'line', use };
    export { here as default };`,
  );
  const playwright = join(place.folder, 'node_modules/@playwright/test/cli.js');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [playwright, 'test', '--config', 'here.config.ts'],
    {
      cwd: place.folder,
      env: { ...place.environment, HOME: place.folder, CI: '1' },
      timeout: place.timeoutMs,
    },
  ).catch((error: { readonly stdout?: string; readonly message: string }) =>
    assert.fail(`${error.message}\n${error.stdout}`),
  );
  assert.match(stdout, new RegExp(`\\b${testsCount} passed`));
});
