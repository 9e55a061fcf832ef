import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createRandom } from '#runtime/seed/random.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { listAll } from '../support/checks/mirrors.ts';
import type { Answer, Client } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { type Doom, killAmid } from '../support/doomed-tills.ts';
import { effort } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import { createCustomer, createPlan } from '../support/objects.ts';
import { seedOf } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

const path = '/subscriptions';
const requestsPerProcess = 17;
/** Beside a killed process, where few requests meet what it left as well as many. */
const requestsAfterKill = effort({ short: 4, long: requestsPerProcess });

/** A customer and two plans of one group. */
interface Scene {
  readonly customerId: string;
  readonly processorCustomerId: string;
  readonly planIds: readonly [string, string];
}

async function createScene(till: Client, group: string): Promise<Scene> {
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const [one, two] = [await createPlan(till, { group }), await createPlan(till, { group })];
  return { customerId, processorCustomerId, planIds: [one.id, two.id] };
}

/** Processes with webhooks that are delivered and applied all the while. */
async function startTills(
  t: TestContext,
  count: number,
): Promise<{ backend: Backend; tills: readonly TillInProcess[] }> {
  const backend = await startBackend(t, { delivery: 'running' });
  const start = () => startTill({ in: 'process', on: backend, workers: 1 });
  return { backend, tills: await inTurn(Array.from({ length: count }), start) };
}

test('fifty requests at three processes create one subscription; the others get a 409 with its id', async (t) => {
  const { backend, tills } = await startTills(t, 3);
  for (const group of effort({ short: ['one'], long: ['one', 'two', 'three'] })) {
    const scene = await createScene(tills[0] as Client, group);
    const storm = () => tills.flatMap((till, index) => requests(till, scene, `${group}-${index}`));
    const responses = await Promise.all(storm());
    const id = await assertOne(backend, scene, responses);
    assert.equal(responses.filter(({ status }) => status === 201).length, 1);
    // An idempotency key repeats its own response: the first has its subscription, all others are refused again.
    const again = await Promise.all(storm());
    assert.equal(await assertOne(backend, scene, again), id);
    await assertNothingReserved(backend, scene);
  }
  assert.deepEqual(
    tills.flatMap(({ deadlocks }) => deadlocks),
    [],
  );
});

test('requests finish what a killed process began, wherever it died, and create one subscription', async (t) => {
  const walks = await inTurn(crashPoints, async (crashPoint) => {
    const { backend, tills } = await startTills(t, 2);
    const [first] = tills as [TillInProcess];
    const scene = await createScene(first, crashPoint);
    const order = { customerId: scene.customerId, planId: scene.planIds[0] };
    return { crashPoint, backend, tills, first, scene, order, key: `doomed-${crashPoint}` };
  });
  await killAmid(walks.map(({ backend, crashPoint, order, key }) => doom(backend, crashPoint, order, key)));
  for (const { crashPoint, backend, tills, first, scene, order, key } of walks) {
    // The same values as those of the killed request: they know what it wanted, even if it had not called yet.
    const same = { ...scene, planIds: [scene.planIds[0], scene.planIds[0]] } as const;
    const responses = await Promise.all(
      tills.flatMap((till, index) => requests(till, same, `${crashPoint}-${index}`, requestsAfterKill)),
    );
    const id = await assertOne(backend, scene, responses);
    const resumed = await first.tryPost(path, order, key);
    const isKept = !['claim.before', 'claim.prepared'].includes(crashPoint);
    assert.equal(resumed.status, isKept ? 201 : 409, `${crashPoint}: ${JSON.stringify(resumed.body)}`);
    assert.equal(isKept ? Object(resumed.body['subscription']).id : resumed.body['subscriptionId'], id);
    const created = responses.filter(({ status }) => status === 201).length;
    assert.equal(created, isKept ? 0 : 1, crashPoint);
    await assertNothingReserved(backend, scene);
  }
});

