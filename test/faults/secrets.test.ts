import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createClient } from '@redis/client';
import { startEmbeddedPostgres } from '#runtime/embedded-postgres.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import type { Answer, Client } from '../support/client.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { createPrerequisites, creationCases, type Prerequisites } from '../support/creation-cases.ts';
import { dumpTables } from '../support/dump-tables.ts';
import { effort } from '../support/effort.ts';
import { silentLogger } from '../support/log-capture.ts';
import { createPaidPayment, saveCard } from '../support/objects.ts';
import { type RedisServer, skipWithoutRedis, startOwnRedis } from '../support/redis-server.ts';
import { startTill } from '../support/till.ts';
import type { TillInChild } from '../support/till-in-child.ts';

interface Scene {
  readonly backend: Backend;
  readonly till: TillInChild;
  readonly dataDir: string;
  readonly postgres: { readonly url: string; stop(): Promise<void> };
  readonly redis: RedisServer;
}

/** What the merchant sends to the bank is between the two. */
const evidence = 'Ada Lovelace signed for it';

test('no client secret is ever written, and no card and no evidence of a dispute: not to a table, the cache, the data folder, or a log', {
  skip: skipWithoutRedis(),
}, async (t) => {
  const scene = await setScene(t);
  const { backend, till } = scene;
  const responses = await runEveryFlow(scene);
  const secrets = await secretsOf(backend, responses);
  const requestId = String(responses.find(({ status }) => status >= 400)?.body['requestId']);
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
  const current = {
    'the tables': paymentIntentId,
    'the data folder': paymentIntentId,
    'the output': requestId,
  };
  for (const [place, text] of Object.entries(current)) {
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
  for (const text of [...(await fingerprintsOf(backend)), evidence]) {
    for (const [place, bytes] of Object.entries(places))
      assert.ok(!bytes.some((part) => part.includes(text)), `a card or evidence is in ${place}`);
  }
});

async function setScene(t: TestContext): Promise<Scene> {
  const backend = await startBackend(t, { delivery: 'running' });
  const dataDir = await mkdtemp(join(tmpdir(), 'till-secrets-'));
  backend.atEnd(() => rm(dataDir, { recursive: true, force: true }));
  copyCluster(dataDir);
  const postgres = await startEmbeddedPostgres({
    dataDir,
    logger: silentLogger,
    settings: { fsync: 'off', log_statement: 'all' },
  });
  backend.atEnd(() => postgres.stop());
  const redis = await startOwnRedis();
  assert(redis);
  backend.atEnd(() => redis.stop());
  const till = await startTill({
    in: 'child',
    on: backend,
    environment: {
      LOG_LEVEL: 'trace',
      DATA_DIR: dataDir,
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      // The rate limit is what the cache holds.
      RATE_LIMIT_PER_MINUTE: '100000',
    },
  });
  return { backend, till, dataDir, postgres, redis };
}

const kinds = ['none', 'error', 'reset_before', 'reset_after'] as const;
/** In the short form there is one round, in which each creation meets one kind. In the long form each meets all. */
const rounds = effort<readonly (typeof kinds)[number][]>({ short: kinds.slice(0, 1), long: kinds });

/** Creations, their replays, every way in which they fail, what follows on them, and the webhooks of all that. */
async function runEveryFlow({ backend, till }: Scene): Promise<readonly Answer[]> {
  const responses: Answer[] = [];
  const send: Client['tryPost'] = async (path, body, key) => {
    const response = await till.tryPost(path, body, key);
    responses.push(response);
    return response;
  };
  for (const [round, kind] of rounds.entries()) {
    const prerequisites = await createPrerequisites(backend, { tryPost: send });
    for (const [place, creation] of creationCases.entries()) {
      const operation = creation.processorOperation;
      const met = kinds[(round + place) % kinds.length] ?? 'none';
      if (met !== 'none') await backend.setFault({ operation, kind: met });
      for (let repetition = 0; repetition < 2; repetition += 1) {
        const { status } = await send(creation.path(prerequisites), creation.body(prerequisites), kind);
        assert.equal(status, creation.status);
      }
      await backend.setFault({ operation, kind: 'error', status: 402 });
      const { status } = await send(
        creation.path(prerequisites),
        creation.body(prerequisites),
        `${kind}-refused`,
      );
      assert.ok(status === 409 || status === 422, String(status));
      await backend.clearFaults();
    }
    const { customerId, planId } = prerequisites;
    const trial = { customerId, planId, trialPeriodDays: 7, trialEndWithoutCard: 'pause' };
    const created = await send('/subscriptions', trial, `${kind}-trial`);
    const again = await send('/subscriptions', trial, `${kind}-trial`);
    assert.equal(again.body['setupClientSecret'], created.body['setupClientSecret']);
    assert.equal(created.body['clientSecret'], null);
    assert.match(String(created.body['setupClientSecret']), /_secret_/);
    assert(isPayment(created.body['subscription']));
    const { body: waiting } = await send('/payments', { customerId, amount: 900, currency: 'eur' });
    assert(isPayment(waiting['payment']));
    // The secrets again: of an invoice, of the setup of a card, and of a payment.
    for (const path of [
      `/subscriptions/${prerequisites.subscriptionId}`,
      `/subscriptions/${created.body['subscription'].id}`,
      `/payments/${waiting['payment'].id}`,
    ]) {
      const { body } = await send(`${path}/client-secret`, {});
      assert.match(String(body['clientSecret']), /_secret_/);
      assert.equal((await till.tryPatch(path, { metadata: { kind } }, `${kind}${path}`)).status, 200);
    }
    await payWith(backend, send, prerequisites, `${kind}-pay`);
    await send('/payments', { customerId, amount: 1, currency: 'eur' });
    await send('/payments', { customerId, amount: 'much', currency: 'eur' });
  }
  await saveCards(till, backend, responses);
  await disputePayment(till, backend);
  const open = responses.flatMap(({ body }) => (isPayment(body['payment']) ? [body['payment'].id] : []));
  for (const id of new Set(open)) await send(`/payments/${id}/cancel`, {});
  await backend.control('delivery/flush');
  return responses;
}

/** A payment of a subscription is declined, needs authentication, and succeeds. Each is repeated. */
async function payWith(
  { stripe }: Backend,
  send: Client['tryPost'],
  { unpaidSubscriptionId, cardId }: Prerequisites,
  key: string,
): Promise<void> {
  const customer = String((await stripe.paymentMethods.retrieve(cardId)).customer);
  const attach = async (card: string) => (await stripe.paymentMethods.attach(card, { customer })).id;
  for (const [paymentMethodId, expected] of [
    [await attach('pm_card_chargeCustomerFail'), 402],
    [await attach('pm_card_authenticationRequired'), 402],
    [cardId, 200],
  ] as const)
    for (let repetition = 0; repetition < 2; repetition += 1) {
      const path = `/subscriptions/${unpaidSubscriptionId}/pay`;
      const { status } = await send(path, { paymentMethodId }, `${key}-${paymentMethodId}`);
      assert.equal(status, expected);
    }
}

/** Saves cards with and without 3-D Secure, makes one the default, and removes it. Some requests are refused. */
async function saveCards(till: TillInChild, backend: Backend, responses: Answer[]): Promise<void> {
  const { customerId, planId } = await createPrerequisites(backend, till);
  const customer = { id: customerId };
  const path = `/customers/${customerId}/payment-methods`;
  const { paymentMethodId } = await saveCard({ ...till, ...backend }, customer);
  const waiting = await saveCard({ ...till, ...backend }, customer, 'pm_card_authenticationRequiredOnSetup');
  await backend.control(`setup_intents/${waiting.setupIntentId}/authenticate`, { result: 'succeeded' });
  const { status } = await till.call('PUT', `/customers/${customerId}/default-payment-method`, {
    paymentMethodId,
  });
  assert.equal(status, 200);
  const { body: trial } = await till.tryPost('/subscriptions', { customerId, planId, trialPeriodDays: 7 });
  assert.equal((await till.call('DELETE', `${path}/${paymentMethodId}`)).status, 409);
  assert(isPayment(trial['subscription']));
  await till.call('DELETE', `/subscriptions/${trial['subscription'].id}`);
  assert.equal((await till.call('DELETE', `${path}/${paymentMethodId}`)).status, 204);
  responses.push(await till.tryPost(path, {}, 'save'), await till.tryPost(path, {}, 'save'));
}

/** A payment is disputed, and the merchant responds. */
async function disputePayment(till: TillInChild, backend: Backend): Promise<void> {
  const payment = await createPaidPayment({ ...till, ...backend }, { card: 'pm_card_createDispute' });
  await backend.control('clock', { advanceSeconds: 0 });
  const { data } = await backend.stripe.disputes.list({ payment_intent: payment.processorPaymentIntentId });
  assert.equal(data.length, 1);
  for (const { id } of data)
    await backend.stripe.disputes.update(id, {
      evidence: { customer_signature: evidence, uncategorized_text: evidence },
    });
}

/** What the processor says about the cards beyond what Till shows. */
async function fingerprintsOf({ stripe }: Backend): Promise<readonly string[]> {
  const { data } = await stripe.paymentMethods.list({ limit: 100 });
  const fingerprints = data.flatMap(({ card }) => card?.fingerprint ?? []);
  assert.ok(new Set(fingerprints).size >= 2);
  return [...new Set(fingerprints)];
}

function isPayment(value: unknown): value is { readonly id: string } {
  return typeof value === 'object' && value !== null && 'id' in value;
}

/** Those that the service returned, and every other that it may have received. */
async function secretsOf({ stripe }: Backend, responses: readonly Answer[]): Promise<readonly string[]> {
  const answered = responses
    .flatMap(({ body }) => [body['clientSecret'], body['setupClientSecret']])
    .filter((secret) => typeof secret === 'string');
  const intents = await stripe.paymentIntents.list({ limit: 100 });
  const setups = await stripe.setupIntents.list({ limit: 100 });
  const all = [...intents.data, ...setups.data].flatMap(({ client_secret }) => client_secret ?? []);
  assert.ok(new Set(answered).size >= 10 && all.length >= new Set(answered).size);
  return [...new Set([...answered, ...all])];
}

async function dumpRedis(url: string): Promise<string> {
  const client = createClient({ url });
  await client.connect();
  const dumps = [];
  for (const key of await client.keys('*')) {
    const type = await client.type(key);
    // It has expired since it was listed.
    if (type === 'none') continue;
    // Another type has to be read another way; until there is one, it must not go unread.
    assert.equal(type, 'string', key);
    dumps.push(key, await client.get(key));
  }
  await client.close();
  return dumps.join('\n');
}
