import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { Stripe } from 'stripe';
import { findRunningPostgres } from '../../src/platform/embedded-postgres.ts';
import { freePort } from '../support/redis-server.ts';
import { projectFolder, startTillProcess, type TillProcess, testKey } from '../support/till-process.ts';
import { assertStillTold, tellEverything } from '../support/told-answers.ts';
import { all, assertMirrored } from '../webhooks/model/compare-mirrors.ts';
import { Trader } from './trader.ts';

/** Between two looks at a queue that empties by itself. */
const lookDelayMs = 50;
const looksMax = 1_200;

/** The blocks of commands in the document: back up, restore, resync. */
async function documentedCommands(): Promise<readonly [string, string, string]> {
  const document = await readFile(join(projectFolder, 'docs/backup-and-restore.md'), 'utf8');
  const [backUp = '', restore = '', resync = '', ...others] = [...document.matchAll(/```sh\n(.*?)```/gs)].map(
    ([, block]) => block,
  );
  assert.deepEqual(others, []);
  return [backUp, restore, resync];
}

/** Till with its embedded parts, stopped and started again on the same data. */
async function openShop(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'till-restore-'));
  const sandboxPort = await freePort();
  const environment = {
    DATA_DIR: join(folder, 'data'),
    BACKUP: join(folder, 'backup'),
    API_KEYS: testKey,
    SANDBOX_PORT: String(sandboxPort),
  };
  let till: TillProcess | undefined;
  t.after(async () => {
    await till?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${till?.url}/api/v1${path}`, {
      ...init,
      headers: { 'x-api-key': testKey, 'content-type': 'application/json', ...init.headers },
    });
  const stripe = new Stripe('sk_test_dashboard', {
    host: '127.0.0.1',
    port: sandboxPort,
    protocol: 'http',
    telemetry: false,
    maxNetworkRetries: 0,
  });
  const inspect = async <Result>(work: (pool: pg.Pool) => Promise<Result>) => {
    const postgres = await findRunningPostgres(environment.DATA_DIR);
    const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
    try {
      return await work(pool);
    } finally {
      await pool.end();
      await postgres.stop();
    }
  };
  return {
    ask,
    stripe,
    inspect,
    start: async () => {
      till = await startTillProcess(environment);
    },
    stop: async () => {
      assert.equal(await till?.stop(), 0);
    },
    run: async (commands: string) => {
      const options = { cwd: projectFolder, env: { ...process.env, ...environment } };
      return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], options)).stdout;
    },
    /** Until every event has been delivered and applied. */
    settle: () =>
      inspect(async (pool) => {
        for (let looks = 0; looks < looksMax; looks += 1) {
          const flushed = await fetch(`http://127.0.0.1:${sandboxPort}/sandbox/delivery/flush`, {
            method: 'POST',
            body: '{}',
          });
          assert.equal(flushed.status, 200);
          await pool.query(`update till.webhook_events set next_try_at = now()
            where state = 'pending' and next_try_at > now() and attempts > 0`);
          const { rows } = await pool.query(
            `select count(*)::int as count from till.webhook_events where state = 'pending'`,
          );
          if (rows[0].count === 0) return;
          await setTimeout(lookDelayMs);
        }
        assert.fail('the queue does not empty');
      }),
  };
}

test('a backup made and restored with the documented commands loses nothing that the processor knows', async (t) => {
  const [backUp, restore, resync] = await documentedCommands();
  const shop = await openShop(t);
  await shop.start();
  const traders = Array.from({ length: 2 }, (_, index) => new Trader(shop, index));
  await Promise.all(traders.map((trader) => trader.open()));
  await Promise.all(traders.map((trader) => trader.trade()));
  await shop.settle();
  await assert.rejects(shop.run(backUp), 'the copy of a running server is refused');
  await shop.stop();
  await shop.run(backUp);

  await shop.start();
  await Promise.all(traders.map((trader) => trader.trade()));
  await Promise.all(traders.map((trader) => trader.changeWhatWasThere()));
  await shop.settle();
  const deleted = traders.flatMap((trader) => trader.deleted);
  const told = await tellEverything(
    shop.ask,
    deleted.map(({ id }) => id),
  );
  await shop.stop();
  await shop.run(restore);

  await shop.start();
  assert.match(await shop.run(resync), /Compared all objects that the processor lists/);
  await shop.settle();
  await assertStillTold(shop.ask, told);
  for (const { id } of deleted) assert.equal((await shop.ask(`/customers/${id}`)).status, 404);
  const intents = await all(shop.stripe.paymentIntents.list({ limit: 100 }));
  const live = await all(shop.stripe.customers.list({ limit: 100 }));
  await shop.inspect(async (pool) => {
    await assertMirrored(
      shop.stripe,
      { query: async (text, values = []) => (await pool.query(text, [...values])).rows },
      {
        customers: new Set([...live.map(({ id }) => id), ...deleted.map((one) => one.processorCustomerId)]),
        paymentIntents: new Set(intents.filter(({ metadata }) => 'till_id' in metadata).map(({ id }) => id)),
      },
    );
    const { rows: forgotten } = await pool.query(
      `select events.id from till.webhook_events as events join till.customers on processor_customer_id = object_id
       where deleted_at is not null and personal_data <> 'none' and erase_at is null`,
    );
    assert.deepEqual(forgotten, [], 'whatever tells of a deleted customer is due to be erased');
  });
});
