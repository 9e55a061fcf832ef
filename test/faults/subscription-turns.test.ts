import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import { billed } from '../support/billed.ts';
import { type Subscribed, subscribed } from '../support/changes.ts';
import { readJson } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { rotation } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import { createPlan, type PlanBody, type SubscriptionBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { type ProcessorProxy, startProcessorProxy } from '../support/processor-proxy.ts';
import { expireTurns } from '../support/subscription-turns.ts';
import { startTill } from '../support/till.ts';
import type { ProcessOptions, TillInProcess } from '../support/till-in-process.ts';
import { until } from '../support/until.ts';

/** A writer in one process whose call to the processor is held back, and another process. */
interface Scene {
  readonly backend: Backend;
  readonly proxy: ProcessorProxy;
  readonly holder: TillInProcess;
  readonly other: TillInProcess;
  readonly subscription: Subscribed;
  readonly monthly: PlanBody;
}

async function setScene(t: TestContext, options: ProcessOptions = {}): Promise<Scene> {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const holder = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const other = await startTill({ in: 'process', on: backend, ...options });
  const monthly = await createPlan(holder, { interval: 'month', amount: 8_000 });
  return { backend, proxy, holder, other, subscription: await subscribe(holder), monthly };
}

async function subscribe(till: TillInProcess): Promise<Subscribed> {
  const plan = await createPlan(till, { interval: 'day', amount: 900 });
  return subscribed(till, { planId: plan.id, customerCard: 'pm_card_visa' });
}

/** Starts a change, and stops it before its call arrives at the processor. */
async function holdChange({ holder, proxy, subscription }: Scene, body: object) {
  const { processorSubscriptionId } = subscription.subscription;
  proxy.hold(`/v1/subscriptions/${processorSubscriptionId}`);
  const response = holder.tryPatch(subscription.path, body);
  const held = await proxy.nextHeld();
  return {
    goOn: () => {
      held.release();
      proxy.releaseAll();
      return response;
    },
  };
}

/** Resolves when so many writers wait. */
function waiting({ sql }: Backend, count: number): Promise<void> {
  return until(async () => {
    const [row] = await sql<{ count: number }>('select count(*)::int as count from till.subscription_queue');
    return row?.count === count;
  }, `${count} writers do not wait`);
}

async function assertNoTurns({ sql }: Backend): Promise<void> {
  assert.deepEqual(await sql('select * from till.subscription_turns'), []);
  assert.deepEqual(await sql('select * from till.subscription_queue'), []);
}

test('a change waits for the one before it in another process, and starts from what that left', async (t) => {
  const scene = await setScene(t);
  const { backend, other, subscription, monthly } = scene;
  const change = { planId: monthly.id, proration: 'none' };
  const first = await holdChange(scene, change);
  const second = other.tryPatch(subscription.path, change);
  await waiting(backend, 1);
  assert.equal((await first.goOn()).status, 200);
  assert.equal((await second).status, 200);
  const { invoices } = await billed(backend, subscription.subscription);
  assert.deepEqual(
    invoices.map(({ paid }) => paid),
    [900, 8_000],
  );
  await assertNoTurns(backend);
});

test('409: a request that waits too long has done nothing, and its idempotency key is free', async (t) => {
  const scene = await setScene(t, { turnWaitMs: 1 });
  const { backend, other, subscription, monthly } = scene;
  const first = await holdChange(scene, { planId: monthly.id, proration: 'none' });
  for (const [method, path, body] of [
    ['PATCH', subscription.path, { quantity: 3 }],
    ['POST', `${subscription.path}/pay`, {}],
    ['DELETE', subscription.path, undefined],
  ] as const) {
    const key = { 'idempotency-key': `late-${method}` };
    const response = await other.call(method, path, body, method === 'DELETE' ? {} : key);
    assert.equal(response.headers.get('retry-after'), '1');
    await readProblem(response, 409, 'subscription_busy');
  }
  assert.deepEqual(await backend.sql(`select key from till.idempotency_claims where key like 'late-%'`), []);
  assert.equal((await first.goOn()).status, 200);
  const again = await other.tryPatch(subscription.path, { quantity: 4 }, 'late-PATCH');
  assert.equal(again.status, 200);
  await assertNoTurns(backend);
});

test('writers are served in the order of their arrival, and a cancellation before others that wait', async (t) => {
  const scene = await setScene(t);
  const { backend, holder, other, subscription, monthly } = scene;
  const first = await holdChange(scene, { planId: monthly.id, proration: 'none' });
  const quantities = [2, 3, 4, 5];
  const changes: Promise<unknown>[] = [];
  for (const [index, quantity] of quantities.entries()) {
    changes.push(
      (index % 2 === 0 ? other : holder).tryPatch(subscription.path, { quantity, proration: 'none' }),
    );
    await waiting(backend, index + 1);
  }
  assert.equal((await first.goOn()).status, 200);
  await Promise.all(changes);
  const { data } = await backend.stripe.events.list({ type: 'customer.subscription.updated', limit: 100 });
  const seen = data.flatMap(({ data: { object } }) =>
    object.object === 'subscription' ? [object.items.data[0]?.quantity] : [],
  );
  assert.deepEqual(seen.toReversed().slice(-quantities.length), quantities);

  const last = await holdChange(scene, { quantity: 6, proration: 'none' });
  const overtaken = other.tryPatch(subscription.path, { quantity: 7 });
  await waiting(backend, 1);
  const canceled = holder.call('DELETE', subscription.path);
  await waiting(backend, 2);
  assert.equal((await last.goOn()).status, 200);
  const body = (await (await canceled).json()) as SubscriptionBody;
  assert.deepEqual([body.status, body.quantity], ['canceled', 6]);
  assert.deepEqual((await overtaken).body['code'], 'subscription_ended');
  await assertNoTurns(backend);
});

test('a process that was paused for longer than its lease makes no call after another one took its turn', async (t) => {
  const reached = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const backend = await startBackend(t);
  backend.atEnd(goesOn.resolve);
  let isWatched = false;
  const stalled = await startTill({
    ...{ in: 'process', on: backend },
    crashPoints: {
      pass: async (passed) => {
        if (!isWatched || passed !== 'call.before') return;
        reached.resolve();
        await goesOn.promise;
      },
    },
  });
  const other = await startTill({ in: 'process', on: backend });
  const { path, subscription } = await subscribe(other);
  isWatched = true;
  const late = stalled.tryPatch(path, { quantity: 2, proration: 'invoice' }, 'stalled');
  await reached.promise;
  await expireTurns(backend);
  assert.equal((await other.tryPatch(path, { quantity: 3, proration: 'none' })).status, 200);
  const before = await billed(backend, subscription);
  goesOn.resolve();
  assert.equal((await late).status, 503);
  assert.deepEqual(await billed(backend, subscription), before);
  isWatched = false;
  // The request did nothing, so that the same one can be carried out now.
  assert.equal((await stalled.tryPatch(path, { quantity: 2, proration: 'invoice' }, 'stalled')).status, 200);
  await assertNoTurns(backend);
});

test('the sweeper does not take the turn of a request that has resumed the claim meanwhile', async (t) => {
  const scene = await setScene(t);
  const { backend, holder, subscription, monthly } = scene;
  const change = { planId: monthly.id, proration: 'none' };
  const first = await holdChange(scene, change);
  // The sweeper has listed the claim before the request resumed it.
  await backend.sql(`update till.idempotency_claims set leased_until = now() - interval '2 minutes'`);
  const swept = holder.services.sweeper.sweep();
  await waiting(backend, 1);
  const [turn] = await backend.sql<{ writerId: string }>(
    'select writer_id as "writerId" from till.subscription_turns',
  );
  assert.equal((await first.goOn()).status, 200);
  await swept;
  assert.ok(turn !== undefined);
  const { invoices } = await billed(backend, subscription.subscription);
  assert.deepEqual(
    invoices.map(({ paid }) => paid),
    [900, 8_000],
  );
  await assertNoTurns(backend);
});

test('a call whose effect is unknown keeps the turn: the next writer sees what became of it', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 }, turnWaitMs: 1 });
  const monthly = await createPlan(till, { interval: 'month', amount: 8_000 });
  const { path, subscription } = await subscribe(till);
  const change = { planId: monthly.id, proration: 'none' };
  await backend.setFault({ operation: 'subscriptions.update', kind: 'reset_after' });
  assert.equal((await till.tryPatch(path, change, 'lost')).status, 503);
  assert.equal((await till.tryPatch(path, change)).body['code'], 'subscription_busy');
  await expireTurns(backend);
  assert.equal((await till.tryPatch(path, { quantity: 2, proration: 'none' })).status, 200);
  const after = await billed(backend, subscription);
  // The next writer has settled the claim of the lost response, so that the same request changes nothing again.
  const repeated = await till.tryPatch(path, change, 'lost');
  assert.deepEqual([repeated.status, repeated.replayed], [200, true]);
  assert.deepEqual(await billed(backend, subscription), after);
  await assertNoTurns(backend);
});

