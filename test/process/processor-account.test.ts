import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Database } from '#core/platform/postgres.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { compareAccount } from '../../src/processor/account/compare-account.ts';
import { startAdapter } from '../processor/adapter.ts';
import { connectProcessor, type SandboxFault } from '../support/backend.ts';
import { testKey } from '../support/client.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { freePort } from '../support/free-port.ts';
import { captureLog } from '../support/log-capture.ts';
import { readProblem } from '../support/problem.ts';
import { runTill } from '../support/run-till.ts';
import { createTestDatabase, openPool } from '../support/test-database.ts';
import { startWholeTill, type WholeTill } from '../support/whole-till.ts';

interface Stage {
  readonly databaseUrl: string;
  readonly folder: string;
  readonly sql: (text: string) => Promise<readonly Record<string, unknown>[]>;
  /** The environment of a service on the stage's database, with a processor at this address. */
  readonly on: (processorUrl: string, secretKey?: string) => Record<string, string>;
  readonly sandbox: (accountId: string, port?: number) => Promise<Sandbox>;
  readonly start: (environment: Record<string, string>) => Promise<WholeTill>;
}

async function setStage(t: TestContext): Promise<Stage> {
  const ends: (() => unknown)[] = [];
  t.after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const database = await createTestDatabase();
  ends.push(() => database.drop());
  const folder = await mkdtemp(join(tmpdir(), 'till-account-'));
  ends.push(() => rm(folder, { recursive: true, force: true }));
  const pool = openPool({ connectionString: database.url, max: 1 });
  ends.push(() => pool.end());
  const own = { DATABASE_URL: database.url, DATA_DIR: folder, API_KEY: testKey };
  return {
    databaseUrl: database.url,
    folder,
    sql: async (text) => (await pool.query(text)).rows,
    on: (processorUrl, secretKey = 'sk_test_account') => ({
      ...own,
      PROCESSOR_API_BASE: processorUrl,
      PROCESSOR_SECRET_KEY: secretKey,
      PROCESSOR_WEBHOOK_SECRET: 'whsec_account',
    }),
    sandbox: async (accountId, port = 0) => {
      const sandbox = await startSandbox({ port, accountId });
      ends.push(() => sandbox.close());
      return sandbox;
    },
    start: async (environment) => {
      const till = await startWholeTill({ ...own, ...environment });
      ends.push(() => till.stop());
      return till;
    },
  };
}

function createCustomer(till: WholeTill, idempotencyKey = 'customer-1'): Promise<Response> {
  const body = { email: 'ada@example.com' };
  return till.call('POST', '/customers', body, { 'idempotency-key': idempotencyKey });
}

const remembered = 'select account_id, livemode from till.processor_account';

async function setFault({ url }: Sandbox, fault: SandboxFault): Promise<void> {
  await connectProcessor(url).setFault(fault);
}

describe('at a start', () => {
  test('the account and mode are remembered, and a start with the same ones succeeds', async (t) => {
    const stage = await setStage(t);
    const sandbox = await stage.sandbox('acct_one');
    const first = await stage.start(stage.on(sandbox.url));
    assert.deepEqual(await stage.sql(remembered), [{ account_id: 'acct_one', livemode: false }]);
    assert.equal((await createCustomer(first)).status, 201);
    await first.stop();
    const second = await stage.start(stage.on(sandbox.url, 'sk_test_another_key_of_it'));
    assert.equal((await createCustomer(second, 'customer-2')).status, 201);
  });

  test('another account is refused with one message that names both and the command', async (t) => {
    const stage = await setStage(t);
    await (await stage.start(stage.on((await stage.sandbox('acct_one')).url))).stop();
    const other = await stage.sandbox('acct_two');
    await assert.rejects(stage.start(stage.on(other.url)), ({ message }: Error) => {
      assert.match(message, /acct_one in test mode.*acct_two in test mode.*till adopt-account/);
      assert.doesNotMatch(message, /sk_test_/);
      return true;
    });
    assert.deepEqual(await stage.sql(remembered), [{ account_id: 'acct_one', livemode: false }]);
  });

  test('another mode is refused even if the processor cannot be reached', async (t) => {
    const stage = await setStage(t);
    await (await stage.start(stage.on((await stage.sandbox('acct_one')).url))).stop();
    const started = stage.start(stage.on('http://127.0.0.1:1', 'sk_live_account'));
    await assert.rejects(started, /acct_one in test mode.*in live mode.*adopt-account/);
  });

  test('a database that was used with the embedded sandbox refuses the secret key of a real account', async (t) => {
    const stage = await setStage(t);
    await (await stage.start({})).stop();
    const started = stage.start(stage.on((await stage.sandbox('acct_real')).url));
    await assert.rejects(started, /acct_sandbox in test mode.*acct_real in test mode/);
  });
});

