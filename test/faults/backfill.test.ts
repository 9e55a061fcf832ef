/** After an upgrade, rows that lack what only the new release mirrors are completed, without a resync by hand. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { schemaNumber } from '#core/platform/migrate.ts';
import { BackfillStore } from '#engine/sync/backfill-store.ts';
import { migrationsFolder } from '#runtime/composition/compose-database.ts';
import { type Backend, type Sql, startBackend } from '../support/backend.ts';
import { assertMirrored, readMirroredIds } from '../support/checks/mirrors.ts';
import { effort } from '../support/effort.ts';
import { runImport } from '../support/imports.ts';
import { createCustomer, createPaidPayment, createPlan } from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import type { TillInChild } from '../support/till-in-child.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { until } from '../support/until.ts';
import { startRig } from './rig/rig.ts';

const schema = await schemaNumber(migrationsFolder);

/** Fields as a release leaves them that does not mirror them. A refund has none that can be empty. */
const incomplete: Readonly<Record<string, string>> = {
  customer: 'update till.customers set name = null, phone = null',
  plan: `update till.plans set features = '{}', group_name = null`,
  payment: 'update till.payments set payment_method = null, description = null',
  dispute: `update till.payments set dispute = dispute || '{"reason": null}' where dispute is not null`,
  refund: 'select 1',
  subscription: `update till.subscriptions
    set default_payment_method_id = null, canceled_at = null, ended_at = null, processor_latest_invoice_id = null`,
  invoice: `update till.invoices
    set number = null, invoice_pdf_url = null, period_start = null, period_end = null, covers_until = null`,
};

/** As the migration does that adds a field. */
async function request(sql: Sql, ...kinds: readonly string[]): Promise<void> {
  for (const resource of kinds) await sql('select till.request_backfill($1, $2)', [resource, schema]);
}

async function pendingKinds(sql: Sql): Promise<readonly string[]> {
  const rows = await sql<{ resource: string }>(
    'select resource from till.backfills where ended_at is null order by resource',
  );
  return rows.map(({ resource }) => resource);
}

async function createEverything(till: TillInProcess): Promise<void> {
  const customer = await createCustomer(till, { phone: '+4912345678' });
  const plan = await createPlan(till, { interval: 'day', features: { sso: true }, group: 'base' });
  await subscribe(till, { plan, customerId: customer.id });
  const { id } = await subscribe(till);
  await till.call('DELETE', `/subscriptions/${id}`);
  const payment = await createPaidPayment(till, { customerId: customer.id, description: 'A book' });
  await createPaidPayment(till, { card: 'pm_card_createDispute' });
  await till.settle();
  await till.call('POST', `/payments/${payment.id}/refund`, { amount: 500 });
  await till.settle();
}

test('completes rows of every kind, writes events about what it completed, and then rests', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  await createEverything(till);
  const { sql, stripe } = backend;
  await sql(`insert into till.processor_account (livemode) values (false) on conflict do nothing`);
  const ids = await readMirroredIds(stripe);
  await assertMirrored(stripe, sql, ids);
  for (const statement of Object.values(incomplete)) await sql(statement);
  await assert.rejects(assertMirrored(stripe, sql, ids));
  const eventsBefore = await countEvents(sql);

  await request(sql, ...Object.keys(incomplete));
  assert.equal(await till.services.backfills.run(), true);
  await assertMirrored(stripe, sql, ids);
  assert.deepEqual(await pendingKinds(sql), []);
  assert.ok((await countEvents(sql)) > eventsBefore);
  assert.equal(await till.count('mirror_drift_total'), 0, 'nothing has drifted');

  const calls = proxy.seen.length;
  assert.equal(await till.services.backfills.run(), true);
  assert.equal(proxy.seen.length, calls, 'nothing is left to do');
  await request(sql, 'invoice');
  await till.services.backfills.run();
  const { backfills } = await till.services.backfills.read();
  const invoices = backfills.find(({ resource }) => resource === 'invoice');
  assert.deepEqual([invoices?.changed, invoices?.skipped], [0, 0], 'complete rows stay as they are');
  assert.notEqual(invoices?.endedAt, null);
});

async function countEvents(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }>(
    `select count(*)::integer as count from till.events where cause ->> 'kind' = 'resync'`,
  );
  return row?.count ?? 0;
}

/** More than one page. */
const customerCount = 110;

/** A Till with many customers without their names, whose lists of customers are held back. */
async function withCustomers(t: TestContext) {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const customers = Array.from({ length: customerCount }, (_, index) => ({
    ...{ email: `${index}@example.com`, name: `Customer ${index}` },
  }));
  await backend.control('fixtures', { customers });
  await runImport(till);
  // Rows of the same second would need a read each.
  await backend.control('clock', { advanceSeconds: 60 });
  const { sql } = backend;
  await sql(`insert into till.processor_account (livemode) values (false) on conflict do nothing`);
  await sql('update till.customers set name = null');
  await request(sql, 'customer');
  proxy.hold('/v1/customers', 'GET');
  const run = () => till.services.backfills.run();
  return { backend, proxy, till, run };
}

async function countUnnamed({ sql }: Pick<Backend, 'sql'>): Promise<number> {
  const [row] = await sql<{ count: number }>(
    'select count(*)::integer as count from till.customers where name is null',
  );
  return row?.count ?? 0;
}

