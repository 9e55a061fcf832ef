/**
 * The promise of the webhook pipeline, tried on random histories: whatever order, repetition, delay or loss the events
 * arrive with, however often Till is killed, the mirrors end equal to the processor's own objects, and each effect is
 * counted once. `model/world.ts` says what can happen in a history, `model/event-post.ts` what happens to its events.
 *
 * By hand, for longer or again:
 *   MODEL_RUNS=20000 npm run test:faults -- test/webhooks/model.test.ts
 *   MODEL_SEED=1234 MODEL_RUNS=100 npm test -- test/webhooks/model.test.ts
 * The seed decides all that happens and how it is delivered, but not how the workers' and the processor's answers
 * interleave: a failure that depends on that may take a few runs to come again.
 *
 * It can fail. Each guard was taken out once, and this is what went red:
 *   an older event changes the row (`judge`)                      this test, permutations
 *   two values of one second: the row stays instead of asking     this test, permutations
 *   a repeated delivery is queued again                           this test: its counters
 *   recovery does not read the processor's list                   this test: lost events
 *   rows locked with `for update`; shared rows locked twice       this test (rarely), concurrency
 *   a deleted customer's unstarted subscription called canceled   this test (rarely), concurrency
 *   a final status yields to a newer time (`payment.ts`)          permutations; the sandbox's times never lie
 *   the row's time goes back with an answer (`laterOf`)           permutations
 *   an answer is dated by its object's creation (`answer-time`)   this test, answers
 *   an answer is applied although the row has moved (`fold.ts`)   concurrency; here the gap is too short to be met
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { eventTypes } from '../../src/processor/event-types.ts';
import { effort } from '../support/effort.ts';
import { type SeededRun, seededRuns } from '../support/seeds.ts';
import { testKey } from '../support/till-process.ts';
import { MortalTill } from './model/mortal-till.ts';
import { createRandom } from './model/random.ts';
import { openStage, Play, type Stage, usualPause, webhookSecret } from './model/stage.ts';
import { startTillInProcess, type TillInProcess } from './model/till-in-process.ts';
import { type World, worldOf } from './model/world.ts';

const historiesPerWorld = 100;
const seeded = seededRuns('MODEL', { short: 200, long: 2_000 });
const historiesPerDeadlyWorld = 15;
/** Killing and starting a process takes as long as many histories. */
const historiesPerDeadlyOne = 34;
const killsPerWorld = effort({ short: 2, long: 4 });

/** Worlds that are lived in side by side: while one waits for its database or its processor, another goes on. */
const worldsAtOnce = 2;

describe('random histories', { concurrency: true }, () => {
  test(`after random histories every mirror equals the processor's truth, each effect counted once`, (t) =>
    checkWorlds(t, { share: 1, historiesPerWorld, live }));

  test(`after random histories with kills of the service every mirror equals the processor's truth`, (t) =>
    checkWorlds(t, {
      share: 1 / historiesPerDeadlyOne,
      historiesPerWorld: historiesPerDeadlyWorld,
      live: liveWithKills,
    }));
});

interface Check {
  /** Of the histories that were asked for. */
  readonly share: number;
  readonly historiesPerWorld: number;
  readonly live: (world: World, stage: Stage) => Promise<void>;
}

async function checkWorlds(t: TestContext, { share, historiesPerWorld, live }: Check): Promise<void> {
  const onStage = async (world: World) => {
    const stage = await openStage(usualPause(world.deliverySeed));
    try {
      await live(world, stage);
    } finally {
      await stage.close();
    }
  };
  const check = async ({ seed, runs, repeat }: SeededRun) => {
    t.diagnostic(repeat);
    const numRuns = Math.ceil((runs * share) / historiesPerWorld);
    const property = fc.asyncProperty(worldOf(historiesPerWorld), onStage);
    // A world is too large to be read or shrunk; the error names the object and what it should have been.
    const result = await fc.check(property, { seed, numRuns, endOnFailure: true });
    if (result.errorInstance !== null) throw result.errorInstance;
    assert.equal(result.numRuns, numRuns);
  };
  const waiting = [...seeded];
  const lanes = Array.from({ length: worldsAtOnce }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await check(next);
  });
  // All of them end before the test does, so that nothing is left running.
  for (const result of await Promise.allSettled(lanes)) if (result.status === 'rejected') throw result.reason;
}