test('a server that does not support the call is still used: only the mode is compared', async (t) => {
  const stage = await setStage(t);
  const sandbox = await stage.sandbox('acct_one');
  await setFault(sandbox, { operation: 'account.retrieve', kind: 'error', status: 404, times: 1 });
  const till = await stage.start(stage.on(sandbox.url));
  assert.ok(till.lines.some(({ msg, level }) => level === 'warn' && /only the mode/.test(msg)));
  assert.equal((await createCustomer(till)).status, 201);
});

describe('a restricted processor key that may not read its account', () => {
  const forbidden: SandboxFault = { operation: 'account.retrieve', kind: 'error', status: 403, times: 100 };

  test('is compared by its mode alone, with a warning, and a full secret key adds the account later', async (t) => {
    const stage = await setStage(t);
    const sandbox = await stage.sandbox('acct_one');
    await setFault(sandbox, forbidden);
    const restricted = await stage.start(stage.on(sandbox.url, 'rk_test_account'));
    assert.ok(restricted.lines.some(({ msg, level }) => level === 'warn' && /only the mode/.test(msg)));
    assert.equal((await createCustomer(restricted)).status, 201);
    await restricted.stop();
    assert.deepEqual(await stage.sql(remembered), [{ account_id: null, livemode: false }]);
    const wrongMode = stage.start(stage.on(sandbox.url, 'rk_live_account'));
    await assert.rejects(wrongMode, /an unknown account in test mode.*in live mode/);

    await connectProcessor(sandbox.url).clearFaults();
    await (await stage.start(stage.on(sandbox.url))).stop();
    assert.deepEqual(await stage.sql(remembered), [{ account_id: 'acct_one', livemode: false }]);
    await setFault(sandbox, forbidden);
    const again = await stage.start(stage.on(sandbox.url, 'rk_test_account'));
    assert.equal((await createCustomer(again, 'customer-2')).status, 201);
  });

  test('a full processor key that is refused is not treated as a restricted one: nothing is remembered', async (t) => {
    const stage = await setStage(t);
    const sandbox = await stage.sandbox('acct_one');
    await setFault(sandbox, { ...forbidden, status: 401 });
    const till = await stage.start(stage.on(sandbox.url));
    await readProblem(await createCustomer(till), 502, 'processor_misconfigured');
    assert.deepEqual(await stage.sql(remembered), []);
  });
});