test('after a process was killed', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const [known, unknown] = [await createScene(till, 'known'), await createScene(till, 'unknown')];
  const ordersOf = ({ customerId, planIds: [one, two] }: Scene) => [
    { customerId, planId: one },
    { customerId, planId: two },
  ];
  await killAmid([
    doom(backend, 'call.after', Object(ordersOf(known)[0]), 'doomed-known'),
    doom(backend, 'call.before', Object(ordersOf(unknown)[0]), 'doomed-unknown'),
  ]);

  await t.test(
    'a request with other values gets the id of the subscription that the killed request created, before any webhook',
    async () => {
      const [one, two] = ordersOf(known);
      assert(one !== undefined && two !== undefined);
      const refused = await till.tryPost(path, two, 'other-known');
      assert.deepEqual([refused.status, refused.body['code']], [409, 'already_subscribed']);
      const resumed = await till.tryPost(path, one, 'doomed-known');
      assert.equal(resumed.status, 201);
      assert.equal(refused.body['subscriptionId'], Object(resumed.body['subscription']).id);
      await assertOne(backend, known, [refused]);
      await assertNothingReserved(backend, known);
    },
  );

  await t.test(
    'a creation of unknown effect refuses other values with a null id, until the sweeper gives it up',
    async () => {
      const [one, two] = ordersOf(unknown);
      assert(one !== undefined && two !== undefined);
      const refused = await till.tryPost(path, two, 'other-unknown');
      assert.deepEqual(
        [refused.status, refused.body['code'], refused.body['subscriptionId']],
        [409, 'already_subscribed', null],
      );
      await backend.sql(
        `update till.idempotency_claims set attempted_at = attempted_at - interval '11 minutes',
         leased_until = leased_until - interval '11 minutes' where completed_at is null`,
      );
      await till.services.sweeper.sweep();
      const created = await till.tryPost(path, two, 'other-unknown');
      assert.equal(created.status, 201, JSON.stringify(created.body));
      // The request that was given up is now one of many.
      const late = await till.tryPost(path, one, 'doomed-unknown');
      assert.deepEqual([late.status, late.body['code']], [409, 'already_subscribed']);
      assert.equal(late.body['subscriptionId'], Object(created.body['subscription']).id);
      await assertOne(backend, unknown, [refused, late], { mayBeNull: true });
      await assertNothingReserved(backend, unknown);
    },
  );
});

test('without an idempotency key, the same request again returns what the failed one began', async (t) => {
  const backend = await startBackend(t);
  const tills = [
    await startTill({ in: 'process', on: backend }),
    await startTill({ in: 'process', on: backend }),
  ] as const;
  const scene = await createScene(tills[0], 'keyless');
  const [planId] = scene.planIds;
  const subscribe = (till: TillInProcess) => till.tryPost(path, { customerId: scene.customerId, planId });
  await backend.setFault({ operation: 'subscriptions.create', kind: 'error', status: 500, times: 2 });
  assert.equal((await subscribe(tills[0])).status, 503);
  const repeated = await subscribe(tills[1]);
  assert.equal(repeated.status, 201, JSON.stringify(repeated.body));
  assert.match(String(repeated.body['clientSecret']), /_secret_/);
  const later = await subscribe(tills[0]);
  assert.deepEqual([later.status, later.body['code']], [409, 'already_subscribed']);
  assert.equal(later.body['subscriptionId'], Object(repeated.body['subscription']).id);
  await assertOne(backend, scene, [repeated, later]);
  await assertNothingReserved(backend, scene);
});

/** So many requests at a time, so many times. */
const rounds = effort({ short: 4, long: 60 });
const requestsPerRound = 12;

