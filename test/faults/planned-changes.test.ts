import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backend, cutsOf, startBackend } from '../support/backend.ts';
import type { Answer, Client } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { effort, rotation } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import {
  type AddOnBody,
  confirmSecret,
  createPlan,
  createSubscription,
  type SubscriptionBody,
  saveCard,
} from '../support/objects.ts';
import { changed } from '../support/subscribed.ts';
import { expireTurns } from '../support/subscription-turns.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

interface Scene {
  readonly subscription: SubscriptionBody;
  /** A plan of a group, so that the group is reserved too. */
  readonly planId: string;
  readonly otherPlanId: string;
  readonly addOnId: string;
  /** The card that the subscription charges at first. */
  readonly oldCard: string;
  readonly card: string;
  readonly key: string;
}

/** A request that makes several calls to the processor. */
interface PlannedCase {
  readonly name: string;
  /** Whether a change to the other plan waits before. */
  readonly isPlanned: boolean;
  /** The period at whose end the subscription was canceled elsewhere before, as the processor's portal does it. */
  readonly endsElsewhere?: 'this' | 'next';
  readonly body: (scene: Scene) => object;
  /** The processor's names for the calls that write. */
  readonly calls: readonly string[];
  readonly expected: (scene: Scene) => {
    readonly planId: string | null;
    readonly quantity: number | null;
    readonly addOns?: readonly AddOnBody[];
    readonly ends: boolean;
    readonly card: string;
    readonly schedules: number;
  };
}

const cases: readonly PlannedCase[] = [
  {
    name: 'plan',
    isPlanned: false,
    body: ({ planId, addOnId }) => ({
      ...{ planId, quantity: 2, when: 'periodEnd' },
      addOns: [{ planId: addOnId, quantity: 3 }],
    }),
    calls: ['subscription_schedules.create', 'subscription_schedules.update'],
    expected: (scene) => ({
      ...{ planId: scene.planId, quantity: 2, ends: false, card: scene.oldCard, schedules: 1 },
      addOns: [{ planId: scene.addOnId, quantity: 3 }],
    }),
  },
  {
    name: 'replan',
    isPlanned: true,
    body: ({ planId }) => ({ planId, when: 'periodEnd' }),
    calls: ['subscription_schedules.update'],
    expected: (scene) => ({
      ...{ planId: scene.planId, quantity: 1, ends: false, card: scene.oldCard, schedules: 1 },
    }),
  },
  {
    name: 'drop',
    isPlanned: true,
    body: ({ subscription }) => ({ planId: subscription.planId, when: 'periodEnd' }),
    calls: ['subscription_schedules.release'],
    expected: (scene) => ({
      ...{ planId: null, quantity: null, ends: false, card: scene.oldCard, schedules: 1 },
    }),
  },
  {
    name: 'cancel',
    isPlanned: true,
    body: () => ({ cancelAtPeriodEnd: true, metadata: { why: 'price' } }),
    calls: ['subscription_schedules.release', 'subscriptions.update'],
    expected: (scene) => ({
      ...{ planId: null, quantity: null, ends: true, card: scene.oldCard, schedules: 1 },
    }),
  },
  {
    name: 'keep',
    isPlanned: false,
    endsElsewhere: 'this',
    body: () => ({ cancelAtPeriodEnd: false, metadata: { why: 'offer' } }),
    calls: ['subscriptions.update'],
    expected: (scene) => ({
      ...{ planId: null, quantity: null, ends: false, card: scene.oldCard, schedules: 0 },
    }),
  },
  {
    name: 'keep planned',
    isPlanned: true,
    endsElsewhere: 'next',
    body: () => ({ cancelAtPeriodEnd: false, metadata: { why: 'offer' } }),
    calls: ['subscriptions.update', 'subscription_schedules.update'],
    expected: (scene) => ({
      ...{ planId: scene.otherPlanId, quantity: 1, ends: false, card: scene.oldCard, schedules: 1 },
    }),
  },
  {
    name: 'card',
    isPlanned: true,
    body: ({ card }) => ({ paymentMethodId: card }),
    calls: ['subscriptions.update', 'subscription_schedules.update'],
    expected: (scene) => ({
      ...{ planId: scene.otherPlanId, quantity: 1, ends: false, card: scene.card, schedules: 1 },
    }),
  },
];

async function setScene(
  till: TillInProcess,
  { name, isPlanned, endsElsewhere }: PlannedCase,
  at: string,
): Promise<Scene> {
  const key = `${name}-${at}`.replaceAll(' ', '-');
  const plan = await createPlan(till, { amount: 5_000, group: key });
  const { id: otherPlanId } = await createPlan(till, { amount: 7_000 });
  const { id: addOnId } = await createPlan(till, { amount: 300, addOn: true });
  // Till does not know yet that it is paid. What the processor says decides.
  const { subscription, clientSecret } = await createSubscription(till);
  await confirmSecret(till, clientSecret);
  const { paymentMethodId: card } = await saveCard(
    till,
    { id: subscription.customerId },
    'pm_card_mastercard',
  );
  if (endsElsewhere !== undefined) await endElsewhere(till, subscription, endsElsewhere);
  if (isPlanned) await changed(till, subscription, { planId: otherPlanId, when: 'periodEnd' });
  const there = await till.stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
  const oldCard = String(there.default_payment_method);
  return { subscription, planId: plan.id, otherPlanId, addOnId, oldCard, card, key };
}

async function endElsewhere(
  { stripe }: TillInProcess,
  { processorSubscriptionId: id }: SubscriptionBody,
  period: 'this' | 'next',
): Promise<void> {
  const { items } = await stripe.subscriptions.retrieve(id);
  const end = items.data[0]?.current_period_end ?? 0;
  await stripe.subscriptions.update(id, { cancel_at: period === 'this' ? end : end + 30 * 86_400 });
}

