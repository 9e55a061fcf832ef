import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backend, cutsOf, startBackend } from '../support/backend.ts';
import { newestInvoice, subscribed, useCard, waitingItems } from '../support/changes.ts';
import type { Answer, Client } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { effort, rotation } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import { type AddOnBody, createPlan } from '../support/objects.ts';
import { sweepAll } from '../support/sweep.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

/** What becomes of a change that is billed now, by the card that pays for it. */
const outcomes = [
  { card: 'pm_card_mastercard', status: 200, invoice: 'paid', isCreated: true, waits: false },
  { card: 'pm_card_chargeCustomerFail', status: 402, invoice: 'void', isCreated: false, waits: false },
  { card: 'pm_card_authenticationRequired', status: 200, invoice: 'open', isCreated: false, waits: true },
] as const;

type Outcome = (typeof outcomes)[number];

interface Scene {
  readonly outcome: Outcome;
  readonly subscriptionId: string;
  readonly processorSubscriptionId: string;
  readonly planId: string;
  /** After the change: one more of an add-on, and a new one. */
  readonly addOns: readonly AddOnBody[];
  readonly key: string;
  /** The amounts of an earlier change that wait for the next invoice. The change bills them too. */
  readonly waiting: readonly number[];
}

async function setScene(till: TillInProcess, outcome: Outcome, name: string): Promise<Scene> {
  // A plan of a group, so that the group is reserved too.
  const plan = await createPlan(till, { amount: 5_000, group: name });
  const [seats, support] = [await createPlan(till, { addOn: true }), await createPlan(till, { addOn: true })];
  const { subscription, changed } = await subscribed(till, { addOns: [{ planId: seats.id, quantity: 1 }] });
  await changed({ quantity: 2 });
  await useCard(till, subscription, outcome.card);
  return {
    outcome,
    subscriptionId: subscription.id,
    processorSubscriptionId: subscription.processorSubscriptionId,
    planId: plan.id,
    addOns: [
      { planId: seats.id, quantity: 3 },
      { planId: support.id, quantity: 2 },
    ],
    key: `${name}-${outcome.card}`,
    waiting: await waitingAmounts(till, subscription),
  };
}

function send(till: Pick<Client, 'tryPatch'>, scene: Scene): Promise<Answer> {
  const { subscriptionId, planId, addOns, key } = scene;
  return till.tryPatch(`/subscriptions/${subscriptionId}`, { planId, addOns, proration: 'invoice' }, key);
}

async function waitingAmounts(
  till: Pick<Backend, 'stripe'>,
  subscription: Pick<Scene, 'processorSubscriptionId'>,
): Promise<readonly number[]> {
  return (await waitingItems(till, subscription)).map(({ amount }) => amount);
}

/** The invoices of changes at the processor: every attempt to charge creates another. */
async function changeInvoices({ stripe }: Backend, { processorSubscriptionId: subscription }: Scene) {
  const { data } = await stripe.invoices.list({ subscription, limit: 100 });
  return data.filter((invoice) => invoice.billing_reason === 'subscription_update');
}

/** Repeats the request, which must end like one that nothing interrupted. */
async function assertFinished(backend: Backend, till: TillInProcess, scene: Scene): Promise<void> {
  const { outcome, planId, processorSubscriptionId } = scene;
  const resumed = await send(till, scene);
  assert.equal(resumed.status, outcome.status, JSON.stringify(resumed.body));
  const invoices = await changeInvoices(backend, scene);
  assert.deepEqual(
    invoices.map(({ status }) => status),
    [outcome.invoice],
  );
  const { pending_update: pending } = await backend.stripe.subscriptions.retrieve(processorSubscriptionId);
  assert.equal(pending !== null, outcome.waits);
  const shown = await till.get<Record<string, unknown>>(`/subscriptions/${scene.subscriptionId}`);
  assert.equal(shown['planId'] === planId, outcome.isCreated);
  if (outcome.isCreated) assert.deepEqual(shown['addOns'], scene.addOns);
  assert.deepEqual(
    shown['pendingChange'],
    outcome.waits ? { planId, quantity: 2, addOns: scene.addOns, at: null } : null,
  );
  const repeated = await send(till, scene);
  assert.equal(repeated.replayed, true);
  const withoutRequest = ({ requestId: _, ...body }: Answer['body']) => body;
  assert.deepEqual(withoutRequest(repeated.body), withoutRequest(resumed.body));
  assert.equal((await changeInvoices(backend, scene)).length, 1);
  // What the change did not bill waits again, each item once.
  assert.equal(scene.waiting.length, 2);
  assert.deepEqual(await waitingAmounts(backend, scene), outcome.status === 402 ? scene.waiting : []);
}

