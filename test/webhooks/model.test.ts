/**
 * The promise of the webhook pipeline, tested with random histories: whatever order, repetition, delay or loss the
 * events arrive with, however often Till is killed, the mirrors end equal to the processor's own objects, and each
 * effect is counted once. `model/world.ts` says what can happen in a history, `model/event-delivery.ts` what happens to
 * its events.
 *
 * By hand, for longer or again: MODEL_RUNS=20000 npm run test:faults -- test/webhooks/model.test.ts, or MODEL_SEED=1234
 * MODEL_RUNS=100 npm run t test/webhooks/model.test.ts. The seed decides all that happens and how it is delivered, but
 * not how the workers' and the processor's responses interleave: a failure that depends on that may take a few runs to
 * come again.
 *
 * It can fail. Each guard was taken out once, and this is what went red: an older event changes the row (`judge`)
 * this test, permutations two values of one second: the row stays instead of a read     this test, permutations a
 * repeated delivery is queued again                           this test: its counters recovery does not read the
 * processor's list                   this test: lost events rows locked with `for update`; shared rows locked twice
 * this test (rarely), concurrency a deleted customer's unstarted subscription called canceled   this test (rarely),
 * concurrency a final status yields to a newer time (`payment.ts`)          permutations; the sandbox's times never lie
 * the row's time goes back with a response (`laterOf`)          permutations a response is dated by its object's
 * creation (`answer-time`)  this test, responses a response is applied although the row has moved (`facts.ts`)
 * concurrency; here the gap is too short to be met
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { createRandom } from '#runtime/seed/random.ts';
import { eventTypes } from '../../src/processor/stripe/events/event-types.ts';
import { createLifetime } from '../support/backend.ts';
import { effort } from '../support/effort.ts';
import { RestartableTill } from '../support/restartable-till.ts';
import { type SeededRun, seededRuns } from '../support/seeds.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import {
  type ModelBackend,
  ModelRun,
  startModelBackend,
  startModelTill,
  usualPause,
} from './model/model-run.ts';
import { type World, worldOf } from './model/world.ts';

const historiesPerWorld = effort({ short: 12, long: 100 });
const seeded = seededRuns('MODEL', { short: 24, long: 2_000 });
const historiesPerDeadlyWorld = effort({ short: 8, long: 15 });
/** Killing and starting a process takes as long as many histories. */
const historiesPerDeadlyOne = 34;
/** In the short form one seed is enough. */
const seededDeadly = effort({ short: seeded.slice(0, 1), long: seeded });
/** Each call takes a second or more, and all histories share the processor's limit. */
const historiesPerSlowWorld = effort({ short: 2, long: 8 });
const historiesPerSlowOne = effort({ short: 12, long: 60 });
const killsPerWorld = effort({ short: 2, long: 4 });

/** Worlds that are lived in side by side: while one waits for its database or its processor, another goes on. */
const worldsAtOnce = 2;

describe('random histories', { concurrency: true }, () => {
  test(`after random histories every mirror equals the processor's truth, each effect counted once`, (t) =>
    checkWorlds(t, { seeded, share: 1, historiesPerWorld, live }));

  test(`after random histories with kills of the service every mirror equals the processor's truth`, (t) =>
    checkWorlds(t, {
      seeded: seededDeadly,
      share: 1 / historiesPerDeadlyOne,
      historiesPerWorld: historiesPerDeadlyWorld,
      live: liveWithKills,
    }));

  test('after random histories at a processor as slow and as strict as a real account every mirror equals its truth', (t) =>
    checkWorlds(t, {
      seeded: seededDeadly,
      share: 1 / historiesPerSlowOne,
      historiesPerWorld: historiesPerSlowWorld,
      live,
      hasManners: true,
    }));
});

interface Check {
  readonly seeded: readonly SeededRun[];
  /** Of the histories that were asked for. */
  readonly share: number;
  readonly historiesPerWorld: number;
  readonly live: (world: World, backend: ModelBackend) => Promise<void>;
  /** The processor is as slow and as strict as a real account. */
  readonly hasManners?: boolean;
}