function send(till: Pick<Client, 'tryPatch'>, one: PlannedCase, scene: Scene): Promise<Answer> {
  return till.tryPatch(`/subscriptions/${scene.subscription.id}`, one.body(scene), scene.key);
}

/** Repeats the request, which must end like one that nothing interrupted. */
async function assertFinished(backend: Backend, till: TillInProcess, one: PlannedCase, scene: Scene) {
  const resumed = await send(till, one, scene);
  assert.equal(resumed.status, 200, JSON.stringify(resumed.body));
  const expected = one.expected(scene);
  await assertShows(resumed, expected);
  await assertAtProcessor(backend, scene, expected);
  const repeated = await send(till, one, scene);
  assert.equal(repeated.replayed, true);
  assert.deepEqual(repeated.body, resumed.body);
}

/** A finished request leaves nothing behind. */
async function assertNothingReserved({ sql }: Backend): Promise<void> {
  assert.deepEqual(await sql('select * from till.group_reservations'), []);
}

async function assertShows({ body }: Answer, expected: ReturnType<PlannedCase['expected']>): Promise<void> {
  // The shape that the API promises for a changed subscription.
  const shown = body['subscription'] as SubscriptionBody;
  assert.deepEqual(
    [shown.pendingChange?.planId ?? null, shown.pendingChange?.quantity ?? null, shown.cancelAtPeriodEnd],
    [expected.planId, expected.quantity, expected.ends],
  );
  assert.deepEqual(shown.pendingChange?.addOns ?? [], expected.addOns ?? []);
  assert.equal(shown.defaultPaymentMethodId, expected.card);
}

/** One schedule, and in it one change. */
async function assertAtProcessor(
  { stripe, sql }: Backend,
  { subscription: { processorSubscriptionId: id } }: Scene,
  expected: ReturnType<PlannedCase['expected']>,
): Promise<void> {
  const there = await stripe.subscriptions.retrieve(id);
  const customer = String(there.customer);
  const { data } = await stripe.subscriptionSchedules.list({ customer, limit: 100 });
  assert.equal(data.length, expected.schedules);
  assert.deepEqual([there.cancel_at_period_end, there.cancel_at !== null], [expected.ends, expected.ends]);
  assert.equal(there.default_payment_method, expected.card);
  const open = data.filter(({ status }) => status === 'active');
  assert.deepEqual(
    open.map((schedule) => schedule.id),
    expected.planId === null ? [] : [there.schedule],
  );
  const [plan] = await sql<{ price: string }>(
    'select processor_price_id as price from till.plans where id = $1',
    [expected.planId],
  );
  for (const { phases } of open)
    assert.deepEqual(
      phases
        .slice(1)
        .map(({ items, default_payment_method: card }) => [items[0]?.price, items[0]?.quantity, card]),
      [[plan?.price, expected.quantity, expected.card]],
    );
}

test('the same request finishes, once, what a process killed at any crash point has begun', async (t) => {
  const nextCases = rotation(cases, Math.ceil(cases.length / crashPoints.length));
  const walks = await inTurn(crashPoints, async (crashPoint) => {
    const backend = await startBackend(t);
    const survivor = await startTill({ in: 'process', on: backend });
    const scenes: (readonly [PlannedCase, Scene])[] = [];
    for (const one of nextCases()) scenes.push([one, await setScene(survivor, one, crashPoint)]);
    return { crashPoint, backend, survivor, scenes };
  });
  await killAmid(
    walks.map(({ crashPoint, backend, scenes }) => ({
      on: backend,
      crashAt: crashPoint,
      requests: scenes.map(([one, scene]) => ({ send: (till) => send(till, one, scene) })),
    })),
  );
  for (const { crashPoint, backend, survivor, scenes } of walks)
    await t.test(`killed at ${crashPoint}`, async () => {
      for (const [one, scene] of scenes) await assertFinished(backend, survivor, one, scene);
      await assertNothingReserved(backend);
    });
});

test('the same request finishes what a call that breaks, before or after its effect, has begun', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  // All begin with the same read, which the short form breaks for one of them.
  const readers = effort({ short: cases.slice(0, 1), long: cases });
  for (const one of cases)
    for (const operation of [...(readers.includes(one) ? ['subscriptions.retrieve'] : []), ...one.calls])
      for (const kind of cutsOf(operation))
        await t.test(`${one.name}: ${operation} ${kind}`, async () => {
          const scene = await setScene(hasty, one, `${operation}-${kind}`);
          await backend.setFault({ operation, kind });
          const broken = await send(hasty, one, scene);
          assert.equal(broken.status, 503, JSON.stringify(broken.body));
          await assertFinished(backend, hasty, one, scene);
          await assertNothingReserved(backend);
        });
});

test('a schedule that was created but not given its phases is used by the next change, or dropped', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const [plan, replan, drop, cancel] = cases;
  for (const next of [replan, drop, cancel]) {
    assert(plan !== undefined && next !== undefined);
    const scene = await setScene(hasty, plan, `before-${next.name}`);
    // A plan without a group: the first request, which is never repeated, keeps its reservation of a group.
    const { id: planId } = await createPlan(hasty, { amount: 6_000 });
    const free = { ...scene, planId };
    await backend.setFault({ operation: 'subscription_schedules.update', kind: 'reset_before' });
    assert.equal((await send(hasty, plan, free)).status, 503);
    await expireTurns(backend);
    await assertFinished(backend, hasty, next, { ...free, key: `after-${scene.key}` });
  }
});
