import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { noRevisions } from '#engine/mirrors/refresh.ts';
import { readEvents } from '../support/checks/outbox.ts';
import { confirmPayment, createPayment, type PaymentBody, readPayment } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

const till = await startTill({ in: 'process', for: { after } });
const { stripe } = till;

const secondsNow = () => Math.floor(Date.now() / 1_000);

/** An event about a charge of this payment, created `later` seconds from now. */
function chargeEvent(type: string, payment: PaymentBody, later: number, more: object = {}): string {
  const created = secondsNow() + later;
  const object = {
    id: `ch_${randomUUID()}`,
    payment_intent: payment.processorPaymentIntentId,
    created,
    metadata: { till_id: payment.id },
    ...more,
  };
  return eventOf(type, object, { created });
}

async function stateOf(event: string): Promise<string | undefined> {
  const [row] = await till.sql<{ state: string }>('select state from till.webhook_events where id = $1', [
    idOf(event),
  ]);
  return row?.state;
}

/** Sends the processor's own events of this payment, of these types only. */
async function deliverOnly(payment: PaymentBody, ...types: readonly string[]): Promise<void> {
  const { data } = await stripe.events.list({ types: [...types] as [string], limit: 100 });
  const own = data.filter(({ data: { object } }) =>
    JSON.stringify(object).includes(payment.processorPaymentIntentId),
  );
  assert.equal(own.length, types.length);
  await till.take(...own.map((event) => JSON.stringify(event)));
}

/** `amountRefunded` of each event `payment.refunded` of this payment. */
async function refundedSums({ id }: PaymentBody): Promise<readonly unknown[]> {
  const events = await readEvents(till.sql, id);
  return events.flatMap(({ type, data }) => (type === 'payment.refunded' ? [data['amountRefunded']] : []));
}

describe('the payment method of a payment', () => {
  test('is that of the latest charge, in whatever order the charges arrive', async () => {
    const payment = await createPayment(till);
    const [first, last] = [
      chargeEvent('charge.failed', payment, 10),
      chargeEvent('charge.succeeded', payment, 20, { payment_method: 'pm_2' }),
    ];
    await till.take(last);
    await till.take(first);
    const shown = await readPayment(till, payment);
    assert.deepEqual(shown.paymentMethod, {
      ...{ id: 'pm_2', type: 'card', brand: 'visa', last4: '4242', expMonth: 12, expYear: 2034 },
    });
    assert.deepEqual([await stateOf(first), await stateOf(last)], ['processed', 'processed']);
  });

  test('is read from the processor if two charges are of one second', async () => {
    const payment = await createPayment(till);
    await assert.rejects(confirmPayment(till, payment, 'pm_card_visa_chargeDeclined'));
    const { data } = await stripe.charges.list({ payment_intent: payment.processorPaymentIntentId });
    const created = data[0]?.created;
    await till.take(chargeEvent('charge.failed', payment, 0, { created, payment_method: 'pm_other' }));
    await till.settle();
    assert.equal((await readPayment(till, payment)).paymentMethod?.id, data[0]?.payment_method);
  });

  test('is not cleared by an event that was stored without it', async () => {
    const payment = await createPayment(till);
    await confirmPayment(till, payment);
    await till.settle();
    const { paymentMethod } = await readPayment(till, payment);
    assert.notEqual(paymentMethod, null);
    await till.sql(
      `update till.webhook_events set payload =
         jsonb_set(payload::jsonb, '{data,object,payment_method_details}', 'null')::text
       where type = 'charge.succeeded'`,
    );
    const [event] = await till.sql<{ id: string }>(
      `select id from till.webhook_events where type = 'charge.succeeded' and payload like '%' || $1 || '%'`,
      [payment.processorPaymentIntentId],
    );
    await till.sql(
      'update till.payments set payment_method = null, processor_charge_id = null where id = $1',
      [payment.id],
    );
    await till.fetch(`/api/v1/webhook-events/${event?.id}/replay`, { method: 'POST' });
    await till.drain();
    assert.deepEqual((await readPayment(till, payment)).paymentMethod, paymentMethod, 'it was read again');
    await till.fetch(`/api/v1/webhook-events/${event?.id}/replay`, { method: 'POST' });
    await till.drain();
    assert.deepEqual((await readPayment(till, payment)).paymentMethod, paymentMethod);
  });
});

describe('an authorisation', () => {
  for (const [type, act, status] of [
    [
      'charge.captured',
      (intent: string) => stripe.paymentIntents.capture(intent, { amount_to_capture: 700 }),
      'succeeded',
    ],
    ['charge.expired', () => till.control('clock', { advanceSeconds: 7 * 86_400 }), 'canceled'],
  ] as const) {
    test(`ends with ${type} alone, if no other event says so`, async () => {
      const payment = await createPayment(till, { captureMethod: 'manual' });
      await confirmPayment(till, payment);
      await deliverOnly(payment, 'payment_intent.amount_capturable_updated', 'charge.succeeded');
      assert.equal((await readPayment(till, payment)).amountCapturable, 2_000);
      await act(payment.processorPaymentIntentId);
      await deliverOnly(payment, type);
      const ended = await readPayment(till, payment);
      assert.deepEqual([ended.status, ended.amountCapturable], [status, 0]);
      await till.settle();
    });
  }
});

