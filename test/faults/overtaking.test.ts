import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CrashPoint } from '#engine/idempotency/claim.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { subscribed, useCard } from '../support/changes.ts';
import type { Answer } from '../support/client.ts';
import {
  assertCreatedOnce,
  type CreationCase,
  createPrerequisites,
  creationCase,
  type Prerequisites,
} from '../support/creation-cases.ts';
import { confirmIntent, createPlan, type SubscriptionBody } from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

/** A creation that is paused between the processor's response and its own row. */
interface StandingStill {
  readonly backend: Backend;
  readonly till: TillInProcess;
  readonly prerequisites: Prerequisites;
  /** Lets it continue, and checks the result. */
  readonly goOn: () => Promise<Answer>;
}

async function standStill(
  t: TestContext,
  creation: CreationCase,
  crashPoint: CrashPoint,
): Promise<StandingStill> {
  const reached = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  let watched: CrashPoint | undefined;
  const crashPoints = {
    pass: async (passed: CrashPoint) => {
      if (passed !== watched) return;
      reached.resolve();
      await goesOn.promise;
    },
  };
  const backend = await startBackend(t);
  backend.atEnd(goesOn.resolve);
  const till = await startTill({ in: 'process', on: backend, crashPoints });
  const prerequisites = await createPrerequisites(backend, till);
  watched = crashPoint;
  const response = till.tryPost(creation.path(prerequisites), creation.body(prerequisites), 'overtaken');
  await reached.promise;
  return {
    backend,
    till,
    prerequisites,
    goOn: async () => {
      goesOn.resolve();
      const answered = await response;
      assert.equal(answered.status, creation.status, JSON.stringify(answered.body));
      assert.equal(answered.replayed, false);
      await assertCreatedOnce(backend, prerequisites, creation, 'overtaken');
      return answered;
    },
  };
}

/** The id and the status that the one row of the creation has. */
async function rowOf({ backend }: StandingStill, table: string, where: string, value: string) {
  const rows = await backend.sql<{ id: string; status: string }>(
    `select id, status from till.${table} where ${where} = $1`,
    [value],
  );
  assert.equal(rows.length, 1);
  return rows[0];
}

test('a webhook that arrives before the row of a payment creates it, with the id in the response', async (t) => {
  const scene = await standStill(t, creationCase('payments.create'), 'record.before');
  const { backend, till, prerequisites } = scene;
  const [intent] = (await backend.stripe.paymentIntents.list({ customer: prerequisites.processorCustomerId }))
    .data;
  assert(intent);
  await confirmIntent(backend, intent.id);
  await till.settle();
  const overtaking = await rowOf(scene, 'payments', 'customer_id', prerequisites.customerId);
  const { body } = await scene.goOn();
  const row = await rowOf(scene, 'payments', 'customer_id', prerequisites.customerId);
  assert.deepEqual(row, overtaking);
  assert.equal(row?.status, 'succeeded');
  assert.deepEqual(idAndStatus(body['payment']), row);
});

test('a webhook that arrives before an off-session charge is recorded does not hide its outcome', async (t) => {
  const payments = creationCase('payments.create');
  const charge: CreationCase = {
    ...payments,
    body: (prerequisites) => ({
      ...payments.body(prerequisites),
      ...{ description: 'Order', paymentMethodId: 'pm_card_authenticationRequired', offSession: true },
    }),
  };
  const { backend, till, prerequisites, goOn } = await standStill(t, charge, 'record.before');
  const { data } = await backend.stripe.events.list({ type: 'payment_intent.created' });
  const created = data.find(
    ({ data: { object } }) =>
      object.object === 'payment_intent' && object.customer === prerequisites.processorCustomerId,
  );
  await till.take(JSON.stringify(created));
  const { body } = await goOn();
  // The body is a payment with its secret.
  const payment = body['payment'] as {
    readonly id: string;
    readonly status: string;
    readonly description: string;
  };
  assert.deepEqual([payment.status, payment.description], ['requires_action', 'Order']);
  assert.deepEqual(await till.get(`/payments/${payment.id}`), payment);
});

test('a webhook that arrives before the row of a subscription creates it, and older data does not undo it', async (t) => {
  const scene = await standStill(t, creationCase('subscriptions.create'), 'record.before');
  const { backend, till, prerequisites } = scene;
  const [subscription] = (
    await backend.stripe.subscriptions.list({ customer: prerequisites.processorCustomerId })
  ).data;
  assert(subscription);
  const { payments } = await backend.stripe.invoices.retrieve(String(subscription.latest_invoice), {
    expand: ['payments'],
  });
  await confirmIntent(backend, String(payments?.data[0]?.payment.payment_intent));
  await till.settle();
  const overtaking = await rowOf(scene, 'subscriptions', 'customer_id', prerequisites.customerId);
  const { body } = await scene.goOn();
  const row = await rowOf(scene, 'subscriptions', 'customer_id', prerequisites.customerId);
  assert.deepEqual(row, overtaking);
  assert.equal(row?.status, 'active');
  assert.deepEqual(idAndStatus(body['subscription']), row);
});

