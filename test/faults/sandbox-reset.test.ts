import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Stripe } from 'stripe';
import { connectProcessor, createLifetime } from '../support/backend.ts';
import { testKey } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { freePort } from '../support/free-port.ts';
import { createPayment } from '../support/objects.ts';
import { createTestDatabase, openPool } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';
import { quickCommand, type TillInChild } from '../support/till-in-child.ts';
import { until } from '../support/until.ts';
import { holdRows } from '../webhooks/row-lock.ts';

interface Installation {
  readonly databaseUrl: string;
  readonly sandboxUrl: string;
  readonly stripe: Stripe;
  sql<Row extends object>(text: string): Promise<readonly Row[]>;
  /** Starts the service that the sandbox is embedded in. */
  start(environment?: Readonly<Record<string, string>>): Promise<TillInChild>;
  /** Starts a service that uses the sandbox of the other one. */
  startBeside(): Promise<TillInChild>;
}

async function useInstallation(t: TestContext): Promise<Installation> {
  const life = createLifetime();
  t.after(() => life.end());
  const database = await createTestDatabase();
  life.after(() => database.drop());
  const folder = await mkdtemp(join(tmpdir(), 'till-reset-'));
  life.after(() => rm(folder, { recursive: true, force: true }));
  const sandboxPort = String(await freePort());
  const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
  const pool = openPool({ connectionString: database.url });
  life.after(() => pool.end());
  const shared = {
    DATABASE_URL: database.url,
    REDIS_URL: 'memory://',
    API_KEYS: `tests:${testKey}`,
    RATE_LIMIT_PER_MINUTE: '0',
    PROCESSOR_WEBHOOK_SECRET: 'whsec_current',
  };
  const start = (environment: Readonly<Record<string, string>>) =>
    startTill({ in: 'child', for: life, command: quickCommand, environment: { ...shared, ...environment } });
  return {
    ...{ databaseUrl: database.url, sandboxUrl, stripe: connectProcessor(sandboxUrl).stripe },
    sql: async (text) => (await pool.query(text)).rows,
    start: (environment = {}) => start({ DATA_DIR: folder, SANDBOX_PORT: sandboxPort, ...environment }),
    startBeside: () => start({ PROCESSOR_SECRET_KEY: 'sk_test_till', PROCESSOR_API_BASE: sandboxUrl }),
  };
}

/** Creates customers and their payments until it is told to stop. Every request is new to its connection. */
function startLoad(tills: readonly TillInChild[]) {
  let isStopped = false;
  const statuses = new Map<number, number>();
  const note = (status: number) => void statuses.set(status, (statuses.get(status) ?? 0) + 1);
  const work = async (till: TillInChild, worker: number) => {
    for (let round = 0; !isStopped; round += 1) {
      const email = `ada${worker}.${round}@example.com`;
      const { status, body } = await till.tryPost('/customers', { email });
      note(status);
      if (status !== 201) continue;
      const payment = { customerId: body['id'], amount: 900, currency: 'eur' };
      note((await till.tryPost('/payments', payment)).status);
    }
  };
  const working = tills.flatMap((till) => [0, 1, 2].map((worker) => work(till, worker)));
  return {
    statuses,
    stop: async () => {
      isStopped = true;
      await Promise.all(working);
    },
  };
}

/** Fails if Till has a row of an object that the sandbox does not have, or the other way round. */
async function assertConsistent({ sql, stripe }: Installation): Promise<void> {
  await until(async () => {
    const [row] = await sql<{ count: number }>(
      `select count(*)::int from till.webhook_events where state = 'pending'`,
    );
    return row?.count === 0;
  });
  const customers = await sql<{ id: string }>('select processor_customer_id as id from till.customers');
  const payments = await sql<{ id: string }>('select processor_payment_intent_id as id from till.payments');
  const idsOf = async (list: AsyncIterable<{ id: string }>) => {
    const ids = [];
    for await (const { id } of list) ids.push(id);
    return ids.sort();
  };
  assert.deepEqual(customers.map(({ id }) => id).sort(), await idsOf(stripe.customers.list({ limit: 100 })));
  assert.deepEqual(
    payments.map(({ id }) => id).sort(),
    await idsOf(stripe.paymentIntents.list({ limit: 100 })),
  );
}

const phaseOf = async ({ sql }: Installation) =>
  (await sql<{ phase: string }>('select phase from till.sandbox_resets'))[0]?.phase;

const countCustomers = async ({ sql }: Installation) =>
  (await sql<{ count: number }>('select count(*)::int from till.customers'))[0]?.count;

/** Whether the overview has counted all events, so that nothing but a reset writes where it has arrived. */
const isOverviewComplete = async ({ sql }: Installation) =>
  (await sql('select from till.overview_progress where position >= (select max(position) from till.events)'))
    .length > 0;