test('a change that fails under two processor idempotency keys keeps the turn until its effect is known', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend, turnWaitMs: 1 });
  const { path } = await subscribe(till);
  await backend.setFault({ operation: 'subscriptions.update', kind: 'error', status: 500, times: 2 });
  const change = { quantity: 2, proration: 'none' };
  assert.equal((await till.tryPatch(path, change, 'twice-failed')).status, 503);
  const other = { quantity: 3, proration: 'none' };
  assert.equal((await till.tryPatch(path, other)).body['code'], 'subscription_busy');
  await expireTurns(backend);
  assert.equal((await till.tryPatch(path, other)).status, 200);
  await assertNoTurns(backend);
});

test('a change whose effect cannot be found out delays other changes, but no cancellation', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const { path } = await subscribe(till);
  await backend.setFault({ operation: 'subscriptions.update', kind: 'reset_after' });
  assert.equal((await till.tryPatch(path, { quantity: 2, proration: 'none' }, 'lost')).status, 503);
  await expireTurns(backend);
  // Only the lookup of the change lists invoices.
  await backend.setFault({ operation: 'invoices.list', kind: 'error', status: 400, times: 100 });
  const other = await till.tryPatch(path, { quantity: 3, proration: 'none' });
  assert.equal(other.body['code'], 'processor_rejected');
  const canceled = await readJson<SubscriptionBody>(await till.call('DELETE', path), 200);
  assert.equal(canceled.status, 'canceled');
  await backend.clearFaults();
  const repeated = await till.tryPatch(path, { quantity: 2, proration: 'none' }, 'lost');
  assert.equal(repeated.body['code'], 'subscription_ended');
});

