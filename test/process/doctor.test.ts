import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import type { Finding } from '#cli/doctor/finding.ts';
import { SecretBox } from '#engine/events/endpoints/endpoint-secret.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { startAdapter } from '../processor/adapter.ts';
import { connectProcessor } from '../support/backend.ts';
import { redisVariable } from '../support/redis-server.ts';
import { runTill } from '../support/run-till.ts';
import { createTestDatabase, runOnServer } from '../support/test-database.ts';

const database = await createTestDatabase();
after(() => database.drop());

const endpointIds = ['018f0000-0000-7000-8000-000000000001', '018f0000-0000-7000-8000-000000000002'];
const url = 'https://billing.example.com/webhooks/processor';

async function useSettings(t: TestContext) {
  const sandbox = await startSandbox({ port: 0 });
  t.after(() => sandbox.close());
  const redisUrl = process.env[redisVariable];
  return {
    sandbox,
    environment: {
      DATABASE_URL: database.url,
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
      PROCESSOR_SECRET_KEY: 'sk_test_hidden1',
      PROCESSOR_WEBHOOK_SECRET: 'whsec_hidden2',
      PROCESSOR_API_BASE: sandbox.url,
    },
  };
}

async function examine(environment: Record<string, string>, ...args: readonly string[]) {
  const { code, stdout, stderr } = await runTill(environment, 'doctor', '--json', ...args);
  assert.equal(stderr, '');
  assert.doesNotMatch(stdout, /hidden\d/);
  const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
  const of = (check: Finding['check']) => findings.filter((finding) => finding.check === check);
  return { code, findings, of, problems: findings.filter(({ state }) => state === 'problem') };
}

test('a complete installation has no problem, and one whose endpoint is disabled has', async (t) => {
  const { sandbox, environment } = await useSettings(t);
  const { stripe } = connectProcessor(sandbox.url);
  const before = await examine(environment);
  assert.deepEqual(
    before.problems.map(({ check, text }) => [check, text]),
    [['webhooks', 'Stripe has no webhook endpoint for a path /webhooks/processor.']],
  );
  assert.equal((await runTill(environment, 'webhooks', 'setup', '--url', url)).code, 0);
  const complete = await examine(environment, '--url', url);
  assert.deepEqual([complete.code, complete.problems], [0, []]);
  for (const check of ['settings', 'database', 'cache', 'processor', 'webhooks'] as const)
    assert.ok(complete.of(check).length > 0, check);
  assert.ok(complete.of('processor').every(({ state }) => state === 'ok'));
  const [endpoint] = (await stripe.webhookEndpoints.list()).data;
  await stripe.webhookEndpoints.update(String(endpoint?.id), { disabled: true });
  const disabled = await examine(environment);
  assert.equal(disabled.code, 1);
  assert.match(disabled.problems[0]?.text ?? '', /disabled/);
  const { code, stdout } = await runTill(environment, 'doctor');
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^problem {2}webhooks {3}The endpoint .* is disabled\.\n +→ Run "till webhooks setup/m,
  );
  assert.match(stdout, /\nProblems: 1\. Warnings: \d\.\n$/);
});

test('the account of the database is compared with that of the secret key', async (t) => {
  const { environment } = await useSettings(t);
  await runOnServer(
    database.url,
    "insert into till.processor_account (account_id, livemode) values ('acct_other', false)",
  );
  t.after(() => runOnServer(database.url, 'delete from till.processor_account'));
  const { of } = await examine(environment);
  assert.match(
    of('processor').find(({ state }) => state === 'problem')?.text ?? '',
    /acct_other in test mode/,
  );
});

test('secrets of event endpoints that are not encrypted with the first encryption key are counted', async (t) => {
  const { environment } = await useSettings(t);
  const keys = ['a', 'b'].map((letter) => `${letter.repeat(31)}-hidden5`);
  const [, sealed] = keys.map((key, index) =>
    new SecretBox([key]).seal('whsec_hidden6', endpointIds[index] ?? ''),
  );
  await runOnServer(
    database.url,
    `insert into till.event_endpoints (id, url, secret, replaced_secrets, position, created_at, updated_at) values
     ('${endpointIds[0]}', 'https://a.example.com/', 'plain:whsec_hidden6', jsonb_build_array(
       jsonb_build_object('secret', 'plain:whsec_hidden6', 'validUntil', now() + interval '1 hour'),
       jsonb_build_object('secret', 'plain:whsec_hidden6', 'validUntil', now() - interval '1 hour')), 0, now(), now()),
     ('${endpointIds[1]}', 'https://a.example.com/', '${sealed}', '[]', 0, now(), now())`,
  );
  t.after(() => runOnServer(database.url, 'delete from till.event_endpoints'));
  const textsOf = async (secretKeys: string) => {
    const { of } = await examine({ ...environment, EVENT_SECRET_KEYS: secretKeys });
    return of('database').flatMap(({ state, text }) =>
      text.includes('Secrets of') ? [`${state}: ${text}`] : [],
    );
  };
  const yet = 'Secrets of event endpoints that are not encrypted with the first key of EVENT_SECRET_KEYS yet';
  assert.deepEqual(await textsOf(String(keys[1])), [`warning: ${yet}: 2.`]);
  assert.deepEqual(await textsOf(keys.join(',')), [`warning: ${yet}: 3.`]);
  assert.deepEqual(await textsOf(String(keys[0])), [
    'problem: Secrets of event endpoints that no key in EVENT_SECRET_KEYS decrypts: 1.',
    `warning: ${yet}: 2.`,
  ]);
});