test('whatever is created and canceled at once, no two subscriptions of a group are ever live together', async (t) => {
  const { backend, tills } = await startTills(t, 3);
  const [first] = tills as [TillInProcess];
  const scene = await createScene(first, 'random');
  const seed = seedOf('FAULT');
  t.diagnostic(`FAULT_SEED=${seed}`);
  const random = createRandom(seed);
  const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)];
  const known: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const responses = await Promise.all(
      Array.from({ length: requestsPerRound }, async (_, index) => {
        const till = pick(tills) ?? first;
        const target = pick(known);
        if (target !== undefined && random() < 0.3) {
          const canceled = await till.call('DELETE', `${path}/${target}`);
          assert.equal(canceled.status, 200, await canceled.text());
          return undefined;
        }
        const order = { customerId: scene.customerId, planId: pick(scene.planIds) };
        return till.tryPost(path, order, random() < 0.5 ? `${round}-${index}` : undefined);
      }),
    );
    for (const response of responses) {
      if (response === undefined) continue;
      const { status, body } = response;
      assert.ok(status === 201 || body['code'] === 'already_subscribed', JSON.stringify(body));
      const id = status === 201 ? Object(body['subscription']).id : body['subscriptionId'];
      if (typeof id === 'string' && !known.includes(id)) known.push(id);
    }
  }
  await assertNeverTwo(backend, scene);
  assert.deepEqual(await backend.sql('select * from till.group_reservations'), []);
});

/** In the order of the processor's events, at most one subscription of the customer is live. */
async function assertNeverTwo({ stripe }: Backend, { processorCustomerId }: Scene): Promise<void> {
  const types = ['customer.subscription.created', 'customer.subscription.deleted'];
  const events = (await listAll(stripe.events.list({ types, limit: 100 }))).toReversed();
  const live = new Set<string>();
  let created = 0;
  for (const { type, data } of events) {
    const subscription = data.object;
    assert(subscription.object === 'subscription');
    if (subscription.customer !== processorCustomerId) continue;
    if (type === 'customer.subscription.deleted') live.delete(subscription.id);
    else {
      live.add(subscription.id);
      created += 1;
    }
    assert.ok(live.size <= 1, `${[...live]} are live together`);
  }
  assert.ok(created > 1);
}

/** With different idempotency keys, and half of them for each plan. */
function requests(
  till: Client,
  { customerId, planIds }: Pick<Scene, 'customerId' | 'planIds'>,
  key: string,
  length = requestsPerProcess,
) {
  return Array.from({ length }, (_, index) =>
    till.tryPost(path, { customerId, planId: planIds[index % 2] }, `${key}-${index}`),
  );
}

/** One subscription, here and at the processor, which every response names. Returns its id. */
async function assertOne(
  backend: Backend,
  { customerId, processorCustomerId }: Scene,
  responses: readonly Answer[],
  { mayBeNull = false }: { readonly mayBeNull?: boolean } = {},
): Promise<string> {
  const { data } = await backend.stripe.subscriptions.list({ customer: processorCustomerId, status: 'all' });
  assert.equal(data.length, 1, `${data.length} subscriptions at the processor`);
  const rows = await backend.sql<{ id: string }>('select id from till.subscriptions where customer_id = $1', [
    customerId,
  ]);
  assert.equal(rows.length, 1);
  const id = String(rows[0]?.id);
  for (const { status, body } of responses) {
    const named = status === 201 ? Object(body['subscription']).id : body['subscriptionId'];
    assert.ok(status === 201 || body['code'] === 'already_subscribed', JSON.stringify(body));
    assert.ok(named === id || (mayBeNull && named === null), JSON.stringify(body));
  }
  return id;
}

/** When every request has been finished, nothing is left of them. */
async function assertNothingReserved({ sql }: Backend, { customerId }: Scene): Promise<void> {
  const reserved = await sql('select * from till.group_reservations where customer_id = $1', [customerId]);
  assert.deepEqual(reserved, []);
}

/** A process that dies while it creates a subscription. */
function doom(on: Backend, crashAt: string, order: object, key: string): Doom {
  return { on, crashAt, requests: [{ send: (till) => till.tryPost(path, order, key) }] };
}