/** A finished request leaves nothing behind. */
async function assertNothingReserved({ sql }: Backend): Promise<void> {
  assert.deepEqual(await sql('select * from till.group_reservations'), []);
}

test('the same request finishes, once, what a process killed at any crash point has begun', async (t) => {
  const nextOutcomes = rotation(outcomes, Math.ceil(outcomes.length / crashPoints.length));
  const walks = await inTurn(crashPoints, async (crashPoint) => {
    const backend = await startBackend(t);
    const survivor = await startTill({ in: 'process', on: backend });
    const scenes: Scene[] = [];
    for (const outcome of nextOutcomes()) scenes.push(await setScene(survivor, outcome, `at-${crashPoint}`));
    return { crashPoint, backend, survivor, scenes };
  });
  await killAmid(
    walks.map(({ crashPoint, backend, scenes }) => ({
      on: backend,
      crashAt: crashPoint,
      requests: scenes.map((scene) => ({ send: (till) => send(till, scene) })),
    })),
  );
  for (const { crashPoint, backend, survivor, scenes } of walks)
    await t.test(`killed at ${crashPoint}`, async () => {
      for (const scene of scenes) await assertFinished(backend, survivor, scene);
      await assertNothingReserved(backend);
    });
});

/** Each call to the processor that a change makes, in its order. */
const calls = [
  ...['subscriptions.retrieve', 'invoiceitems.list', 'invoiceitems.update', 'subscriptions.update'],
  ...['invoices.retrieve', 'invoices.void', 'invoiceitems.create'],
];

/** In the short form one of the outcomes that make the call, which differ from call to call. */
function outcomesOf(operation: string): readonly Outcome[] {
  const [paid, declined, waiting] = outcomes;
  // Only a declined change makes these, or depends on what they did.
  if (operation === 'invoices.void' || operation.startsWith('invoiceitems.')) return [declined];
  if (operation === 'invoices.retrieve') return effort({ short: [waiting], long: [declined, waiting] });
  return effort<readonly Outcome[]>({
    short: [operation === 'subscriptions.update' ? declined : paid],
    long: outcomes,
  });
}

test('the same request finishes what a call that breaks, before or after its effect, has begun', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  for (const operation of calls) {
    for (const kind of cutsOf(operation)) {
      for (const outcome of outcomesOf(operation)) {
        await t.test(`${operation} ${kind} ${outcome.card}`, async () => {
          const scene = await setScene(hasty, outcome, `${operation}-${kind}`);
          await backend.setFault({ operation, kind });
          assert.equal((await send(hasty, scene)).status, 503);
          await assertFinished(backend, hasty, scene);
          await assertNothingReserved(backend);
        });
      }
    }
  }
});

test('the sweeper voids a declined change that is not repeated, and leaves one that waits', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const [, declined, waiting] = outcomes;
  for (const outcome of [declined, waiting]) {
    const scene = await setScene(hasty, outcome, 'swept');
    await backend.setFault({ operation: 'invoices.retrieve', kind: 'reset_before' });
    assert.equal((await send(hasty, scene)).status, 503);
    assert.equal((await newestInvoice(hasty, scene)).status, 'open');
    await sweepAll(backend, hasty);
    assert.equal((await newestInvoice(hasty, scene)).status, outcome.invoice);
    assert.deepEqual(await waitingAmounts(backend, scene), outcome.waits ? [] : scene.waiting);
    const { pending_update: pending } = await backend.stripe.subscriptions.retrieve(
      scene.processorSubscriptionId,
    );
    assert.equal(pending !== null, outcome.waits);
    await assertFinished(backend, hasty, scene);
  }
});

