/**
 * Bursts of creations reach a processor that has the limits of Stripe's test mode: 25 calls a second. All succeed, as
 * fast as the limit allows, and almost no call is refused.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { startBackend } from '../support/backend.ts';
import { effort } from '../support/effort.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';

interface Burst {
  readonly name: string;
  readonly count: number;
  /** Undefined: all at once. */
  readonly perSecond?: number;
  readonly environment: Readonly<Record<string, string>>;
  /** How many calls may be refused. */
  readonly refusedMax: number;
}

const stated = { PROCESSOR_REQUESTS_PER_SECOND: '25' };
const bursts: readonly Burst[] = [
  { name: '60 at once', count: 60, environment: stated, refusedMax: 3 },
  ...effort<readonly Burst[]>({
    short: [],
    long: [
      { name: '60 at once, without the setting', count: 60, environment: {}, refusedMax: 40 },
      { name: '40 a second for 5 s', count: 200, perSecond: 40, environment: stated, refusedMax: 10 },
      {
        name: '40 a second for 5 s, without the setting',
        count: 200,
        perSecond: 40,
        environment: {},
        refusedMax: 30,
      },
    ],
  }),
];

for (const burst of bursts)
  test(`creating customers, ${burst.name}: all succeed`, async (t) => {
    const { failed, seconds, refused } = await fire(t, burst);
    t.diagnostic(`${failed} failed, ${refused} refused calls, ${seconds.toFixed(1)} s`);
    assert.equal(failed, 0);
    assert.ok(refused <= burst.refusedMax, `${refused} refused calls`);
  });

async function fire(t: TestContext, { count, perSecond, environment }: Burst) {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({
    in: 'child',
    on: backend,
    environment: { PROCESSOR_API_BASE: proxy.url, ...environment },
  });
  await backend.control('manners', { like: 'stripe', seed: 1 });
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
