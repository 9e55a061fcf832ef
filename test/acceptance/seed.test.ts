import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { findRunningPostgres } from '#runtime/embedded-postgres.ts';
import { connectProcessor, openSql } from '../support/backend.ts';
import { programFile } from '../support/bundle.ts';
import { assertMirrored, listAll, readMirroredIds } from '../support/checks/mirrors.ts';
import { assertEventsComplete } from '../support/checks/outbox.ts';
import { testKey } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { freePort } from '../support/free-port.ts';
import type { CustomerBody, PageBody } from '../support/objects.ts';
import { runTill } from '../support/run-till.ts';
import { startTill } from '../support/till.ts';
import { projectFolder, quickCommand } from '../support/till-in-child.ts';

const { customers, daysMin } = effort({
  short: { customers: 3, daysMin: 15 },
  long: { customers: 200, daysMin: 300 },
});
const scratch = await mkdtemp(join(tmpdir(), 'till-seed-'));
const dataDir = join(scratch, 'data');
after(() => rm(scratch, { recursive: true, force: true, maxRetries: 10 }));
/** That of the service that runs afterwards. */
const sandboxPort = await freePort();
const settings = { DATA_DIR: dataDir, SANDBOX_PORT: String(sandboxPort) };
const seed = (...args: readonly string[]) => runTill(settings, 'seed', '--json', ...args);

/** Kills a run while it creates the data. */
async function killRun(): Promise<void> {
  const args = [programFile('src/cli/cli.ts'), 'seed', '--customers', String(customers)];
  const environment = { ...process.env, ...settings };
  const child = spawn(process.execPath, args, { cwd: projectFolder, env: environment, stdio: 'ignore' });
  const exited = once(child, 'exit');
  while (!existsSync(join(dataDir, 'postgres/cluster.unfinished-demo/sandbox/journal.jsonl'))) {
    assert.equal(child.exitCode, null);
    await setTimeout(20);
  }
  child.kill('SIGKILL');
  await exited;
}

test('a run that was killed has changed nothing, and can be repeated', async () => {
  await killRun();
  assert.ok(!existsSync(join(dataDir, 'postgres/cluster')));
  const { code, stdout, stderr } = await seed('--customers', String(customers));
  assert.deepEqual([code, stderr], [0, '']);
  const { seconds, payments, ...created } = JSON.parse(stdout);
  assert.deepEqual([created.seed, created.plans, created.aside], [1, 12, null]);
  assert.ok(payments > customers * 3, `${payments} payments in ${seconds} s`);
});

test('demo data is added to other data only on request, and the data of a seed once', async () => {
  const refused = await seed('--seed', '2');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^till: DATA_DIR holds other data\. Add/);
  const added = await seed('--seed', '2', '--customers', '1', '--add');
  assert.deepEqual([added.code, added.stderr], [0, '']);
  assert.ok(existsSync(JSON.parse(added.stdout).aside), 'the database without it is kept');
  const again = await seed('--seed', '2', '--add');
  assert.match(again.stderr, /demo data of seed 2 already exists/);
  assert.deepEqual(
    (await readdir(join(dataDir, 'postgres'))).filter((name) => name.includes('unfinished')),
    [],
  );
});

test('demo data is refused beside real parts, and for malformed numbers', async () => {
  const real = { PROCESSOR_SECRET_KEY: 'sk_test_seed', PROCESSOR_WEBHOOK_SECRET: 'whsec_seed' };
  for (const environment of [real, { DATABASE_URL: 'postgresql://127.0.0.1:1/none' }]) {
    const { code, stderr } = await runTill({ DATA_DIR: dataDir, ...environment }, 'seed');
    assert.equal(code, 1);
    assert.match(stderr, /^till: Demo data is only for the embedded/);
  }
  for (const args of [
    ['--customers', '0'],
    ['--customers', '1e3'],
    ['--seed', '-1'],
  ])
    assert.equal((await seed(...args)).code, 2, args.join(' '));
});

test('the year is in lists, events and the overview, and all of it equals the data of the processor', async (t) => {
  const environment = { ...settings, API_KEYS: testKey, EVENT_RETENTION_DAYS: '36500' };
  const till = await startTill({ in: 'child', environment, for: t, command: quickCommand });
  const { stripe } = connectProcessor(`http://127.0.0.1:${sandboxPort}`);
  const postgres = await findRunningPostgres(dataDir);
  t.after(() => postgres.stop());
  const sql = openSql(postgres.url, (end) => t.after(end));

  const deleted = await sql<{ id: string }>(
    'select processor_customer_id as id from till.customers where deleted_at is not null',
  );
  const ids = await readMirroredIds(
    stripe,
    deleted.map(({ id }) => id),
  );
  await assertMirrored(stripe, sql, ids);
  await assertEventsComplete(till, sql);

  const today = new Date().toISOString().slice(0, 10);
  const firstDay = new Date(Date.now() - 364 * 86_400_000).toISOString().slice(0, 10);
  const overview = await till.get<{
    readonly subscriptionsSince: string;
    readonly currencies: readonly { readonly days: readonly Day[] }[];
  }>(`/overview?from=${firstDay}&to=${today}`);
  const days = new Set(
    overview.currencies.flatMap((one) => one.days.filter(({ volume }) => volume > 0).map(({ date }) => date)),
  );
  assert.ok(days.size > daysMin, `${days.size} days with volume`);
  assert.ok(overview.subscriptionsSince <= firstDay);
  const active = new Set(
    overview.currencies.flatMap((one) => one.days.map(({ subscriptions }) => subscriptions?.active)),
  );
  assert.ok(active.size > 2 && !active.has(undefined), 'the number of subscriptions changes over the year');

  const invoices = await sql<{ page: string | null; pdf: string | null }>(
    'select hosted_invoice_url as page, invoice_pdf_url as pdf from till.invoices',
  );
  const links = invoices.flatMap(({ page, pdf }) => [page, pdf]).filter((link) => link !== null);
  assert.ok(links.length > customers, `${links.length} links`);
  for (const link of links) {
    const response = await fetch(link);
    await response.body?.cancel();
    assert.equal(response.status, 200, link);
  }

  const listed = await till.get<PageBody<CustomerBody>>('/customers?limit=100');
  const created = new Map(
    (await listAll(stripe.customers.list({ limit: 100 }))).map((one) => [one.id, one.created]),
  );
  for (const { processorCustomerId: id, createdAt } of listed.data)
    assert.ok(Math.abs(Date.parse(createdAt) / 1_000 - (created.get(id) ?? 0)) < 60, `${createdAt} of ${id}`);
});

interface Day {
  readonly date: string;
  readonly volume: number;
  readonly subscriptions: { readonly active: number } | null;
}
