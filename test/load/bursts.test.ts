/**
 * Bursts of creations reach a processor that has the limits of Stripe's test mode: 25 calls a second. All succeed, as
 * fast as the limit allows, and almost no call is refused.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type Backend, startBackend } from '../support/backend.ts';
import type { Client } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { skipWithoutRedis, startOwnRedis } from '../support/redis-server.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

interface Burst {
  readonly name: string;
  readonly count: number;
  /** Undefined: all at once. */
  readonly perSecond?: number;
  readonly environment: Readonly<Record<string, string>>;
  /** Two processes of Till that share the limit through Redis. */
  readonly areTwo?: true;
  /** How many calls may be refused. */
  readonly refusedMax: number;
}

const stated = { PROCESSOR_REQUESTS_PER_SECOND: '25' };
const bursts: readonly Burst[] = [
  { name: '60 at once', count: 60, environment: stated, refusedMax: 8 },
  ...effort<readonly Burst[]>({
    short: [],
    long: [
      { name: '60 at once, at two processes', count: 60, environment: stated, areTwo: true, refusedMax: 8 },
      { name: '60 at once, without the setting', count: 60, environment: {}, refusedMax: 40 },
      { name: '40 a second for 5 s', count: 200, perSecond: 40, environment: stated, refusedMax: 20 },
      {
        name: '40 a second for 5 s, at two processes',
        ...{ count: 200, perSecond: 40, environment: stated, areTwo: true, refusedMax: 20 },
      },
    ],
  }),
];

for (const burst of bursts)
  test(`creating customers, ${burst.name}: all succeed`, {
    skip: burst.areTwo === true && skipWithoutRedis(),
  }, async (t) => {
    const { failed, seconds, refused } = await fire(t, burst);
    t.diagnostic(`${failed} failed, ${refused} refused calls, ${seconds.toFixed(1)} s`);
    assert.equal(failed, 0);
    assert.ok(refused <= burst.refusedMax, `${refused} refused calls`);
  });

/** More than can begin within six seconds. */
const tooMany = effort({ short: 0, long: 250 });

test('of a burst that is too large, what is refused has created nothing, and succeeds when it is repeated', {
  skip: tooMany === 0 && 'only in the long form',
}, async (t) => {
  const { till, backend } = await start(t, { environment: stated });
  const create = (index: number) =>
    till.call(
      'POST',
      '/customers',
      { email: `many-${index}@example.com` },
      { 'idempotency-key': `many-${index}` },
    );
  let left = Array.from({ length: tooMany }, (_, index) => index);
  let created = 0;
  for (let round = 0; left.length > 0 && round < 5; round += 1) {
    const responses = await Promise.all(
      left.map(async (index) => ({ index, response: await create(index) })),
    );
    const refused = responses.filter(({ response }) => response.status !== 201);
    for (const { response } of refused) {
      assert.equal(response.status, 503);
      assert.ok(Number(response.headers.get('retry-after')) >= 1);
    }
    if (round === 0) assert.ok(refused.length > 0 && refused.length < tooMany, `${refused.length} refused`);
    created += responses.length - refused.length;
    left = refused.map(({ index }) => index);
    const emails = refused.map(({ index }) => `many-${index}@example.com`);
    const existing = new Set((await listCustomers(backend)).map(({ email }) => email));
    assert.deepEqual(
      emails.filter((email) => existing.has(email)),
      [],
    );
  }
  assert.deepEqual([created, (await listCustomers(backend)).length], [tooMany, tooMany]);
});

test('a burst whose process is killed creates each customer once, when its calls are repeated', {
  skip: tooMany === 0 && 'only in the long form',
}, async (t) => {
  const { till, startAgain, proxy, backend } = await start(t, { environment: stated });
  const indexes = Array.from({ length: 100 }, (_, index) => index);
  const createdBy = (client: Client) =>
    indexes.map((index) =>
      client.tryPost('/customers', { email: `killed-${index}@example.com` }, `killed-${index}`),
    );
  const burst = Promise.allSettled(createdBy(till));
  // A third has arrived at the processor. The rest waits for its turn, or is on its way.
  await until(() => proxy.seen.filter(({ path }) => path === '/v1/customers').length >= indexes.length / 3);
  await till.stop('SIGKILL');
  const answered = (await burst).filter(({ status }) => status === 'fulfilled');
  t.diagnostic(`${answered.length} of ${indexes.length} were answered before the kill`);
  assert.ok(answered.length < indexes.length);
  const repeated = await Promise.all(createdBy(await startAgain()));
  assert.deepEqual(
    repeated.map(({ status }) => status),
    indexes.map(() => 201),
  );
  const emails = (await listCustomers(backend)).map(({ email }) => email);
  assert.deepEqual(emails.toSorted(), indexes.map((index) => `killed-${index}@example.com`).toSorted());
});

async function listCustomers({ control, stripe }: Backend) {
  await control('manners', { like: null });
  const customers = await Array.fromAsync(stripe.customers.list({ limit: 100 }));
  await control('manners', { like: 'stripe', seed: 1 });
  return customers;
}

async function fire(t: TestContext, { count, perSecond, ...setting }: Burst) {
  const { till, proxy } = await start(t, setting);
  const startedMs = performance.now();
  const create = async (index: number) => {
    if (perSecond !== undefined) await setTimeout((index / perSecond) * 1_000);
    return till.tryPost('/customers', { email: `burst-${index}@example.com` }, `burst-${index}`);
  };
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => create(index)));
  const seconds = (performance.now() - startedMs) / 1_000;
  const failed = answers.filter(({ status }) => status !== 201).length;
  const creations = proxy.seen.filter(({ method, path }) => method === 'POST' && path === '/v1/customers');
  return { failed, seconds, refused: creations.length - (count - failed) };
}

async function start(t: TestContext, { environment, areTwo }: Pick<Burst, 'environment' | 'areTwo'>) {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const shared = areTwo ? await twoProcesses(t) : {};
  const startOne = () =>
    startTill({
      in: 'child',
      on: backend,
      environment: { PROCESSOR_API_BASE: proxy.url, ...environment, ...shared },
    });
  const till = await startOne();
  await backend.control('manners', { like: 'stripe', seed: 1 });
  return { backend, proxy, till, startAgain: startOne };
}

async function twoProcesses(t: TestContext): Promise<Record<string, string>> {
  const redis = await startOwnRedis();
  assert.ok(redis);
  t.after(() => redis.stop());
  return { REDIS_URL: redis.url, PROCESSES: '2' };
}
