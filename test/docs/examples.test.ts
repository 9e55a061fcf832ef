import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
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

/** Decisions, benchmarks that take half an hour, a map of the code, and the changelog. */
const withoutExamples = /^(docs\/decisions\/|bench\/|ARCHITECTURE\.md$|CHANGELOG\.md$)/;
const pages = new Map(
  findPages(projectFolder)
    .filter((path) => !withoutExamples.test(path))
    .map((path) => [path, readExamples(readPage(readFileSync(join(projectFolder, path), 'utf8')).blocks)]),
);

/**
 * Pages that have a Till of their own, and why. All others are run one after the other on one Till, as newcomers do.
 */
const withOwnTill: Readonly<Record<string, string>> = {
  'docs/migrating.md': 'Till begins with an account that Stripe customers already use',
  'sandbox/README.md': 'it ends with a reset of the sandbox',
};
const pagesOfOneTill = inReadingOrder([...pages.keys()].filter((page) => !(page in withOwnTill)));

/** The README, then the pages in the order in which docs/README.md links to them, then the others. */
function inReadingOrder(paths: readonly string[]): readonly string[] {
  const { links } = readPage(readFileSync(join(projectFolder, 'docs/README.md'), 'utf8'));
  const linked = ['README.md', ...links.map(({ target }) => normalize(join('docs', target)))];
  return [...new Set([...linked, ...paths])].filter((path) => paths.includes(path));
}

/** Blocks in other languages and files of applications, and the tests that run them. */
const runElsewhere: Readonly<Record<string, string>> = {
  'docs/testing-with-the-sandbox.md js': 'sandbox/test/guide.test.ts',
  'docs/testing-with-the-sandbox.md python': 'sandbox/test/guide.test.ts',
  'docs/testing-with-the-sandbox.md ruby': 'sandbox/test/guide.test.ts',
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

/** Each page runs in this many rounds, because a reader may repeat it on another day, and find what it left behind. */
const rounds = effort({ short: 1, long: 2 });

describe('the examples work as they are written', { concurrency: pagesAtATime }, () => {
  const life = createLifetime();
  after(() => life.end());
  describe('one page after the other, on one Till', { concurrency: 1 }, () => {
    let till: Promise<ExampleTill> | undefined;
    for (let round = 1; round <= rounds; round += 1)
      for (const page of pagesOfOneTill)
        testPage(page, async () => {
          till ??= startExampleTill(life);
          return till;
        });
  });
  for (const page of Object.keys(withOwnTill)) testPage(page, startExampleTill);
});

function testPage(page: string, start: (t: TestContext) => Promise<ExampleTill>): void {
  const { shell = [], typescript = [] } = pages.get(page) ?? {};
  if (shell.length > 0 && !isRunElsewhere(page))
    test(`${page}, in a shell`, { skip }, async (t) => runShell(shell, await openPlace(t, await start(t))));
  const exports = shell.flatMap(({ code }) => code.split('\n').filter((line) => line.startsWith('export ')));
  if (typescript.length > 0)
    test(`${page}, in TypeScript`, async (t) =>
      runTypescript(typescript, await openPlace(t, await start(t)), exports));
}
