import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CrashPoint } from '../../src/idempotency/crash-points.ts';
import {
  assertMadeOnce,
  type CreationCase,
  creationCase,
  type Ground,
  layGround,
} from '../support/creations.ts';
import { type Answer, type Lab, type LabTill, startLab, startLabTill } from '../support/fault-lab.ts';

/** A creation that stands still between the processor's answer and its own row. */
interface StandingStill {
  readonly lab: Lab;
  readonly till: LabTill;
  readonly ground: Ground;
  /** Lets it go on, and checks what came of it. */
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
  const lab = await startLab(t);
  lab.atEnd(goesOn.resolve);
  const till = await startLabTill(t, lab, { crashPoints });
  const ground = await layGround(lab, till.post);
  watched = crashPoint;
  const answer = till.post(creation.path(ground), creation.body(ground), 'overtaken');
  await reached.promise;
  return {
    lab,
    till,
    ground,
    goOn: async () => {
      goesOn.resolve();
      const answered = await answer;
      assert.equal(answered.status, creation.status, JSON.stringify(answered.body));
      assert.equal(answered.replayed, false);
      await assertMadeOnce(lab, ground, creation, 'overtaken');
      return answered;
    },
  };
}

/** The id and the status that the one row of the creation has. */
async function rowOf({ lab }: StandingStill, table: string, where: string, value: string) {
  const rows = await lab.sql<{ id: string; status: string }>(
    `select id, status from till.${table} where ${where} = $1`,
    [value],
  );
  assert.equal(rows.length, 1);
  return rows[0];
}

test('a webhook that overtakes the row of a payment makes it, under the id that the answer has', async (t) => {
  const scene = await standStill(t, creationCase('payments.create'), 'record.before');
  const { lab, till, ground } = scene;
  const [intent] = (await lab.dashboard.paymentIntents.list({ customer: ground.processorCustomerId })).data;
  assert(intent);
  await lab.dashboard.paymentIntents.confirm(intent.id, {
    payment_method: 'pm_card_visa',
    return_url: 'https://shop.example.com/done',
  });
  const present = await till.processor.payments.read(intent.id);
  assert(present);
  await till.database.transaction((tx) =>
    till.services.mirrors.payments.apply(tx, [present.payment], 'events'),
  );
  const overtaking = await rowOf(scene, 'payments', 'customer_id', ground.customerId);
  const { body } = await scene.goOn();
  const row = await rowOf(scene, 'payments', 'customer_id', ground.customerId);
  assert.deepEqual(row, overtaking);
  assert.equal(row?.status, 'succeeded');
  assert.deepEqual(idAndStatus(body['payment']), row);
});

test('a webhook that overtakes the row of a subscription makes it, and is not undone by what was true before', async (t) => {
  const scene = await standStill(t, creationCase('subscriptions.create'), 'record.before');
  const { lab, till, ground } = scene;
  const [subscription] = (await lab.dashboard.subscriptions.list({ customer: ground.processorCustomerId }))
    .data;
  assert(subscription);
  const { payments } = await lab.dashboard.invoices.retrieve(String(subscription.latest_invoice), {
    expand: ['payments'],
  });
  await lab.dashboard.paymentIntents.confirm(String(payments?.data[0]?.payment.payment_intent), {
    payment_method: 'pm_card_visa',
    return_url: 'https://shop.example.com/done',
  });
  const present = await till.processor.subscriptions.read(subscription.id);
  assert(present);
  await till.database.transaction((tx) =>
    till.services.mirrors.subscriptions.apply(tx, [present.subscription], 'events'),
  );
  const overtaking = await rowOf(scene, 'subscriptions', 'customer_id', ground.customerId);
  const { body } = await scene.goOn();
  const row = await rowOf(scene, 'subscriptions', 'customer_id', ground.customerId);
  assert.deepEqual(row, overtaking);
  assert.equal(row?.status, 'active');
  assert.deepEqual(idAndStatus(body['subscription']), row);
});

test('a webhook that overtakes the answer to a refund settles what was reserved, and counts it once', async (t) => {
  const scene = await standStill(t, creationCase('refunds.create'), 'record.before');
  const { till, ground } = scene;
  const facts = await till.processor.refunds.listOfPayment(ground.processorPaymentIntentId);
  assert.equal(facts.length, 1);
  await till.database.transaction((tx) => till.services.mirrors.refunds.apply(tx, facts, 'events'));
  const overtaking = await rowOf(scene, 'refunds', 'payment_id', ground.paymentId);
  const { body } = await scene.goOn();
  const row = await rowOf(scene, 'refunds', 'payment_id', ground.paymentId);
  assert.deepEqual(row, overtaking);
  assert.deepEqual(idAndStatus(body['refund']), row);
  const [payment] = await scene.lab.sql<{ amount_refunded: string }>(
    'select amount_refunded from till.payments where id = $1',
    [ground.paymentId],
  );
  assert.equal(payment?.amount_refunded, '700');
});

test('a webhook that meets the row of a payment whose claim is still open makes no second one', async (t) => {
  const scene = await standStill(t, creationCase('payments.create'), 'record.row');
  const { lab, till, ground } = scene;
  const [intent] = (await lab.dashboard.paymentIntents.list({ customer: ground.processorCustomerId })).data;
  const present = await till.processor.payments.read(intent?.id ?? '');
  assert(present);
  const applied = till.database.transaction((tx) =>
    till.services.mirrors.payments.apply(tx, [present.payment], 'events'),
  );
  await scene.goOn();
  await applied;
  assert.equal(await creationCase('payments.create').countRows(lab, ground), 1);
});

test('a refund that is only reserved is not listed: the processor has not heard of it yet', async (t) => {
  const scene = await standStill(t, creationCase('refunds.create'), 'call.before');
  const path = `/api/v1/payments/${scene.ground.paymentId}/refunds`;
  const reserved = await scene.till.get(path);
  assert.deepEqual([reserved.body['total'], reserved.body['data']], [0, []]);
  const { body } = await scene.goOn();
  const listed = await scene.till.get(path);
  assert.deepEqual([listed.body['total'], listed.body['data']], [1, [body['refund']]]);
});

function idAndStatus(resource: unknown): { readonly id: unknown; readonly status: unknown } {
  assert(typeof resource === 'object' && resource !== null && 'id' in resource && 'status' in resource);
  return { id: resource.id, status: resource.status };
}