/** Resets while each process serves requests. */
async function resetUnderLoad(t: TestContext, on: Installation, tills: readonly TillInChild[]) {
  const [till] = tills;
  const load = startLoad(tills);
  const times = [];
  for (let round = 0; round < effort({ short: 8, long: 60 }); round += 1) {
    await until(async () => (await countCustomers(on)) !== 0);
    const beganAtMs = performance.now();
    assert.deepEqual(await till?.post('/sandbox/reset'), { reset: true });
    times.push(Math.round(performance.now() - beganAtMs));
  }
  await load.stop();
  await assertConsistent(on);
  // A payment of a customer of before is refused, and nothing else is.
  assert.deepEqual([...load.statuses.keys()].sort(), [201, 404], JSON.stringify([...load.statuses]));
  t.diagnostic(`resets took ${times.join(', ')} ms; ${JSON.stringify([...load.statuses])}`);
  const errors = tills.flatMap(({ lines }) => lines.filter(({ level }) => String(level) === 'error'));
  assert.deepEqual(errors, []);
  assert.equal((await tills.at(-1)?.tryPost('/sandbox/reset', {}))?.status, tills.length === 1 ? 200 : 404);
}

async function countAudited(till: TillInChild): Promise<number> {
  const { data } = await till.get<{ data: { action: string }[] }>('/audit-log?limit=100');
  return data.filter(({ action }) => action === 'resetSandbox').length;
}

/** Resets, and kills when only the deletion of all rows is left. Whatever serves then has finished the reset. */
async function killAmidReset(
  on: Installation,
  till: TillInChild,
  kill: (resetting: Promise<unknown>) => Promise<unknown>,
  serve: () => TillInChild | Promise<TillInChild> = () => till,
) {
  await till.post('/customers', { email: 'ada@example.com' });
  const before = await countAudited(till);
  await until(() => isOverviewComplete(on));
  // Only the deletion of all rows waits for it.
  const lock = await holdRows(on, 'lock table till.overview_progress in share mode');
  const resetting = till.tryPost('/sandbox/reset', {}).catch(() => 'cut');
  await lock.awaited(1);
  assert.equal(await phaseOf(on), 'resetting');
  await kill(resetting);
  await lock.release();
  const again = await serve();
  await resetting;
  await until(async () => (await phaseOf(on)) === 'none');
  assert.equal((await again.get<{ total: number }>('/customers')).total, 0);
  assert.equal(await countAudited(again), before + 1);
  await createPayment(again);
  await assertConsistent(on);
}

test('two processes of one service', async (t) => {
  const on = await useInstallation(t);
  const till = await on.start({ PROCESSES: '2' });
  await t.test('resets under load leave no row of before', (t) => resetUnderLoad(t, on, [till]));
  for (const [index, killed] of [1, 2].entries())
    await t.test(`a reset is finished if process ${killed} is killed in the middle`, () =>
      killAmidReset(on, till, async () => {
        const started = till.lines.findLast(
          ({ msg, process: number }) => msg === 'process started' && number === killed,
        );
        process.kill(Number(started?.['pid']), 'SIGKILL');
        await till.logged('process ended unexpectedly', index + 1);
      }),
    );
});

test('resets under load leave no row of before, with two processes of two services', async (t) => {
  const on = await useInstallation(t);
  await resetUnderLoad(t, on, [await on.start(), await on.startBeside()]);
});

test('a service that is killed', async (t) => {
  const on = await useInstallation(t);
  let till = await on.start();
  await t.test('while requests end, it has reset nothing', async () => {
    await till.post('/customers', { email: 'ada@example.com' });
    const lock = await holdRows(on, 'lock table till.customers in share mode');
    const creating = till.tryPost('/customers', { email: 'bob@example.com' }).catch(() => 'cut');
    await lock.awaited(1);
    const resetting = till.tryPost('/sandbox/reset', {}).catch(() => 'cut');
    await until(async () => (await phaseOf(on)) === 'pausing');
    await till.stop('SIGKILL');
    assert.deepEqual(await Promise.all([creating, resetting]), ['cut', 'cut']);
    await lock.release();
    till = await on.start();
    assert.equal(await phaseOf(on), 'none');
    assert.ok((await till.get<{ total: number }>('/customers')).total >= 1);
    await createPayment(till);
  });
  await t.test('in the middle, it finishes the reset at its next start', () =>
    killAmidReset(
      on,
      till,
      async (resetting) => {
        await till.stop('SIGKILL');
        assert.equal(await resetting, 'cut');
      },
      async () => {
        till = await on.start();
        return till;
      },
    ),
  );
  await t.test('nothing is reset while a session of the database reads the tables', async () => {
    await till.post('/customers', { email: 'ada@example.com' });
    const lock = await holdRows(on, 'lock table till.customers in access share mode');
    const { status, body } = await till.tryPost('/sandbox/reset', {});
    assert.deepEqual([status, body['code']], [503, 'sandbox_busy']);
    assert.equal(await phaseOf(on), 'none');
    await createPayment(till);
    await lock.release();
    await assertConsistent(on);
    await till.post('/sandbox/reset');
    assert.equal(await countCustomers(on), 0);
  });
});
