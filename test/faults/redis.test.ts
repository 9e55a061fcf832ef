/**
 * Redis fails under load. It holds nothing but counters, so the API and the webhooks go on as if nothing had happened:
 * not one request is refused for it. Only /health tells, as the spec demands.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { inspectRedis } from '#core/platform/inspect-redis.ts';
import { effort } from '../support/effort.ts';
import { startSentinels } from '../support/redis-sentinels.ts';
import { type RedisServer, skipWithoutRedis, startOwnRedis } from '../support/redis-server.ts';
import { endure } from './rig/endure.ts';
import { truthMs } from './rig/health-watch.ts';
import { startRig } from './rig/rig.ts';

const rounds = effort({ short: 1, long: 3 });
/** Long enough that reconnects reach their longest delay. */
const outageMs = effort({ short: 1_000, long: 10_000 });
const roundsMeanwhile = effort({ short: 10, long: 300 });

test('Redis fails and comes back', { skip: skipWithoutRedis() }, async (t) => {
  let redis = await ownRedis();
  const rig = await startRig(t, {
    environment: { REDIS_URL: redis.url, RATE_LIMIT_PER_MINUTE: '1000000' },
  });
  t.after(() => redis.stop());
  const load = rig.startLoad();
  const health = rig.watchHealth();
  await load.progressed(20);
  const goesOn = async () => {
    await Promise.all([load.progressed(roundsMeanwhile), setTimeout(outageMs)]);
    await assertLimited(rig.url());
  };

  for (let round = 1; round <= rounds; round += 1) {
    await t.test('down', (step) =>
      endure(step, load, health, {
        down: ['cache'],
        begin: () => redis.stop(),
        meanwhile: goesOn,
        end: async () => {
          redis = await ownRedis(Number(new URL(redis.url).port));
        },
      }),
    );

    await t.test('hanging', (step) =>
      endure(step, load, health, {
        down: ['cache'],
        begin: () => redis.process?.kill('SIGSTOP'),
        meanwhile: goesOn,
        end: () => redis.process?.kill('SIGCONT'),
      }),
    );

    await t.test('flushed', async () => {
      await command(redis, ['FLUSHALL']);
      await load.progressed(roundsMeanwhile);
      assert.notEqual(await command(redis, ['DBSIZE']), 0, 'limits are shared again');
    });

    await t.test('full', (step) =>
      endure(step, load, health, {
        down: ['cache'],
        begin: () => command(redis, ['CONFIG', 'SET', 'maxmemory', '1']),
        meanwhile: goesOn,
        end: () => command(redis, ['CONFIG', 'SET', 'maxmemory', '0']),
      }),
    );
  }

  await t.test('no request was refused, nothing was lost, nothing was done twice', () =>
    rig.check(load, { failures: [] }),
  );
});

test('the primary of Redis dies, and its sentinels promote the replica', {
  skip: skipWithoutRedis(),
}, async (t) => {
  const redis = await startSentinels();
  const rig = await startRig(t, {
    environment: { REDIS_URL: redis.url, RATE_LIMIT_PER_MINUTE: '1000000' },
  });
  t.after(() => redis.stop());
  const load = rig.startLoad();
  const health = rig.watchHealth();
  await load.progressed(20);
  assert.equal(await sharedLimits(rig.url()), 1);
  assert.equal((await inspectRedis(redis.url)).isReplica, false);
  await endure(t, load, health, {
    down: ['cache'],
    begin: () => redis.killPrimary(),
    meanwhile: async () => {
      await load.progressed(1);
      await assertLimited(rig.url());
      assert.equal(await sharedLimits(rig.url()), 0, 'the metric says that limits are per process');
    },
    end: () => redis.failOver(),
    // A sentinel takes up to a second to connect to a new primary, and offers it only then.
    healthyWithinMs: 2 * truthMs,
  });
  // One request a second finds out whether Redis is back.
  while ((await sharedLimits(rig.url())) === 0) await load.progressed(1);

  // The others know the primary, too.
  await redis.killSentinel();
  await load.progressed(10);
  assert.equal(await sharedLimits(rig.url()), 1);
  await rig.check(load, { failures: [] });
});

async function sharedLimits(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^rate_limits_shared (\d)$/m.exec(text)?.[1]);
}

/** Of this many wrong API keys in at most two minutes, more than 60 arrive in one. */
const wrongKeys = 125;

/** Without Redis, each process counts for itself, and the limits hold. */
async function assertLimited(url: string): Promise<void> {
  for (let attempts = 0; attempts < wrongKeys; attempts += 1) {
    const response = await fetch(`${url}/api/v1/plans`, { headers: { 'x-api-key': 'guess' } });
    await response.bytes();
    if (response.status === 429) return;
    assert.equal(response.status, 401);
  }
  assert.fail('wrong API keys are not limited');
}

async function ownRedis(port?: number): Promise<RedisServer> {
  const redis = await startOwnRedis(port);
  assert.ok(redis);
  return redis;
}

async function command(redis: RedisServer, words: [string, ...string[]]): Promise<unknown> {
  const client = createClient({ url: redis.url });
  await client.connect();
  try {
    return await client.sendCommand(words);
  } finally {
    client.destroy();
  }
}