describe('a released authorisation', () => {
  test('does not count as a refund if the event of the payment arrives last; a refund of the captured part does', async () => {
    const payment = await createPayment(till, { captureMethod: 'manual' });
    const intent = payment.processorPaymentIntentId;
    await confirmPayment(till, payment);
    await deliverOnly(payment, 'payment_intent.amount_capturable_updated');
    await stripe.paymentIntents.capture(intent, { amount_to_capture: 700 });
    await deliverOnly(payment, 'refund.created');
    // Only the payment shows what the refund is, so it was read.
    const early = await readPayment(till, payment);
    assert.deepEqual([early.status, early.amountReceived, early.amountRefunded], ['succeeded', 700, 0]);
    await deliverOnly(payment, 'payment_intent.succeeded');
    const captured = await readPayment(till, payment);
    assert.deepEqual(
      [captured.status, captured.amountReceived, captured.amountRefunded],
      ['succeeded', 700, 0],
    );
    await stripe.refunds.create({ payment_intent: intent, amount: 700 });
    await till.settle();
    const refunded = await readPayment(till, payment);
    assert.deepEqual([refunded.status, refunded.amountRefunded], ['refunded', 700]);
    assert.deepEqual(await refundedSums(payment), [700]);
  });

  test('updates the payment from the processor if no event of the payment has said how it ended', async () => {
    const canceled = await createPayment(till, { captureMethod: 'manual' });
    await confirmPayment(till, canceled);
    await stripe.paymentIntents.cancel(canceled.processorPaymentIntentId);
    await deliverOnly(canceled, 'charge.refunded');
    const shown = await readPayment(till, canceled);
    assert.deepEqual([shown.status, shown.amountRefunded], ['canceled', 0]);
    await till.settle();
    assert.deepEqual(await refundedSums(canceled), []);
  });

  test('does not count as a refund if a resync applies it before the payment', async () => {
    const payment = await createPayment(till, { captureMethod: 'manual' });
    const intent = payment.processorPaymentIntentId;
    await confirmPayment(till, payment);
    await stripe.paymentIntents.capture(intent, { amount_to_capture: 700 });
    await stripe.refunds.create({ payment_intent: intent, amount: 200 });
    const listed = await till.processor.refunds.listOfPayment(intent);
    await till.database.transaction((tx) => till.services.mirrors.refunds.apply(tx, listed, noRevisions));
    assert.equal((await readPayment(till, payment)).amountRefunded, 0);
    await till.services.resync.all();
    const shown = await readPayment(till, payment);
    assert.deepEqual([shown.amountReceived, shown.amountRefunded], [700, 200]);
    await till.settle();
    assert.deepEqual(await refundedSums(payment), [200]);
  });
});

describe('a charge whose payment has no row', () => {
  test('recovers a payment that Till created, with all that it shows', async () => {
    const payment = await createPayment(till, { captureMethod: 'manual', description: 'Order 7' });
    await confirmPayment(till, payment);
    await till.sql('delete from till.payments where id = $1', [payment.id]);
    await deliverOnly(payment, 'charge.succeeded');
    const recovered = await readPayment(till, payment);
    assert.deepEqual(
      [recovered.description, recovered.amountCapturable, recovered.paymentMethod?.last4],
      ['Order 7', 2_000, '4242'],
    );
    await till.settle();
    assert.deepEqual(await readPayment(till, payment), recovered);
  });

  test('is ignored if Till did not create the payment, or if it belongs to no payment intent', async () => {
    const payment = await createPayment(till);
    const [type, nobody] = ['charge.succeeded', { metadata: {}, payment_intent: `pi_${randomUUID()}` }];
    const before = await till.count('webhook_events_ignored_total', { type });
    const events = [nobody, { ...nobody, payment_intent: null }].map((more) =>
      chargeEvent(type, payment, 1, more),
    );
    await till.take(...events);
    for (const event of events) assert.equal(await stateOf(event), 'ignored');
    assert.equal(await till.count('webhook_events_ignored_total', { type }), before + 2);
  });
});

describe('a payment first recorded from a late event', () => {
  test('gets what events do not contain from the processor', async () => {
    const payment = await createPayment(till, { description: 'Order 8' });
    await confirmPayment(till, payment);
    await till.settle();
    const shown = await readPayment(till, payment);
    await till.sql('delete from till.payments where id = $1', [payment.id]);
    // As after a restore: the payment is older than a minute, by the time in its id.
    const oldId = payment.id.replace(/^.{8}/, '0199d3a2');
    await stripe.paymentIntents.update(payment.processorPaymentIntentId, { metadata: { till_id: oldId } });
    const [event] = (await stripe.events.list({ type: 'payment_intent.succeeded' })).data;
    const renamed = { ...JSON.parse(JSON.stringify(event)), id: `evt_${randomUUID()}` };
    renamed.data.object.metadata.till_id = oldId;
    await till.take(JSON.stringify(renamed));
    const recovered = await readPayment(till, { id: oldId });
    assert.deepEqual(
      [recovered.description, recovered.paymentMethod],
      [shown.description, shown.paymentMethod],
    );
  });
});