async function live(world: World, stage: Stage): Promise<void> {
  const { databaseUrl, processorUrl } = stage;
  const till = await startTillInProcess({ databaseUrl, processorUrl, webhookSecret });
  try {
    const play = new Play(world, stage, { url: () => till.url, apiKey: testKey }, till.post);
    await play.begin();
    for (let round = 0; round < play.rounds; round += 1) {
      // What came of the last round arrives while this one happens, so that answers of the processor can be overtaken.
      await Promise.all([play.play(round), play.post.deliver('due')]);
      await play.endRound(round);
      await play.assertNotOlder(till.database);
    }
    await play.post.deliver('all');
    await till.stopWorkers();
    await stage.clearFaults();
    await till.services.recovery.run();
    await till.drain();
    await play.assertMirrored(till.database);
    await assertCounted(till, play);
    assert.deepEqual(till.deadlocks, []);
  } finally {
    await till.close();
  }
}

/** Counters tell of every effect, and of none twice. */
async function assertCounted({ metrics }: TillInProcess, { post, paymentIntents }: Play): Promise<void> {
  const own = post.events.filter(
    ({ data: { object } }) => object.object === 'payment_intent' && paymentIntents.has(object.id),
  );
  const ofType = (type: string) => own.filter((event) => event.type === type).length;
  const known = post.events.filter(({ type }) => eventTypes.some((known) => known === type));
  const settled = (await sumOf(metrics.webhookEventsProcessed)) + (await sumOf(metrics.webhookEventsIgnored));
  assert.deepEqual(
    {
      succeeded: await sumOf(metrics.paymentsSucceeded),
      failed: await sumOf(metrics.paymentsFailed),
      received: await sumOf(metrics.webhookEventsReceived, 'other'),
      settled,
      failedForGood: await sumOf(metrics.webhookEventsFailed),
    },
    {
      succeeded: ofType('payment_intent.succeeded'),
      failed: ofType('payment_intent.payment_failed'),
      received: known.length,
      // Of the types that we don't know only those that were delivered are counted: the list is not asked for them.
      settled: known.length + (await countOf(metrics.webhookEventsIgnored, 'other')),
      failedForGood: 0,
    },
  );
}

type Counter =
  | TillInProcess['metrics']['paymentsSucceeded']
  | TillInProcess['metrics']['webhookEventsFailed'];

async function sumOf(counter: Counter, except?: string): Promise<number> {
  const { values } = await counter.get();
  return values
    .filter(({ labels }) => !('type' in labels && labels.type === except))
    .reduce((sum, { value }) => sum + value, 0);
}

async function countOf(counter: Counter, type: string): Promise<number> {
  return (await sumOf(counter)) - (await sumOf(counter, type));
}

async function liveWithKills(world: World, stage: Stage): Promise<void> {
  const { databaseUrl, processorUrl } = stage;
  const mortal = await MortalTill.start({
    DATABASE_URL: databaseUrl,
    PROCESSOR_SECRET_KEY: 'sk_test_till',
    PROCESSOR_API_BASE: processorUrl,
    PROCESSOR_WEBHOOK_SECRET: webhookSecret,
    API_KEYS: testKey,
    LOG_LEVEL: 'info',
    REDIS_URL: 'memory://',
  });
  const random = createRandom(world.deliverySeed);
  let kills = 0;
  const play = new Play(world, stage, { url: () => mortal.url, apiKey: testKey }, async (body, signature) => {
    await mortal.post(body, signature);
    if (kills >= killsPerWorld || random() > 0.05) return;
    kills += 1;
    mortal.kill();
  });
  try {
    await play.begin();
    for (let round = 0; round < play.rounds; round += 1) {
      await play.play(round);
      await play.endRound(round);
      await play.post.deliver('due');
      await mortal.isUp();
    }
    await play.post.deliver('all');
  } finally {
    await mortal.end();
  }
  await stage.clearFaults();
  await assertMirroredAfterDeath(stage, play);
}

/** What the last process left behind is finished by the next one. */
async function assertMirroredAfterDeath(stage: Stage, play: Play): Promise<void> {
  const { databaseUrl, processorUrl } = stage;
  const till = await startTillInProcess({ databaseUrl, processorUrl, webhookSecret });
  try {
    await till.stopWorkers();
    // The dead process may have held the lease, which would hold us up for five minutes.
    await till.database.query('update till.recovery set leased_until = now()');
    await till.services.recovery.run();
    await till.drain();
    await play.assertMirrored(till.database);
  } finally {
    await till.close();
  }
}
