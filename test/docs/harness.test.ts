import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headingAnchors } from '../../site/heading-anchors.ts';
import { readPage } from '../support/markdown.ts';
import { skipWithoutProgram } from '../support/require-program.ts';
import { type ExamplePlace, openPlace } from './support/example-place.ts';
import { matches, readExamples } from './support/page-examples.ts';
import { runShell } from './support/run-shell.ts';
import { runTypescript } from './support/run-typescript.ts';

const fence = '```';
type Fenced = readonly [info: string, code: string];

function examplesOf(...blocks: readonly Fenced[]) {
  return readExamples(
    readPage(blocks.map(([info, code]) => `${fence}${info}\n${code}\n${fence}\n`).join('\n')).blocks,
  );
}

test('a claim is a subset, with … for any text and for the rest of a list', () => {
  const payment = { id: 'pi_1', amount: 2000, refunds: [{ id: 're_1' }, { id: 're_2' }], failure: null };
  assert.ok(matches(payment, { id: 'pi_…', amount: 2000 }));
  assert.ok(matches(payment, { refunds: [{ id: 're_1' }, '…'], failure: null }));
  for (const wrong of [
    { id: 'ch_…' },
    { amount: '2000' },
    { amount: 2001 },
    { refunds: [{ id: 're_1' }] },
    { refunds: [{ id: 're_1' }, { id: 're_2' }, { id: '…' }] },
    { failure: {} },
    { status: 'succeeded' },
  ])
    assert.ok(!matches(payment, wrong), JSON.stringify(wrong));
});

test('a block that is not run needs a reason, and JSON a command before it', () => {
  const { shell, notRun, foreign, mistakes } = examplesOf(
    ['json', '{}'],
    ['sh', 'echo 1'],
    ['sh not run: it installs packages', 'npm ci'],
    ['sh skipped', 'echo 2'],
    ['python', 'print(1)'],
    ['', 'plain'],
  );
  assert.deepEqual(notRun, [{ line: 10, reason: 'it installs packages' }]);
  assert.deepEqual(foreign, [{ line: 18, language: 'python' }]);
  assert.deepEqual(
    mistakes.map((mistake) => mistake.split(': ')[0]),
    ['line 2', 'line 14', 'line 22'],
  );
  assert.equal(shell.length, 2);
});

test('a block that names a file is a part of an application, and of no page', () => {
  const { files, typescript, foreign } = examplesOf(
    ['ts', '// app/checkout/route.ts\nexport const a = 1;'],
    ['html', '<!-- public/prices.html -->\n<p>'],
    ['ts', '// A comment.\nconst b = 1;'],
    ['html', '<p>'],
  );
  assert.deepEqual(
    files.map(({ path }) => path),
    ['app/checkout/route.ts', 'public/prices.html'],
  );
  assert.deepEqual([typescript.length, foreign.length], [1, 1]);
});

test('anchors are those that GitHub makes', () => {
  const headings = ['The `till` command', 'A & B', 'What, when?', 'A & B', '[0012](x.md) Personal data'];
  const anchors = headingAnchors(headings);
  assert.deepEqual([...anchors], ['the-till-command', 'a--b', 'what-when', 'a--b-1', '0012-personal-data']);
});

test('links are found in paragraphs and tables, but not in code', () => {
  const page = '[a](a.md#x), `[b](b.md)` and\n[two\nlines](c.md)\n\n    [d](d.md)\n\n| ![alt](e.svg) |\n';
  const found = readPage(page).links.map(({ target, line }) => [target, line]);
  assert.deepEqual(found, [
    ['a.md#x', 1],
    ['c.md', 2],
    ['e.svg', 7],
  ]);
});

test('what a page claims wrongly is found', async (t) => {
  const place = await placeWithoutTill(t);
  const failing: readonly (readonly [RegExp, ...Fenced[]])[] = [
    [/the block at line 2 failed/, ['sh', 'false\necho 1']],
    [/the block at line 6 failed/, ['sh', 'echo 1'], ['sh', 'echo "$unknown"']],
    [/the JSON at line 6 is not/, ['sh', `echo '{"a":1}'`], ['json', '{ "a": 2 }']],
    [/the text at line 6 is not/, ['sh', 'echo one; echo two'], ['text', 'one']],
  ];
  for (const [reason, ...blocks] of failing)
    await assert.rejects(runShell(examplesOf(...blocks).shell, place), reason);
  await runShell(examplesOf(['sh', `echo '{"a":1}'`], ['json', '{ "a": 1 }']).shell, place);
  const print = (claim: string) => examplesOf(['ts', `console.log('one'); // ${claim}`]).typescript;
  await runTypescript(print('o…'), place);
  await assert.rejects(runTypescript(print('two'), place), /line 2 says that "two" is printed/);
});

test('a request of a page that fails is found', { skip: skipWithoutProgram('curl') }, async (t) => {
  const { shell } = examplesOf(['sh', 'curl -s http://127.0.0.1:1/ || true']);
  await assert.rejects(runShell(shell, await placeWithoutTill(t)), /has failed requests/);
});

/** For examples that need no Till. */
async function placeWithoutTill(t: Parameters<typeof openPlace>[0]): Promise<ExamplePlace> {
  const nowhere = 'http://127.0.0.1:1';
  return openPlace(t, { url: nowhere, sandboxUrl: nowhere, databaseUrl: '', dataDir: undefined });
}