/** Restores the oldest item as Till does, but with an idempotency key that the processor has forgotten. */
async function restoreWithoutKey({ stripe }: Backend, scene: Scene): Promise<void> {
  const { id: invoice } = await newestInvoice({ stripe }, scene);
  const items = (await stripe.invoiceItems.list({ invoice: String(invoice) })).data;
  const lost = items.findLast(({ metadata }) => metadata?.['till_waited'] !== undefined);
  assert.ok(lost !== undefined);
  const { id, customer, amount, currency } = lost;
  await stripe.invoiceItems.create({
    ...{ customer: String(customer), amount, currency, subscription: scene.processorSubscriptionId },
    metadata: { till_restores: id },
  });
}

test('the sweeper restores what a declined or dropped change took, once, even without the idempotency keys', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const [, declined, waiting] = outcomes;
  const drop = ({ subscriptionId, key }: Scene) =>
    hasty.tryPatch(`/subscriptions/${subscriptionId}`, { cancelAtPeriodEnd: true }, `${key}-drop`);
  // In the short form each meets one of them.
  for (const [place, kind] of (['reset_before', 'reset_after'] as const).entries())
    for (const outcome of effort({
      short: [declined, waiting].slice(place, place + 1),
      long: [declined, waiting],
    })) {
      const scene = await setScene(hasty, outcome, `restored-${kind}`);
      if (outcome.waits) assert.equal((await send(hasty, scene)).status, 200);
      await backend.setFault({ operation: 'invoiceitems.create', kind });
      const broken = await (outcome.waits ? drop(scene) : send(hasty, scene));
      assert.equal(broken.status, 503);
      assert.equal((await newestInvoice(hasty, scene)).status, 'void');
      assert.notDeepEqual(await waitingAmounts(backend, scene), scene.waiting);
      if (kind === 'reset_before') await restoreWithoutKey(backend, scene);
      for (let sweeps = 0; sweeps < 2; sweeps += 1) {
        await sweepAll(backend, hasty);
        assert.deepEqual(await waitingAmounts(backend, scene), scene.waiting);
      }
    }
});

test('a request that dies while it drops a change restores what that took when it is repeated', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const [, , waiting] = outcomes;
  for (const [position, body] of [
    { quantity: 2, planId: 'present' },
    { quantity: 3, when: 'periodEnd' },
    { cancelAtPeriodEnd: true },
  ].entries()) {
    const scene = await setScene(hasty, waiting, `dropped-${position}`);
    const { subscriptionId, key } = scene;
    const path = `/subscriptions/${subscriptionId}`;
    const { planId } = await hasty.get<{ readonly planId: string }>(path);
    assert.equal((await send(hasty, scene)).status, 200);
    const sent = 'planId' in body ? { ...body, planId } : body;
    await backend.setFault({ operation: 'invoiceitems.create', kind: 'reset_before' });
    assert.equal((await hasty.tryPatch(path, sent, `${key}-drop`)).status, 503);
    assert.deepEqual(await waitingAmounts(backend, scene), []);
    assert.equal((await hasty.tryPatch(path, sent, `${key}-drop`)).status, 200);
    assert.deepEqual(await waitingAmounts(backend, scene), scene.waiting);
  }
});

test('a cancellation that dies restores what a waiting change took from the customer, once', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const [, , waiting] = outcomes;
  for (const operation of ['subscriptions.cancel', 'invoiceitems.list', 'invoiceitems.create'])
    for (const kind of cutsOf(operation))
      await t.test(`${operation} ${kind}`, async () => {
        const scene = await setScene(hasty, waiting, `canceled-${operation}-${kind}`);
        const { customer } = await backend.stripe.subscriptions.retrieve(scene.processorSubscriptionId);
        const fee = { customer: String(customer), amount: 25_000, currency: 'eur' };
        await backend.stripe.invoiceItems.create(fee);
        assert.equal((await send(hasty, scene)).status, 200);
        assert.deepEqual(await waitingAmounts(backend, scene), []);
        await backend.setFault({ operation, kind });
        const cancel = () => hasty.call('DELETE', `/subscriptions/${scene.subscriptionId}`);
        // Once the subscription is canceled, the event of the voided invoice is enough.
        assert.equal((await cancel()).status, operation === 'subscriptions.cancel' ? 503 : 200);
        assert.equal((await cancel()).status, 200);
        for (let times = 0; times < 2; times += 1) {
          await hasty.settle();
          await sweepAll(backend, hasty);
          assert.deepEqual(await waitingAmounts(backend, scene), [fee.amount]);
        }
      });
});
