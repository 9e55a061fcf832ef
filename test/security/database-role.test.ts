import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrate } from '#core/platform/migrate.ts';
import { startBackend } from '../support/backend.ts';
import { silentLogger } from '../support/log-capture.ts';
import {
  type CustomerBody,
  confirmPayment,
  createPayment,
  createSubscription,
  readPayment,
} from '../support/objects.ts';
import { runTill } from '../support/run-till.ts';
import { createTestDatabase, runOnServer } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';
import { eventOf } from '../support/webhook-events.ts';
import { startWholeTill } from '../support/whole-till.ts';

interface Roles {
  /** The address as the role that owns the schema, and as the one that the service runs as. */
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  /** Runs the statements that docs/security.md tells the owner to run. */
  grant(): Promise<void>;
}

/** Two roles of no special right at all, and a database that belongs to the first; nothing is in it. */
async function makeRoles(url: string): Promise<Roles> {
  const [owner, service] = ['owner', 'service'].map((name) => `${name}_${randomUUID().replaceAll('-', '')}`);
  const as = (role: string | undefined) => url.replace(/\/\/[^@]*@/, `//${role}:password@`);
  await runOnServer(
    url,
    `drop schema if exists till cascade; create role ${owner} login password 'password';
     create role ${service} login password 'password'; alter database ${databaseOf(url)} owner to ${owner}`,
  );
  const [, documented = ''] =
    /```sql\n([^`]*)```/.exec(readFileSync('docs/security.md', 'utf8')) ?? assert.fail('there are no grants');
  return {
    ownerUrl: as(owner),
    serviceUrl: as(service),
    grant: () => runOnServer(as(owner), documented.replaceAll('till_service', String(service))),
  };
}

test('the service does all of its work as a role that owns nothing', async (t) => {
  const backend = await startBackend(t);
  const roles = await makeRoles(backend.databaseUrl);
  assert.match(await migrateByCommand(roles.ownerUrl), /newest schema/);
  await roles.grant();
  const till = await startTill({ in: 'process', on: backend, databaseUrl: roles.serviceUrl });
  const customer = await till.post<CustomerBody>('/customers', { email: 'ada@example.com' });
  const payment = await createPayment(till, { customerId: customer.id });
  await createSubscription(till, { customerId: customer.id });
  await confirmPayment(till, payment);
  await till.settle();
  assert.equal((await readPayment(till, payment)).status, 'succeeded');
  await till.post(`/payments/${payment.id}/refund`);
  await till.services.sweeper.sweep();
  await till.services.recovery.run();
  await till.services.resync.all();
  assert.equal((await till.fetch(`/api/v1/customers/${customer.id}`, { method: 'DELETE' })).status, 204);
  await till.services.erasure.run();

  // A week is created, filled, aged and dropped; one of its events failed and is kept.
  const old = `to_timestamp(${Math.floor(Date.now() / 1_000) - 200 * 86_400})`;
  await till.database.query(`select till.make_weeks('webhook_events', ${old}, ${old})`);
  await till.take(eventOf('balance.available'));
  await till.database.query(
    `update till.webhook_events set created_at = ${old}, state = 'failed' where object_id is null`,
  );
  const weeks = `select count(*) as count from pg_inherits where inhparent = 'till.webhook_events'::regclass`;
  const [before] = await till.database.query<{ count: number }>(weeks);
  await till.services.retention.run();
  assert.deepEqual(await till.database.query(weeks), [{ count: Number(before?.count) - 1 }]);
  const kept = `select count(*) as count from till.webhook_events_other where state = 'failed'`;
  assert.deepEqual(await till.database.query(kept), [{ count: 1 }]);

  for (const forbidden of [
    'create table till.mine ()',
    'create schema mine',
    'drop table till.webhook_events_other',
    'alter table till.payments disable trigger all',
    'truncate till.payments',
    'delete from till.migrations',
    `select till.detach_webhook_week('payments', 1)`,
    `select till.drop_detached_webhook_week('payments')`,
    'select passwd from pg_catalog.pg_shadow',
    `copy till.customers to program 'true'`,
  ]) {
    await assert.rejects(
      till.database.query(forbidden),
      /permission denied|must be owner|is not a week/,
      forbidden,
    );
  }
  assert.deepEqual(
    till.lines.filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  );
});

test('a service whose role may not migrate starts on the newest schema, and says what to do on an older one', async (t) => {
  const database = await createTestDatabase('empty');
  t.after(() => database.drop());
  const roles = await makeRoles(database.url);
  const folder = await mkdtemp(join(tmpdir(), 'till-role-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const environment = {
    DATABASE_URL: roles.serviceUrl,
    API_KEY: 'key-for-the-role-test',
    DATA_DIR: folder,
  };
  await assert.rejects(startWholeTill(environment), /0001_installation\.sql is missing.*till migrate/);
  await migrate({ url: roles.ownerUrl, folder: 'migrations', logger: silentLogger });
  await roles.grant();
  const till = await startWholeTill(environment);
  t.after(() => till.stop());
  assert.equal((await fetch(`${till.url}/health`)).status, 200);
});

async function migrateByCommand(url: string): Promise<string> {
  const { code, stdout, stderr } = await runTill({ DATABASE_URL: url }, 'migrate');
  assert.equal(code, 0, stderr);
  return stdout;
}

function databaseOf(url: string): string {
  return /\/(test_\w+)\?/.exec(url)?.[1] ?? assert.fail('the address names no test database');
}