test('rows that an upgrade left incomplete are reported, with the progress', async (t) => {
  const { environment } = await useSettings(t);
  await runOnServer(
    database.url,
    `insert into till.backfills (resource, schema, compared, changed) values ('invoice', 1, 500, 7)`,
  );
  t.after(() => runOnServer(database.url, 'delete from till.backfills'));
  const { of } = await examine(environment);
  assert.deepEqual(
    of('database').flatMap(({ state, text }) => (text.includes('invoice') ? [`${state}: ${text}`] : [])),
    [
      'warning: Rows of the kind invoice lack fields of this release: 500 objects compared, 7 rows completed so far.',
    ],
  );
});

test('the moved clock of a sandbox is not reported as a problem of this machine', async (t) => {
  const { sandbox, environment } = await useSettings(t);
  const moved = await fetch(`${sandbox.url}/sandbox/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ advanceSeconds: 40 * 86_400 }),
  });
  assert.equal(moved.status, 200);
  const embedded = { DATA_DIR: '/nonexistent/till', SANDBOX_PORT: new URL(sandbox.url).port };
  for (const settings of [environment, embedded]) {
    const { of } = await examine(settings);
    assert.deepEqual(
      of('processor').filter(({ state }) => state !== 'ok'),
      [],
    );
    assert.match(of('processor')[0]?.text ?? '', /^The clock of the sandbox was moved by 3456000 seconds/);
  }
});

test('an empty database is distinguished from one that is down', async (t) => {
  const { environment } = await useSettings(t);
  const empty = await createTestDatabase('empty');
  t.after(() => empty.drop());
  const { of } = await examine({ ...environment, DATABASE_URL: empty.url });
  assert.match(of('database')[0]?.text ?? '', /is reachable/);
  const lacking = of('database').find(({ text }) => text.includes('migrations'));
  assert.match(lacking?.fix ?? '', /till migrate/);
  assert.ok(of('database').every(({ state }) => state !== 'problem'));
});

test('everything is checked although half of it is down or silent, and each part is one problem', async (t) => {
  const { environment } = await useSettings(t);
  // Accepts connections, and says nothing.
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const { code, problems } = await examine({
    ...environment,
    PORT: 'x',
    DATABASE_URL: `postgres://till:hidden3@127.0.0.1:${port}/till`,
    REDIS_URL: `redis://:hidden4@127.0.0.1:${port}`,
    PROCESSOR_API_BASE: 'http://127.0.0.1:1',
  });
  assert.equal(code, 1);
  assert.deepEqual(
    problems.map(({ check }) => check),
    ['settings', 'database', 'cache', 'processor'],
  );
  assert.ok(problems.every(({ fix }) => fix !== null));
});

test('without settings and without a service, missing embedded parts are not a problem', async () => {
  const { code, problems, of } = await examine({ DATA_DIR: '/nonexistent/till', SANDBOX_PORT: '1' });
  assert.deepEqual([code, problems], [0, []]);
  assert.deepEqual([of('database')[0]?.state, of('processor')[0]?.state], ['warning', 'warning']);
});

test('the adapter counts events that an endpoint has not accepted, and reads the time of the processor', async (t) => {
  const { sandbox } = await useSettings(t);
  const { stripe } = connectProcessor(sandbox.url);
  const { processor } = startAdapter(t, new URL(sandbox.url));
  const time = { since: new Date(Date.now() - 60_000), until: new Date(Date.now() + 60_000) };
  await stripe.webhookEndpoints.create({ url: 'http://127.0.0.1:1/x', enabled_events: ['customer.created'] });
  await stripe.products.create({ name: 'unheard' });
  assert.equal(await processor.events.countUndelivered(time), 0);
  await stripe.customers.create({});
  assert.equal(await processor.events.countUndelivered(time), 1);
  const readAt = await processor.readTime();
  assert.ok(readAt !== null && Math.abs(readAt.getTime() - Date.now()) < 60_000);
});