describe('a processor that cannot be reached at the start', () => {
  test('the service starts; calls are 503 until the account is compared; the same request then goes through', async (t) => {
    const stage = await setStage(t);
    const port = await freePort();
    const till = await stage.start(stage.on(`http://127.0.0.1:${port}`));
    const refused = await createCustomer(till);
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    await readProblem(refused, 503, 'processor_unavailable');
    assert.equal((await fetch(`${till.url}/health`)).status, 200);

    await stage.sandbox('acct_one', port);
    await till.logged('processor account verified');
    assert.deepEqual(await stage.sql(remembered), [{ account_id: 'acct_one', livemode: false }]);
    assert.equal((await createCustomer(till)).status, 201);
  });

  test('a start does not wait for a processor that hangs', async (t) => {
    const stage = await setStage(t);
    const sandbox = await stage.sandbox('acct_one');
    await setFault(sandbox, { operation: 'account.retrieve', kind: 'hang', times: 100 });
    const till = await stage.start(stage.on(sandbox.url));
    await readProblem(await createCustomer(till), 503, 'processor_unavailable');
    await connectProcessor(sandbox.url).clearFaults();
    await till.logged('processor account verified');
    assert.equal((await createCustomer(till)).status, 201);
  });

  test('a different account that is found later is logged, calls are 502, and no event of it is taken in', async (t) => {
    const stage = await setStage(t);
    await (await stage.start(stage.on((await stage.sandbox('acct_one')).url))).stop();
    const position = 'select read_until from till.recovery';
    const before = await stage.sql(position);
    const port = await freePort();
    const till = await stage.start(stage.on(`http://127.0.0.1:${port}`));
    const other = await stage.sandbox('acct_two', port);
    await fetch(`${other.url}/v1/customers`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_test_other' },
      body: 'email=stranger@example.com',
    });
    const line = await till.logged('processor account mismatch');
    assert.equal(line.level, 'error');
    assert.match(String(line['difference']), /acct_one in test mode.*acct_two in test mode/);
    for (let times = 0; times < 2; times += 1)
      await readProblem(await createCustomer(till), 502, 'processor_misconfigured');
    assert.deepEqual(await stage.sql('select id from till.webhook_events'), []);
    assert.deepEqual(await stage.sql(position), before, 'the list of events was not read');
    assert.deepEqual(await stage.sql(remembered), [{ account_id: 'acct_one', livemode: false }]);
    const list: unknown = await (
      await fetch(`${other.url}/v1/customers`, { headers: { authorization: 'Bearer sk_test_other' } })
    ).json();
    assert.equal(Object(list).data.length, 1, 'nothing was created there');
  });
});

test('a database that cannot hold the account stops the start', async (t) => {
  const stage = await setStage(t);
  await stage.sql('drop table till.processor_account');
  await assert.rejects(stage.start(stage.on((await stage.sandbox('acct_one')).url)), /processor_account/);
});

test('processes that meet different accounts at first contact agree on one, and the others get an error that says so', async (t) => {
  const stage = await setStage(t);
  const { logger } = captureLog();
  const database = new Database({ url: stage.databaseUrl, poolSize: 10, logger });
  t.after(() => database.close());
  const ids = ['acct_1', 'acct_2', 'acct_3', 'acct_4'];
  const sandboxes = await Promise.all(ids.map((id) => stage.sandbox(id)));
  const differences = await Promise.all(
    sandboxes.map(({ url }) => compareAccount({ database, logger }, startAdapter(t, new URL(url)).processor)),
  );
  const [row] = await stage.sql(remembered);
  assert.deepEqual(
    differences.map((difference) => difference === undefined),
    ids.map((id) => id === row?.['account_id']),
  );
});

describe('till adopt-account', () => {
  test('accepts another account on purpose and says what changed; resync refuses one that was not accepted', async (t) => {
    const stage = await setStage(t);
    const [one, two] = [await stage.sandbox('acct_one'), await stage.sandbox('acct_two')];
    const first = await runTill(stage.on(one.url), 'adopt-account');
    assert.deepEqual([first.code, first.stdout], [0, 'Stripe account: none → acct_one in test mode\n']);

    const refused = await runTill(stage.on(two.url), 'resync', '--all');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /acct_one in test mode.*acct_two in test mode/);
    assert.equal((await runTill(stage.on(one.url), 'resync', '--all')).code, 0);

    const adopted = await runTill(stage.on(two.url), 'adopt-account');
    assert.equal(adopted.stdout, 'Stripe account: acct_one in test mode → acct_two in test mode\n');
    const till = await stage.start(stage.on(two.url));
    assert.equal((await createCustomer(till)).status, 201);
  });

  test('works while the embedded parts do not run, and fails if the processor cannot be asked', async (t) => {
    const { folder } = await setStage(t);
    copyCluster(folder);
    const embedded = { DATA_DIR: folder, SANDBOX_PORT: String(await freePort()) };
    const { code, stdout, stderr } = await runTill(embedded, 'adopt-account');
    assert.deepEqual([code, stdout], [0, 'Stripe account: none → acct_sandbox in test mode\n'], stderr);
    const real = {
      ...embedded,
      PROCESSOR_SECRET_KEY: 'sk_test_account',
      PROCESSOR_WEBHOOK_SECRET: 'whsec_account',
      PROCESSOR_API_BASE: 'http://127.0.0.1:1',
    };
    const failed = await runTill(real, 'adopt-account');
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /The processor is unavailable/);
  });
});
