import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import { makeForeignAccount, pay } from '../support/foreign-account.ts';
import { dumpRows } from '../support/imports.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { runTill } from '../support/run-till.ts';
import { projectFolder } from '../support/till-in-child.ts';

function environmentOf({ databaseUrl, processorUrl }: Pick<Backend, 'databaseUrl' | 'processorUrl'>) {
  return {
    DATABASE_URL: databaseUrl,
    PROCESSOR_API_BASE: processorUrl,
    PROCESSOR_SECRET_KEY: 'sk_test_till',
  };
}

test('till import shows what it does and what it leaves out, and a dry run writes nothing', async (t) => {
  const backend = await startBackend(t);
  await makeForeignAccount(backend);
  const guest = await pay(backend.stripe, undefined);
  const till = (...args: readonly string[]) => runTill(environmentOf(backend), ...args);
  const before = await dumpRows(backend);
  const args = ['import', '--external-id-from', 'metadata.user', '--rate=100'];
  const foreseen = await till(...args, '--dry-run');
  assert.equal(await dumpRows(backend), before);
  const done = await till(...args);
  assert.equal(done.code, 0, done.stderr);
  const counted = (text: string) =>
    [...text.matchAll(/^(\w+(?: \w+)?) +([\d ]+)$/gm)].map(([, name, counts = '']) => [
      name,
      ...counts.trim().split(/ +/).map(Number),
    ]);
  assert.deepEqual(counted(done.stdout), [
    ['plans', 2, 2, 0, 0, 0],
    ['customers', 2, 2, 0, 0, 0],
    ['external ids', 2, 2, 0, 0, 0],
    ['subscriptions', 3, 3, 0, 0, 0],
    ['invoices', 4, 4, 0, 0, 0],
    ['payments', 8, 7, 0, 0, 1],
    ['refunds', 1, 1, 0, 0, 0],
    ['disputes', 1, 1, 0, 0, 0],
  ]);
  assert.match(done.stdout, new RegExp(`^Skipped payment ${guest}: It has no customer\\.\n`));
  assert.match(done.stdout, /\nThe import is finished\.\n {16,}found/);
  assert.match(done.stderr, /^plans +2 found, 2 adopted, 0 updated, 0 unchanged, 0 skipped\ncustomers /);
  assert.deepEqual(counted(foreseen.stdout), counted(done.stdout));
  assert.match(foreseen.stdout, /Nothing was written\.\n/);

  const lines = (await till(...args, '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const { found, adopted, updated, unchanged, skipped } of lines.filter(
    ({ type }) => type === 'progress',
  ))
    assert.equal(found, adopted + updated + unchanged + skipped);
  assert.deepEqual(
    lines.filter(({ type }) => type === 'skipped'),
    [{ type: 'skipped', kind: 'payment', id: guest, reason: 'It has no customer.' }],
  );
  assert.partialDeepStrictEqual(lines.at(-1), {
    type: 'finished',
    isDryRun: false,
    counts: [{ kind: 'plan', found: 2, adopted: 0, updated: 0, unchanged: 2, skipped: 0 }],
  });

  await backend.sql(`update till.processor_account set account_id = 'acct_other'`);
  for (const more of [[], ['--dry-run']]) {
    const refused = await till(...args, ...more);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^till: this database belongs to the processor account acct_other/);
  }
});

test('a wrong option of till import is named', async () => {
  for (const [option, message] of [
    ['--rate=0', /^--rate must be a whole number from 1 to 100\.\n\nUsage: till import /],
    ['--external-id-from=user', /^--external-id-from must be metadata\.KEY/],
    ['--external-id-from=metadata.', /^--external-id-from must be metadata\.KEY/],
  ] as const) {
    const { code, stdout, stderr } = await runTill({}, 'import', option);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, message);
  }
});

test('till import continues after its process was killed', async (t) => {
  const backend = await startBackend(t);
  await makeForeignAccount(backend);
  const proxy = await startProcessorProxy(backend);
  const environment = environmentOf({ ...backend, processorUrl: proxy.url });
  proxy.hold('/v1/invoices', 'GET');
  const child = spawn(process.execPath, ['src/cli/bin.mjs', 'import', '--json'], {
    cwd: projectFolder,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const output = child.stdout.toArray();
  await Promise.race([proxy.nextHeld(), exited]);
  assert.equal(child.exitCode, null);
  child.kill('SIGKILL');
  await exited;
  const lines = Buffer.concat(await output)
    .toString()
    .trim()
    .split('\n');
  const shown: { type: string; kind: string }[] = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    shown.map(({ type, kind }) => `${type} ${kind}`),
    ['progress plan', 'progress customer', 'progress subscription'],
  );
  proxy.releaseAll();
  const { code, stdout, stderr } = await runTill(environment, 'import', '--rate=100');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Continuing the import that began at \S+ and was interrupted\.\ninvoices /);
  assert.match(stdout, /\nsubscriptions +3 +3 +0 +0 +0\n/);
});