/** What other requests do after a process died amid a change that bills a period. */
interface Aftermath {
  readonly name: string;
  /** The amounts of the periods that it starts. */
  readonly starts?: readonly number[];
  readonly send: (till: TillInProcess, scene: Killed) => Promise<unknown>;
}

interface Killed {
  readonly aftermath: Aftermath;
  readonly subscription: Subscribed;
  readonly monthly: PlanBody;
  readonly weekly: PlanBody;
  readonly key: string;
}

const aftermaths: readonly Aftermath[] = [
  {
    name: 'an equal change',
    send: (till, { subscription: { path }, monthly }) =>
      till.tryPatch(path, { planId: monthly.id, proration: 'none' }),
  },
  {
    name: 'a change of a setting',
    send: (till, { subscription: { path } }) => till.tryPatch(path, { cancelAtPeriodEnd: false }),
  },
  {
    name: 'a change to another interval',
    starts: [2_000],
    send: (till, { subscription: { path }, weekly }) =>
      till.tryPatch(path, { planId: weekly.id, proration: 'none' }),
  },
  { name: 'a payment', send: (till, { subscription: { path } }) => till.tryPost(`${path}/pay`, {}) },
];

test('after a process died amid a change, other writers and its own retry bill what one after the other would', async (t) => {
  const nextAftermaths = rotation(aftermaths, Math.ceil(aftermaths.length / crashPoints.length));
  const walks = await inTurn(crashPoints, async (crashPoint) => {
    const backend = await startBackend(t);
    const survivor = await startTill({ in: 'process', on: backend });
    const monthly = await createPlan(survivor, { interval: 'month', amount: 8_000 });
    const weekly = await createPlan(survivor, { interval: 'week', amount: 2_000 });
    const scenes: Killed[] = [];
    for (const aftermath of nextAftermaths())
      scenes.push({
        aftermath,
        subscription: await subscribe(survivor),
        weekly,
        monthly,
        key: `killed-${aftermath.name.replaceAll(' ', '-')}`,
      });
    return { crashPoint, backend, survivor, scenes };
  });
  const send = (till: Pick<TillInProcess, 'tryPatch'>, { subscription: { path }, monthly, key }: Killed) =>
    till.tryPatch(path, { planId: monthly.id, proration: 'none' }, key);
  await killAmid(
    walks.map(({ crashPoint, backend, scenes }) => ({
      on: backend,
      crashAt: crashPoint,
      requests: scenes.map((scene) => ({ send: (till) => send(till, scene) })),
    })),
  );
  for (const { crashPoint, backend, survivor, scenes } of walks)
    for (const scene of scenes) {
      const { aftermath } = scene;
      await t.test(`${aftermath.name} after a kill at ${crashPoint}`, async () => {
        await expireTurns(backend);
        await aftermath.send(survivor, scene);
        assert.equal((await send(survivor, scene)).status, 200);
        const { invoices, waiting: items } = await billed(backend, scene.subscription.subscription);
        const [, ...changes] = invoices.map(({ paid }) => paid);
        // Each of both is billed once. Which of them came first depends on where the process died.
        const expected = [8_000, ...(aftermath.starts ?? [])];
        assert.deepEqual(
          changes.toSorted((a, b) => b - a),
          expected,
        );
        assert.deepEqual(items, []);
        const { planId } = await scene.subscription.read();
        assert.equal(planId, changes.at(-1) === 8_000 ? scene.monthly.id : scene.weekly.id);
        const { data } = await backend.stripe.invoices.list({
          subscription: scene.subscription.subscription.processorSubscriptionId,
        });
        assert.equal(data.length, 1 + expected.length);
      });
    }
  for (const { backend } of walks) await assertNoTurns(backend);
});
