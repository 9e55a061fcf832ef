/** Several processes that share the limits of the processor through a real Redis. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { RedisCache } from '#core/platform/redis-cache.ts';
import { LeasedTokens, type RunScript } from '#processor/pacing/leased-tokens.ts';
import { Limits } from '#processor/pacing/limits.ts';
import { silentLogger } from '../support/log-capture.ts';
import { type RedisServer, skipWithoutRedis, startOwnRedis } from '../support/redis-server.ts';
import { type Adapter, startAdapter } from './adapter.ts';
import { respond, startScriptedServer } from './scripted-server.ts';
import { customer, localId, mark } from './wire-objects.ts';

const skip = skipWithoutRedis();
const newCustomer = {
  email: 'a@example.com',
  name: null,
  phone: null,
  id: localId,
  mark,
  idempotencyKey: 'key-1',
};

/** A process of Till, as far as the processor and Redis can tell. */
interface Member extends Adapter {
  create(count: number): Promise<unknown>;
  /** How often it has asked Redis. */
  trips(): number;
}

async function setUp(t: TestContext, perSecond: number) {
  let redis = await ownRedis();
  t.after(() => redis.stop());
  const port = Number(new URL(redis.url).port);
  const arrivals = new EventEmitter();
  const server = await startScriptedServer(t, (response, _seen, count) => {
    respond(response, 200, customer);
    arrivals.emit(String(count + 1));
  });
  const start = async (): Promise<Member> => {
    const cache = new RedisCache({ url: redis.url, logger: silentLogger });
    t.after(() => cache.close());
    await cache.connect();
    let trips = 0;
    const runScript: RunScript = (...script) => {
      trips += 1;
      return cache.runScript(...script);
    };
    const adapter = startAdapter(t, server.url, { requestsPerSecond: perSecond, runScript });
    const create = (count: number) =>
      Promise.all(Array.from({ length: count }, () => adapter.processor.customers.create(newCustomer)));
    return { ...adapter, create, trips: () => trips };
  };
  return {
    members: [await start(), await start()] as const,
    seen: server.seen,
    arrived: (count: number) => once(arrivals, String(count)),
    process: () => redis.process,
    stopRedis: () => redis.stop(),
    startRedis: async () => {
      redis = await ownRedis(port);
    },
  };
}

async function ownRedis(port?: number): Promise<RedisServer> {
  const redis = await startOwnRedis(port);
  assert.ok(redis);
  return redis;
}

test('processes never get more tokens together than the limit, however they ask', { skip }, async (t) => {
  const redis = await ownRedis();
  t.after(() => redis.stop());
  const perSecond = 50;
  const grants: { readonly sentMs: number; readonly receivedMs: number }[] = [];
  const endpoint = 'POST /v1/customers';
  const ask = async (process: string) => {
    const cache = new RedisCache({ url: redis.url, logger: silentLogger, commandTimeoutMs: 30_000 });
    t.after(() => cache.close());
    await cache.connect();
    const tokens = new LeasedTokens({
      limits: new Limits({ documented: { inAll: perSecond, ofEndpoint: () => 1_000 }, perSecond }),
      runScript: (...script) => cache.runScript(...script),
      ...{ account: 'test', process, processes: 1 },
      onOutage: (error) => assert.fail(String(error)),
      onReturn: () => {},
    });
    const endMs = performance.now() + 2_500;
    let own = 0;
    for (let sentMs = performance.now(); sentMs < endMs; sentMs = performance.now()) {
      const { granted } = await tokens.take([endpoint, endpoint, endpoint, endpoint], 4, sentMs);
      const receivedMs = performance.now();
      for (const isGranted of granted) if (isGranted) grants.push({ sentMs, receivedMs });
      own += granted.filter((isGranted) => isGranted).length;
    }
    assert.deepEqual(tokens.others, { processes: 3, waiting: 8 });
    return own;
  };
  const counts = await Promise.all(['a', 'b', 'c'].map(ask));
  assert.ok(
    counts.every((count) => count > 10),
    String(counts),
  );
  for (const { sentMs } of grants) {
    // Those that Redis granted within this second for certain.
    const within = grants.filter((one) => one.sentMs >= sentMs && one.receivedMs <= sentMs + 1_000).length;
    assert.ok(within <= perSecond, `${within} in a second`);
  }
});

test('the calls of two processes all succeed, with fewer round trips than calls', { skip }, async (t) => {
  const { members, seen } = await setUp(t, 50);
  await Promise.all(members.map((member) => member.create(40)));
  assert.equal(seen.length, 80);
  const trips = members.reduce((sum, member) => sum + member.trips(), 0);
  assert.ok(trips < 80, `${trips} round trips`);
});

test('Redis dies while calls wait: each process counts alone, all succeed, and then they share again', {
  skip,
}, async (t) => {
  const { members, seen, arrived, stopRedis, startRedis } = await setUp(t, 50);
  const [first] = members;
  const half = arrived(20);
  const created = Promise.all(members.map((member) => member.create(40)));
  await half;
  await stopRedis();
  await created;
  assert.equal(seen.length, 80);
  await startRedis();
  // One round trip a second finds out that Redis is back.
  const trips = first.trips();
  while (first.trips() < trips + 3) await first.create(1);
  await Promise.all(members.map((member) => member.create(20)));
});

test('Redis hangs while calls wait: they go on after a quarter of a second', { skip }, async (t) => {
  const { members, seen, arrived, process } = await setUp(t, 50);
  const half = arrived(20);
  const created = Promise.all(members.map((member) => member.create(40)));
  await half;
  process()?.kill('SIGSTOP');
  t.after(() => process()?.kill('SIGCONT'));
  await created;
  assert.equal(seen.length, 80);
});
