import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { createLifetime } from '../support/backend.ts';
import { effort } from '../support/effort.ts';
import { findPages, readPage } from '../support/markdown.ts';
import { skipWithoutProgram } from '../support/require-program.ts';
import { projectFolder } from '../support/till-in-child.ts';
import { type ExampleTill, openPlace, startExampleTill } from './support/example-place.ts';
import { readExamples } from './support/page-examples.ts';
import { runShell } from './support/run-shell.ts';
import { checkTypes, runTypescript } from './support/run-typescript.ts';

/** A map of the code, records of the past, and benchmarks that take half an hour. */
const withoutExamples = /^(docs\/decisions\/|bench\/|ARCHITECTURE\.md$|CHANGELOG\.md$)/;
const pages = new Map(
  findPages(projectFolder)
    .filter((path) => !withoutExamples.test(path))
    .map((path) => [path, readExamples(readPage(readFileSync(join(projectFolder, path), 'utf8')).blocks)]),
);

/**
 * Pages that use one Till together, which saves most of their time. Each other page has a Till of its own for each
 * language, because it moves the sandbox's clock, or because it shows lists or events of all objects.
 */
const sharing = new Set([
  'README.md',
  'docs/card-form.md',
  'docs/changing-plans.md',
  'docs/checkout.md',
  'docs/customer-portal.md',
  'docs/first-payment.md',
  'docs/first-subscription.md',
  'docs/gating.md',
  'docs/overview.md',
  'docs/quick-start.md',
  'docs/saved-cards.md',
]);

/** Pages that a newcomer runs one after the other on one Till, and again. In the short form one page runs again. */
const repeated = new Set(
  effort({ short: ['README.md'], long: ['README.md', 'docs/first-payment.md', 'docs/saved-cards.md'] }),
);

/** Blocks in other languages and files of applications, and the tests that run them. */
const runElsewhere: Readonly<Record<string, string>> = {
  'docs/testing-with-the-sandbox.md js': 'test/sandbox/guide.test.ts',
  'docs/testing-with-the-sandbox.md python': 'test/sandbox/guide.test.ts',
  'docs/testing-with-the-sandbox.md ruby': 'test/sandbox/guide.test.ts',
  'packages/sandbox/README.md js': 'test/packages/sandbox.test.ts',
  'packages/sandbox/README.md python': 'test/packages/sandbox.test.ts',
  'packages/sandbox/README.md ruby': 'test/packages/sandbox.test.ts',
  'packages/server/README.md js': 'test/packages/server.test.ts',
  'docs/going-live.md sh': 'test/process/going-live.test.ts',
  'docs/backup-and-restore.md sh': 'test/acceptance/restore.test.ts',
  'docs/browser-tests.md files': 'test/docs/guide-application.test.ts',
  'docs/card-form.md files': 'test/docs/guide-application.test.ts',
  'docs/checkout.md files': 'test/docs/guide-application.test.ts',
  'docs/customer-portal.md files': 'test/docs/guide-application.test.ts',
  'docs/security.md sql': 'test/security/database-role.test.ts',
};

/** Whether another test runs the shell examples of a page, because they need another set-up. */
function isRunElsewhere(page: string): boolean {
  return `${page} sh` in runElsewhere;
}

/** More than these would make the pages less certain. A new one needs a reason that no test can remove. */
const notRunMax = 23;
/** A page of these takes some seconds, most of which it waits, so more than there are cores run at a time. */
const pagesAtATime = 4;

test('every block of code has a language that a test runs, or a reason why none does', () => {
  const mistakes = [...pages].flatMap(([page, examples]) =>
    examples.mistakes.map((mistake) => `${page}, ${mistake}`),
  );
  assert.deepEqual(mistakes, []);
  const foreign = new Set(
    [...pages].flatMap(([page, examples]) => examples.foreign.map(({ language }) => `${page} ${language}`)),
  );
  for (const [page, { shell, files }] of pages) {
    if (isRunElsewhere(page) && shell.length > 0) foreign.add(`${page} sh`);
    if (files.length > 0) foreign.add(`${page} files`);
  }
  assert.deepEqual([...foreign].toSorted(), Object.keys(runElsewhere).toSorted());
  for (const file of Object.values(runElsewhere)) assert.ok(existsSync(join(projectFolder, file)), file);
});

test('few blocks are not run', () => {
  const notRun = [...pages].flatMap(([page, examples]) =>
    examples.notRun.map(({ line, reason }) => `${page}:${line}: ${reason}`),
  );
  assert.ok(notRun.length <= notRunMax, notRun.join('\n'));
});

const withTypescript = new Map(
  [...pages].flatMap(([page, { typescript }]) => (typescript.length === 0 ? [] : [[page, typescript]])),
);
/** The examples use them as readers do. */
const skip = skipWithoutProgram('curl') || skipWithoutProgram('jq');

test('the TypeScript examples have no type errors', () => checkTypes(withTypescript));

describe('the examples work as they are written', { concurrency: pagesAtATime }, () => {
  let sharedTill: Promise<ExampleTill> | undefined;
  const life = createLifetime();
  after(() => life.end());
  const place = async (t: TestContext, page: string, run: string) => {
    if (!sharing.has(page)) return openPlace(t, await startExampleTill(t), run);
    sharedTill ??= startExampleTill(life);
    return openPlace(t, await sharedTill, run);
  };
  for (const [page, { shell, typescript }] of pages) {
    const name = page.replace(/\W/g, '-');
    if (shell.length > 0 && !isRunElsewhere(page))
      test(`${page}, in a shell`, { skip }, async (t) => {
        const here = await place(t, page, `${name}-sh`);
        for (let runs = repeated.has(page) ? 2 : 1; runs > 0; runs -= 1) await runShell(shell, here);
      });
    if (typescript.length > 0)
      test(`${page}, in TypeScript`, async (t) => {
        const here = await place(t, page, `${name}-ts`);
        for (let runs = repeated.has(page) ? 2 : 1; runs > 0; runs -= 1)
          await runTypescript(typescript, here);
      });
  }
});
