import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createLifetime, type Lifetime } from '../support/backend.ts';
import { createClient, testKey } from '../support/client.ts';
import { startEventSink } from '../support/event-sink.ts';
import { createPayment, createSubscription } from '../support/objects.ts';
import { runTill } from '../support/run-till.ts';
import { createTestDatabase, openPool } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';
import { eventOf, signWebhook } from '../support/webhook-events.ts';
import { startWholeTill, type WholeTill } from '../support/whole-till.ts';

const webhookSecret = 'whsec_current';

interface Embedded {
  readonly till: WholeTill;
  readonly sandboxUrl: string;
  readonly databaseUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Controls of the sandbox itself. */
  control(path: string, body?: object): Promise<Record<string, unknown>>;
  sql<Row extends object>(text: string): Promise<readonly Row[]>;
}

/** A whole service with its embedded sandbox. */
async function startEmbedded(owner: Lifetime): Promise<Embedded> {
  const life = createLifetime();
  owner.after(() => life.end());
  const database = await createTestDatabase();
  life.after(() => database.drop());
  const folder = await mkdtemp(join(tmpdir(), 'till-reset-'));
  life.after(() => rm(folder, { recursive: true, force: true }));
  const environment = {
    DATABASE_URL: database.url,
    DATA_DIR: folder,
    API_KEYS: `tests:${testKey}`,
    RATE_LIMIT_PER_MINUTE: '0',
    EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true',
    PROCESSOR_WEBHOOK_SECRET: webhookSecret,
  };
  const till = await startWholeTill(environment);
  life.after(() => till.stop());
  const pool = openPool({ connectionString: database.url });
  life.after(() => pool.end());
  const { url: sandboxUrl } = await till.get<{ url: string }>('/sandbox');
  return {
    ...{ till, sandboxUrl, databaseUrl: database.url, environment },
    control: async (path, body = {}) => {
      const sent = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      const response = await fetch(`${sandboxUrl}/sandbox/${path}`, { method: 'POST', ...sent });
      return (await response.json()) as Record<string, unknown>;
    },
    sql: async (text) => (await pool.query(text)).rows,
  };
}

/** What the sandbox says about itself. */
async function readWorld({ sandboxUrl }: Embedded): Promise<Record<string, unknown>> {
  return (await (await fetch(`${sandboxUrl}/sandbox`)).json()) as Record<string, unknown>;
}

const reset = (till: WholeTill) => till.post<{ reset: boolean }>('/sandbox/reset');

