/** A release upgrades the database under a service that is running: nothing is lost, and no process has to stop. */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { migrate } from '#core/platform/migrate.ts';
import { type Client, testKey } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { captureLog } from '../support/log-capture.ts';
import { createPayment } from '../support/objects.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { backendEnvironment, projectFolder } from '../support/till-in-child.ts';
import { startWholeTill, type WholeTill } from '../support/whole-till.ts';
import { OlderProcess } from './rig/older-process.ts';
import { startRig } from './rig/rig.ts';
import { seeds } from './rig/seeds.ts';

const migrationsFolder = join(projectFolder, 'migrations');
const migrations = (await readdir(migrationsFolder)).sort();
const { logger } = captureLog();
const roundsAfterwards = effort({ short: 3, long: 300 });
const extraMigrations = effort({ short: 1, long: 20 });

/** The newest migration of the first release. Its schema is the first that is upgraded. */
const firstSchema = '0018_sandbox_resets.sql';
const schemas = migrations.filter((name) => name >= firstSchema);
/** In the short form it is the first, whose upgrade runs them all, and the newest. */
const states = effort({ short: [...new Set([firstSchema, ...schemas.slice(-1)])], long: schemas });

for (const state of states)
  test(`upgrades from ${state} while an older process goes on`, async (t) => {
    const { url, client } = await databaseAt(t, state);
    const older = await OlderProcess.start(url);
    await older.progressed(1);
    const before = await older.read();
    for (const [table, rows] of Object.entries(before))
      assert.ok(rows.length > 1, `there is data in ${table}`);

    const till = await startOn(t, url);
    await migrate({ url, folder: await folderWith(t, 1), logger });
    await older.progressed(roundsAfterwards);
    const after = await older.read();
    await older.stop();

    for (const [table, rows] of Object.entries(before)) {
      const kept = new Set(after[table]);
      assert.deepEqual(
        rows.filter((row) => !kept.has(row)),
        [],
        `rows of ${table} that are gone or changed`,
      );
    }
    await assertServes(till, client);
  });

test('a release that is older than the database goes on serving, and starts', async (t) => {
  const rig = await startRig(t);
  const load = rig.startLoad();
  for (let count = 1; count <= extraMigrations; count += 1) {
    await load.progressed(10);
    await migrate({ url: rig.databaseUrl, folder: await folderWith(t, count), logger });
  }
  await load.progressed(10);
  const late = await startWholeTill(backendEnvironment(rig));
  rig.atEnd(() => late.stop());
  await late.logged('database schema newer than this release');
  assert.equal((await fetch(`${late.url}/health`)).status, 200);
  // A request that deadlocks with a migration may get a 503.
  await rig.check(load, { failures: [503] });
});

/** The kind of change that a later release may make: it adds, to every table that the load writes to. */
function extraMigration(count: number): string {
  const tables = ['customers', 'plans', 'payments', 'refunds', 'subscriptions', 'invoices', 'webhook_events'];
  return `set local lock_timeout = '5s';
    ${tables.map((table) => `alter table till.${table} add column extra_${count} text not null default 'extra';`).join('\n')}
    create table till.extra_${count} (id uuid primary key, payment_id uuid references till.payments);`;
}

/** The migrations of a later release. */
async function folderWith(t: TestContext, extraCount: number): Promise<string> {
  const path = await folder(t);
  await cp(migrationsFolder, path, { recursive: true });
  for (let count = 1; count <= extraCount; count += 1)
    await writeFile(join(path, `${9_000 + count}_extra.sql`), extraMigration(count));
  return path;
}

/** A database as the migrations up to this one left it, with a row of everything. */
async function databaseAt(t: TestContext, state: string) {
  const database = await createTestDatabase('empty');
  const path = await folder(t);
  const known = migrations.filter((name) => name <= state);
  for (const name of known) await cp(join(migrationsFolder, name), join(path, name));
  await migrate({ url: database.url, folder: path, logger });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (const name of known) await client.query(seeds[name.slice('0000_'.length, -'.sql'.length)] ?? '');
  t.after(async () => {
    await client.end();
    await database.drop();
  });
  return { url: database.url, client };
}

async function startOn(t: TestContext, url: string): Promise<WholeTill> {
  const environment = { API_KEYS: testKey, DATABASE_URL: url, DATA_DIR: await folder(t) };
  const till = await startWholeTill(environment);
  t.after(() => till.stop());
  return till;
}

/** Lists show what was there before, and new objects can be created. */
async function assertServes(till: Client, client: pg.Client): Promise<void> {
  for (const list of ['customers', 'payments', 'subscriptions', 'invoices']) {
    const { total } = await till.get<{ readonly total: number }>(`/${list}`);
    const { rows } = await client.query<{ count: string }>(`select count(*) from till.${list}`);
    assert.equal(total, Number(rows[0]?.count), `the total of ${list}`);
  }
  await createPayment(till);
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'till-upgrade-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}