for (const dies of [false, true])
  test(`a webhook that arrives before a declined change is recorded leaves no pending change${dies ? ', even if the process dies' : ''}`, async (t) => {
    const backend = await startBackend(t);
    const proxy = await startProcessorProxy(backend);
    let isDying = false;
    const pass = async (passed: CrashPoint) => {
      if (isDying && passed === 'response.before') throw new Error('the process dies');
    };
    const till = await startTill({
      in: 'process',
      on: backend,
      processorUrl: proxy.url,
      crashPoints: { pass },
    });
    const plan = await createPlan(till, { amount: 5_000 });
    const { subscription } = await subscribed(till);
    await useCard(till, subscription, 'pm_card_chargeCustomerFail');
    const path = `/subscriptions/${subscription.id}`;
    const change = () => till.tryPatch(path, { planId: plan.id, proration: 'invoice' }, 'declined');
    proxy.holdOne(`/v1${path.replace(subscription.id, subscription.processorSubscriptionId)}`);
    isDying = dies;
    const response = change();
    const goOn = await (await proxy.nextHeld()).holdResponse();
    await till.take(await pendingEventOf(backend, subscription));
    assert.notEqual((await till.get<SubscriptionBody>(path)).pendingChange, null);
    goOn();
    assert.equal((await response).status, dies ? 500 : 402);
    isDying = false;
    if (dies) assert.equal((await change()).status, 402);
    const shown = await till.get<SubscriptionBody>(path);
    assert.equal(shown.pendingChange, null);
    assert.equal(shown.planId, subscription.planId);
  });

/** The event that shows the change of this subscription while its payment is not declined yet. */
async function pendingEventOf(
  { stripe }: Backend,
  { processorSubscriptionId }: Pick<SubscriptionBody, 'processorSubscriptionId'>,
): Promise<string> {
  const { data } = await stripe.events.list({ type: 'customer.subscription.updated' });
  const event = data.find(
    ({ data: { object } }) =>
      object.object === 'subscription' && object.id === processorSubscriptionId && object.pending_update,
  );
  assert(event);
  return JSON.stringify(event);
}

test('a webhook that arrives before the response to a refund settles the reserved amount, and counts it once', async (t) => {
  const scene = await standStill(t, creationCase('refunds.create'), 'record.before');
  const { till, prerequisites } = scene;
  await till.settle();
  const overtaking = await rowOf(scene, 'refunds', 'payment_id', prerequisites.paymentId);
  const { body } = await scene.goOn();
  const row = await rowOf(scene, 'refunds', 'payment_id', prerequisites.paymentId);
  assert.deepEqual(row, overtaking);
  assert.deepEqual(idAndStatus(body['refund']), row);
  const [payment] = await scene.backend.sql<{ amount_refunded: number }>(
    'select amount_refunded from till.payments where id = $1',
    [prerequisites.paymentId],
  );
  assert.equal(payment?.amount_refunded, 700);
});

test('a webhook about a payment whose claim is still open creates no second row', async (t) => {
  const scene = await standStill(t, creationCase('payments.create'), 'record.row');
  const { backend, till, prerequisites } = scene;
  const applied = till.settle();
  await scene.goOn();
  await applied;
  assert.equal(await creationCase('payments.create').countRows(backend, prerequisites), 1);
});

test('a refund that is only reserved is not listed: the processor does not have it yet', async (t) => {
  const scene = await standStill(t, creationCase('refunds.create'), 'call.before');
  const path = `/payments/${scene.prerequisites.paymentId}/refunds`;
  const reserved = await scene.till.tryGet(path);
  assert.deepEqual([reserved.body['total'], reserved.body['data']], [0, []]);
  const { body } = await scene.goOn();
  const listed = await scene.till.tryGet(path);
  assert.deepEqual([listed.body['total'], listed.body['data']], [1, [body['refund']]]);
});

function idAndStatus(resource: unknown): { readonly id: unknown; readonly status: unknown } {
  assert(typeof resource === 'object' && resource !== null && 'id' in resource && 'status' in resource);
  return { id: resource.id, status: resource.status };
}
