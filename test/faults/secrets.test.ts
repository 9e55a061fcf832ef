import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createClient } from '@redis/client';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { creationCases, type Ground, layGround } from '../support/creations.ts';
import { dumpTables } from '../support/dump-tables.ts';
import { type Answer, type Lab, type Post, postTo, startLab } from '../support/fault-lab.ts';
import { freePort, type RedisServer, skipWithoutRedis, startOwnRedis } from '../support/redis-server.ts';
import { startTillProcess, type TillProcess, testKey } from '../support/till-process.ts';

interface Scene {
  readonly lab: Lab;
  readonly till: TillProcess;
  readonly post: Post;
  readonly dataDir: string;
  readonly postgres: { readonly url: string; stop(): Promise<void> };
  readonly redis: RedisServer;
}

test('no client secret is ever written: not to a table, the cache, the data folder, or a log', {
  skip: skipWithoutRedis(),
}, async (t) => {
  const scene = await setScene(t);
  const { lab, till } = scene;
  const answers = await runEveryFlow(scene);
  const secrets = await secretsOf(lab, answers);
  const requestId = String(answers.find(({ status }) => status >= 400)?.body['requestId']);
  const metrics = await (await fetch(`${till.url}/metrics`)).text();
  await till.stop();
  const tables = await dumpTables(scene.postgres.url);
  const cache = await dumpRedis(scene.redis.url);
  await scene.postgres.stop();
  const files = globSync('**', { cwd: scene.dataDir })
    .map((path) => join(scene.dataDir, path))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path));
  const places: Readonly<Record<string, readonly Buffer[]>> = {
    'the tables': [Buffer.from(tables)],
    'the cache': [Buffer.from(cache)],
    'the data folder': files,
    'the output': [Buffer.from(till.output())],
    'the metrics': [Buffer.from(metrics)],
  };
  // The search must be able to find: what surely is in each place is found there.
  const paymentIntentId = String(secrets[0]).replace(/_secret_.*/, '');
  const present = {
    'the tables': paymentIntentId,
    'the data folder': paymentIntentId,
    'the output': requestId,
  };
  for (const [place, text] of Object.entries(present)) {
    assert.ok(
      places[place]?.some((bytes) => bytes.includes(text)),
      `${text} should be in ${place}`,
    );
  }
  assert.ok(cache.length > 0);
  for (const secret of secrets) {
    const [, confidential = ''] = secret.split('_secret_');
    assert.ok(confidential.length >= 10);
    for (const [place, bytes] of Object.entries(places)) {
      assert.ok(!bytes.some((part) => part.includes(confidential)), `a client secret is in ${place}`);
    }
  }
});

async function setScene(t: TestContext): Promise<Scene> {
  const lab = await startLab(t);
  const dataDir = await mkdtemp(join(tmpdir(), 'till-secrets-'));
  lab.atEnd(() => rm(dataDir, { recursive: true, force: true }));
  copyCluster(dataDir);
  const postgres = await startEmbeddedPostgres({
    dataDir,
    logger: createLogger('silent'),
    settings: { fsync: 'off', log_statement: 'all' },
  });
  lab.atEnd(() => postgres.stop());
  const redis = await startOwnRedis();
  assert(redis);
  lab.atEnd(() => redis.stop());
  const port = await freePort();
  const endpoint = await lab.dashboard.webhookEndpoints.create({
    url: `http://127.0.0.1:${port}/webhooks/processor`,
    enabled_events: ['*'],
  });
  const till = await startTillProcess({
    PORT: String(port),
    API_KEYS: testKey,
    LOG_LEVEL: 'trace',
    DATA_DIR: dataDir,
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    PROCESSOR_SECRET_KEY: 'sk_test_secrets',
    PROCESSOR_API_BASE: lab.processorUrl,
    PROCESSOR_WEBHOOK_SECRET: String(endpoint.secret),
  });
  lab.atEnd(() => till.stop());
  return { lab, till, post: postTo(till.url, testKey), dataDir, postgres, redis };
}

/** Creations, their replays, every way in which they fail, what follows on them, and the webhooks of all that. */
async function runEveryFlow({ lab, post }: Scene): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const send: Post = async (path, body, key) => {
    const answer = await post(path, body, key);
    answers.push(answer);
    return answer;
  };
  const grounds: Ground[] = [];
  for (const kind of ['none', 'error', 'reset_before', 'reset_after'] as const) {
    const ground = await layGround(lab, send);
    grounds.push(ground);
    for (const creation of creationCases) {
      const operation = creation.processorOperation;
      if (kind !== 'none') await lab.misbehave({ operation, kind });
      for (let repetition = 0; repetition < 2; repetition += 1) {
        const { status } = await send(creation.path(ground), creation.body(ground), kind);
        assert.equal(status, creation.status);
      }
      await lab.misbehave({ operation, kind: 'error', status: 402 });
      const { status } = await send(creation.path(ground), creation.body(ground), `${kind}-refused`);
      assert.ok(status === 409 || status === 422, String(status));
      await lab.behave();
    }
    const { customerId, planId } = ground;
    const trial = { customerId, planId, trialPeriodDays: 7 };
    assert.equal((await send('/api/v1/subscriptions', trial)).body['clientSecret'], null);
    await send('/api/v1/payments', { customerId, amount: 1, currency: 'eur' });
    await send('/api/v1/payments', { customerId, amount: 'much', currency: 'eur' });
  }
  const open = answers.flatMap(({ body }) => (isPayment(body['payment']) ? [body['payment'].id] : []));
  for (const id of new Set(open)) await send(`/api/v1/payments/${id}/cancel`, {});
  await fetch(`${lab.processorUrl}/sandbox/delivery/flush`, { method: 'POST' });
  return answers;
}

function isPayment(value: unknown): value is { readonly id: string } {
  return typeof value === 'object' && value !== null && 'id' in value;
}

/** Those that the service answered with, and every other that it may have been shown. */
async function secretsOf({ dashboard }: Lab, answers: readonly Answer[]): Promise<readonly string[]> {
  const answered = answers.flatMap(({ body }) =>
    typeof body['clientSecret'] === 'string' ? [body['clientSecret']] : [],
  );
  const intents = await dashboard.paymentIntents.list({ limit: 100 });
  const all = intents.data.flatMap(({ client_secret }) => client_secret ?? []);
  assert.ok(new Set(answered).size >= 10 && all.length >= new Set(answered).size);
  return [...new Set([...answered, ...all])];
}

async function dumpRedis(url: string): Promise<string> {
  const client = createClient({ url });
  await client.connect();
  const dumps = [];
  for (const key of await client.keys('*')) {
    // Another type has to be read another way; until there is one, it must not go unread.
    assert.equal(await client.type(key), 'string', key);
    dumps.push(key, await client.get(key));
  }
  await client.close();
  return dumps.join('\n');
}