test('continues after the last page of a run that ended, in one process at a time', async (t) => {
  const { backend, proxy, till, run } = await withCustomers(t);
  const calls = proxy.seen.length;
  const running = run();
  running.catch(() => {});
  (await proxy.nextHeld()).release();
  const second = await proxy.nextHeld();
  assert.equal(await run(), false, 'another run leaves it to the first');
  assert.equal(await countUnnamed(backend), customerCount - 100);
  // The run loses its job before it stores the second page, as after a failover.
  await backend.sql(`update till.jobs set run = -1 where name = 'backfill'`);
  proxy.releaseAll();
  second.release();
  await assert.rejects(running, /another run took over/);

  assert.equal(await run(), true);
  assert.equal(await countUnnamed(backend), 0);
  const { backfills } = await till.services.backfills.read();
  assert.partialDeepStrictEqual(backfills, [{ compared: customerCount, skipped: 0 }]);
  assert.equal(proxy.seen.length - calls, 3, 'two pages, and the second again');
  const messages = till.lines.map(({ msg }) => msg);
  assert.ok(messages.includes('backfill resumed') && messages.includes('backfill completed'), `${messages}`);
});

test('starts over if the object where it continues is gone', async (t) => {
  const { backend, proxy, run } = await withCustomers(t);
  proxy.releaseAll();
  await backend.sql(`update till.backfills set cursor = 'cus_gone', compared = 100`);
  await assert.rejects(run(), { code: 'processor_rejected' });
  assert.equal(await run(), true);
  assert.equal(await countUnnamed(backend), 0);
});

test('waits for processes of an older release, and begins again after each of them', async (t) => {
  const { backend, proxy, till, run } = await withCustomers(t);
  const startOlder = () => startTill({ in: 'process', on: backend, schema: schema - 1 });
  const olderFromBefore = await startOlder();
  const calls = proxy.seen.length;
  assert.equal(await run(), false);
  assert.equal(proxy.seen.length, calls);
  assert.equal((await till.services.backfills.read()).olderProcesses, 1);
  assert.equal(await olderFromBefore.services.backfills.run(), true, 'an older release does not try');
  await olderFromBefore.stop();

  const running = run();
  running.catch(() => {});
  (await proxy.nextHeld()).release();
  const second = await proxy.nextHeld();
  const older = await startOlder();
  // It writes what it knows of a customer on the page that was read before.
  await backend.sql(`update till.customers set name = null where email = '${customerCount - 1}@example.com'`);
  proxy.releaseAll();
  second.release();
  await assert.rejects(running, /begins again/);
  await older.stop();
  await backend.control('clock', { advanceSeconds: 60 });
  assert.equal(await run(), true);
  assert.equal(await countUnnamed(backend), 0);

  // A rollback, and the upgrade after it.
  await (await startOlder()).stop();
  assert.deepEqual(await pendingKinds(backend.sql), ['customer']);
  await backend.sql('update till.customers set name = null');
  await backend.control('clock', { advanceSeconds: 60 });
  assert.equal(await run(), true);
  assert.equal(await countUnnamed(backend), 0);
});

test('a new database has nothing to complete', async (t) => {
  const { sql } = await startBackend(t);
  await request(sql, 'customer');
  assert.deepEqual(await pendingKinds(sql), []);
});

test('an upgrade completes every row while requests run, although its processes are killed', async (t) => {
  const rig = await startRig(t, { processes: effort({ short: 1, long: 2 }) });
  const load = rig.startLoad();
  await load.progressed(10);
  const olderRelease = await announceRelease(rig.databaseUrl, schema - 1);
  // As an older release leaves them. The API does not show this field, so that the events need not show its absence.
  const empty = 'update till.invoices set covers_until = null where covers_until is not null returning 1';
  await until(async () => (await rig.sql(empty)).length > 0);
  await request(rig.sql, ...backfilled);
  const restart = async () => {
    for (const till of rig.tills) till.kill();
    return Promise.all(rig.tills.map((till) => till.child()));
  };
  const waiting = await restart();
  await Promise.any(
    waiting.map((till) => till.logged('backfill waiting for processes of an older release to stop')),
  );
  await load.progressed(10);
  await olderRelease.end();
  const working = await restart();
  await Promise.any(working.map((till) => till.logged('backfill completed')));
  const completing = await restart();
  if ((await pendingKinds(rig.sql)).length > 0)
    await Promise.any(completing.map((till) => loggedEnd(till, backfilled.at(-1) ?? '')));
  await load.progressed(10);
  await rig.check(load, { failures: [0, 503], killed: true });
});

/** In the order of their completion. */
const backfilled = ['customer', 'plan', 'subscription', 'invoice', 'payment', 'refund', 'dispute'];

async function loggedEnd(till: Pick<TillInChild, 'logged'>, kind: string): Promise<void> {
  for (let count = 1; count <= backfilled.length; count += 1)
    if ((await till.logged('backfill completed', count))['resource'] === kind) return;
}

/** A session that shows a process of this release. */
async function announceRelease(url: string, number: number): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await new BackfillStore(number).announce({
    query: async (text, values = []) => (await client.query(text, [...values])).rows,
  });
  return client;
}