async function checkWorlds(
  t: TestContext,
  { seeded, share, historiesPerWorld, live, hasManners = false }: Check,
): Promise<void> {
  const liveOnce = async (world: World) => {
    const life = createLifetime();
    try {
      const seed = world.deliverySeed >>> 0;
      const manners = hasManners ? ({ like: 'stripe', seed } as const) : undefined;
      await live(world, await startModelBackend(life, usualPause(world.deliverySeed), manners));
    } finally {
      await life.end();
    }
  };
  const check = async ({ seed, runs, repeat }: SeededRun) => {
    t.diagnostic(repeat);
    const numRuns = Math.ceil((runs * share) / historiesPerWorld);
    const property = fc.asyncProperty(worldOf(historiesPerWorld), liveOnce);
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

async function live(world: World, backend: ModelBackend): Promise<void> {
  const till = await startModelTill(backend);
  const run = new ModelRun(world, backend, till, (body, signature) => deliver(till, body, signature));
  await run.begin();
  for (let round = 0; round < run.rounds; round += 1) {
    // The events of the last round arrive during this one, so that they can overtake the processor's responses.
    await Promise.all([run.play(round), run.delivery.deliver('due')]);
    await run.endRound(round);
    await run.assertNotOlder(backend.sql);
  }
  await run.endCheckouts();
  await run.delivery.deliver('all');
  await till.stopWorkers();
  await backend.clearFaults();
  // What follows compares, and reads every object of the processor.
  await backend.control('manners', { like: null });
  await till.services.recovery.run();
  await till.drainAll();
  await run.assertMirrored(till, backend.sql);
  await assertCounted(till, run);
  assert.deepEqual(till.deadlocks, []);
  await till.stop();
}

/** Sends a webhook, which must be acknowledged. */
async function deliver(till: TillInProcess, body: string, signature: string): Promise<void> {
  const response = await till.send(body, { 'stripe-signature': signature });
  assert.equal(response.status, 200, await response.text());
}

/** Counters tell of every effect, and of none twice. */
async function assertCounted(
  { metrics }: TillInProcess,
  { delivery, paymentIntents }: ModelRun,
): Promise<void> {
  const own = delivery.events.filter(
    ({ data: { object } }) => object.object === 'payment_intent' && paymentIntents.has(object.id),
  );
  const ofType = (type: string) => own.filter((event) => event.type === type).length;
  // What subscriptions charge is disputed like what the API charges.
  const charges = new Set(
    delivery.events.flatMap(({ data: { object } }) =>
      object.object === 'invoice_payment' ? String(object.payment.payment_intent) : [],
    ),
  );
  const disputed = new Set(
    delivery.events
      .flatMap(({ data: { object } }) => (object.object === 'dispute' ? String(object.payment_intent) : []))
      .filter((id) => paymentIntents.has(id) || charges.has(id)),
  );
  const known = delivery.events.filter(({ type }) => eventTypes.some((known) => known === type));
  const settled = (await sumOf(metrics.webhookEventsProcessed)) + (await sumOf(metrics.webhookEventsIgnored));
  assert.deepEqual(
    {
      succeeded: await sumOf(metrics.paymentsSucceeded),
      failed: await sumOf(metrics.paymentsFailed),
      disputed: await sumOf(metrics.paymentsDisputed),
      received: await sumOf(metrics.webhookEventsReceived, 'other'),
      settled,
      failedForGood: await sumOf(metrics.webhookEventsFailed),
    },
    {
      succeeded: ofType('payment_intent.succeeded'),
      failed: ofType('payment_intent.payment_failed'),
      disputed: disputed.size,
      received: known.length,
      // Of unknown types only delivered events are counted: they are not listed.
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

async function liveWithKills(world: World, backend: ModelBackend): Promise<void> {
  const till = await RestartableTill.start({
    ...backendEnvironment(backend),
    PROCESSOR_API_BASE: backend.lineUrl,
  });
  backend.atEnd(() => till.stop('SIGKILL'));
  const random = createRandom(world.deliverySeed);
  let kills = 0;
  const run = new ModelRun(world, backend, till.client, async (body, signature) => {
    await till.deliver(body, signature);
    if (kills >= killsPerWorld || random() > 0.05) return;
    kills += 1;
    till.kill();
  });
  await run.begin();
  for (let round = 0; round < run.rounds; round += 1) {
    await run.play(round);
    await run.endRound(round);
    await run.delivery.deliver('due');
    await till.isUp();
  }
  await run.endCheckouts();
  await run.delivery.deliver('all');
  await till.stop('SIGKILL');
  await backend.clearFaults();
  await assertMirroredAfterKill(backend, run);
}

/** The next process finishes what the killed one left. */
async function assertMirroredAfterKill(backend: ModelBackend, run: ModelRun): Promise<void> {
  const till = await startModelTill(backend, 0);
  // The killed process may have held the lease, and this one would wait for it for five minutes.
  await backend.sql('update till.jobs set leased_until = now() where run is not null');
  await till.services.recovery.run();
  await till.drainAll();
  await run.assertMirrored(till, backend.sql);
}