/** Tables that have rows, without those of the installation. */
async function filledTables({ sql }: Embedded): Promise<readonly string[]> {
  const tables = await sql<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'till'::regnamespace and relkind = 'r' order by 1`,
  );
  const filled = [];
  for (const { name } of tables) {
    const [row] = await sql<{ has: boolean }>(`select exists (select from till.${name}) as has`);
    if (row?.has) filled.push(name.replace(/_\d{8}$/, ''));
  }
  return filled;
}

describe('a reset of the embedded sandbox and of Till', () => {
  const life = createLifetime();
  let embedded: Embedded;
  let till: WholeTill;
  before(async () => {
    embedded = await startEmbedded(life);
    till = embedded.till;
  });
  after(() => life.end());

  test('leaves nothing but the configuration and the audit log, and everything works again', async (t) => {
    const sink = await startEventSink(t);
    const endpoint = await till.post<{ id: string }>('/event-endpoints', { url: sink.url });
    const { key } = await till.post<{ key: string }>('/api-keys', { name: 'shop', scopes: ['write'] });
    const customer = { email: 'ada@example.com', externalId: 'user-1' };
    await till.post('/customers', customer);
    await till.post('/meters', { key: 'calls', name: 'Calls', resets: 'month' });
    await createSubscription(till);
    const payment = await createPayment(till);
    await till.post('/sandbox/clock', { advanceSeconds: 40 * 86_400 });
    await till.post('/sandbox/faults', { operation: 'refunds.create', kind: 'error' });
    const { now: at } = await till.get<{ now: string }>('/sandbox/clock');
    await till.post('/usage', {
      events: [{ id: 'u1', meter: 'calls', externalId: 'user-1', quantity: 3, at }],
    });
    await till.get('/overview');
    const feed = await till.get<{ nextCursor: string }>('/events?limit=1000');
    await until(async () => sink.received.length > 0);

    assert.deepEqual(await reset(till), { reset: true });
    assert.deepEqual(await filledTables(embedded), [
      ...['api_keys', 'audit_log', 'event_endpoints', 'event_seed', 'idempotency_claims', 'installation'],
      ...['jobs', 'migrations', 'overview_progress', 'processor_account', 'recovery', 'sandbox_resets'],
    ]);
    const clock = await till.get<{ offsetSeconds: number }>('/sandbox/clock');
    assert.equal(clock.offsetSeconds, 0);
    assert.deepEqual(await till.get('/sandbox/faults'), { faults: [] });
    for (const list of ['customers', 'payments', 'subscriptions', 'invoices'])
      assert.equal((await till.get<{ total: number }>(`/${list}`)).total, 0, list);
    assert.deepEqual(await till.get('/plans'), []);
    assert.equal((await till.tryGet(`/payments/${payment.id}`)).status, 404);

    // A reader goes on behind its place, and sees only what is new.
    const again = await till.post<{ id: string }>('/customers', customer);
    const shop = createClient(till, key);
    await createPayment(shop, { customerId: again.id });
    const { data: events } = await till.get<{ data: { type: string }[] }>(`/events?after=${feed.nextCursor}`);
    assert.deepEqual(events.map(({ type }) => type).slice(0, 2), ['customer.created', 'payment.created']);
    assert.equal((await till.get<{ id: string }>(`/event-endpoints/${endpoint.id}`)).id, endpoint.id);
    await createSubscription(till);
    const { data: entries } = await till.get<{ data: { action: string; outcome: number }[] }>('/audit-log');
    assert.ok(entries.some(({ action, outcome }) => action === 'resetSandbox' && outcome === 200));
    assert.ok(!till.lines.some(({ msg }) => String(msg).includes('recovery started')));
  });

  test('frees idempotency keys, except those of API keys and event endpoints', async () => {
    const customer = { email: 'ada@example.com' };
    const key = { name: 'other', scopes: ['read'] };
    const first = await till.tryPost('/customers', customer, 'same');
    const firstKey = await till.tryPost('/api-keys', key, 'same');
    await reset(till);
    const second = await till.tryPost('/customers', customer, 'same');
    assert.deepEqual([second.status, second.replayed], [201, false]);
    assert.notEqual(second.body['id'], first.body['id']);
    const secondKey = await till.tryPost('/api-keys', key, 'same');
    assert.deepEqual([secondKey.replayed, secondKey.body['id']], [true, firstKey.body['id']]);
  });

  test('lets readers that wait for events go on', async () => {
    const waiting = till.get<{ data: { type: string }[] }>('/events?waitSeconds=20&types=plan.created');
    await reset(till);
    const plan = { name: 'Pro', amount: 900, currency: 'eur', interval: 'month' };
    await till.post('/plans', plan);
    assert.deepEqual(
      (await waiting).data.map(({ type }) => type),
      ['plan.created'],
    );
  });

  test('needs the scope admin', async () => {
    const { key } = await till.post<{ key: string }>('/api-keys', {
      name: 'op',
      scopes: ['operate', 'write'],
    });
    assert.equal((await createClient(till, key).tryPost('/sandbox/reset', {})).status, 403);
  });

  test('of many at once happens, and each returns once both are empty', async () => {
    for (let round = 0; round < 3; round += 1) {
      const results = await Promise.all(
        Array.from({ length: 8 }, async () => {
          await till.post('/customers', { email: 'ada@example.com' });
          return reset(till);
        }),
      );
      assert.ok(results.every((one) => one.reset));
    }
    await reset(till);
    assert.equal((await till.get<{ total: number }>('/customers')).total, 0);
  });

  test('waits for requests that it finds, and those that come meanwhile wait for it', async () => {
    for (let round = 0; round < 5; round += 1) {
      await reset(till);
      const customers = Array.from({ length: 20 }, (_, index) =>
        till.tryPost('/customers', { email: `ada${index}@example.com` }),
      );
      const [, ...answers] = await Promise.all([reset(till), ...customers]);
      assert.ok(answers.every(({ status }) => status === 201));
      await until(
        async () => (await till.get<{ data: unknown[] }>('/webhook-events?state=pending')).data.length === 0,
      );
      const { data } = await till.get<{ data: { id: string }[] }>('/customers?limit=100');
      for (const { id } of data) await createPayment(till, { customerId: id });
    }
  });

  test('ends requests that a fault of the sandbox holds up', async () => {
    await till.post('/sandbox/faults', { operation: 'customers.create', kind: 'hang', times: 9 });
    const hanging = till.tryPost('/customers', { email: 'ada@example.com' });
    await until(async () => {
      const { faults } = await till.get<{ faults: { times: number }[] }>('/sandbox/faults');
      return faults[0]?.times !== 9;
    });
    await reset(till);
    await hanging;
  });

  test('makes webhooks of before that arrive later count no more', async () => {
    await reset(till);
    const send = (lastResetMs: unknown) => {
      const body = eventOf('customer.created', {}, { created: Math.floor(Date.now() / 1_000) });
      const headers = {
        'stripe-signature': signWebhook(body, webhookSecret),
        'till-sandbox-last-reset': String(lastResetMs),
      };
      return till.fetch('/webhooks/processor', { method: 'POST', body, headers });
    };
    const { lastResetMs } = await readWorld(embedded);
    const count = async () =>
      (await embedded.sql<{ count: number }>('select count(*)::int from till.webhook_events'))[0]?.count;
    assert.equal((await send(Number(lastResetMs) - 1)).status, 200);
    assert.equal(await count(), 0);
    assert.equal((await send(lastResetMs)).status, 200);
    assert.equal(await count(), 1);
  });
});

test('a reset of the sandbox alone warns, is named as the cause of failures, and is found by till doctor', async (t) => {
  const embedded = await startEmbedded(t);
  const { till, control } = embedded;
  const customer = await till.post<{ id: string }>('/customers', { email: 'ada@example.com' });
  const plan = await till.post<{ id: string }>('/plans', {
    ...{ name: 'Pro', amount: 900, currency: 'eur', interval: 'month' },
  });
  const examine = async () => {
    const environment = { ...embedded.environment, SANDBOX_PORT: new URL(embedded.sandboxUrl).port };
    const { stdout } = await runTill(environment, 'doctor', '--json');
    const { findings } = JSON.parse(stdout) as { findings: { text: string; fix: string; state: string }[] };
    return findings.filter(({ text }) => text.includes('reset')).map(({ state, fix }) => [state, fix]);
  };
  assert.deepEqual(await examine(), []);

  assert.match(String((await control('reset'))['warning']), /POST \/api\/v1\/sandbox\/reset/);
  const payment = { customerId: customer.id, amount: 900, currency: 'eur' };
  const refused = [
    await till.tryPost('/payments', payment),
    await till.tryPost('/subscriptions', { customerId: customer.id, planId: plan.id }),
    await till.tryPatch(`/customers/${customer.id}`, { name: 'Ada' }),
  ];
  for (const { status, body } of refused) {
    assert.deepEqual([status, body['code']], [502, 'processor_object_missing']);
    assert.match(
      String(body['detail']),
      /^The processor has no such \w+, .*\. The sandbox was reset without Till, .* POST \/api\/v1\/sandbox\/reset\.$/,
    );
  }
  assert.deepEqual(await examine(), [
    ['problem', 'Reset both with POST /api/v1/sandbox/reset. This deletes all rows.'],
  ]);

  await reset(till);
  assert.deepEqual(await examine(), []);
  const again = await till.post<{ id: string }>('/customers', { email: 'ada@example.com' });
  await till.post('/payments', { ...payment, customerId: again.id });
});

test('a sandbox that is not embedded cannot be reset with Till', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const { status, body } = await till.tryPost('/sandbox/reset', {});
  assert.deepEqual([status, body['code']], [404, 'not_found']);
  const { warning } = (await till.control('reset')) as { warning?: string };
  assert.equal(warning, undefined);
});
