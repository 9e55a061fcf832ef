import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import {
  createPaidPayment,
  createPayment,
  type DisputeBody,
  type PaymentBody,
  readPayment,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { stripe } = till;

const inquiry = 'pm_card_createDisputeInquiry';

/** A payment that is disputed at the processor. Till does not know it yet. */
async function createDisputed(card = 'pm_card_createDispute'): Promise<PaymentBody> {
  const payment = await createPaidPayment(till, { card });
  // Moving the clock by no time waits for the dispute, which follows the payment.
  await till.control('clock', { advanceSeconds: 0 });
  return payment;
}

async function disputeAtProcessor(payment: PaymentBody): Promise<Stripe.Dispute> {
  const { data } = await stripe.disputes.list({ payment_intent: payment.processorPaymentIntentId });
  const [newest] = data;
  assert(newest);
  return newest;
}

/** The dispute as the payment must show it. */
async function expectedDispute(payment: PaymentBody): Promise<DisputeBody> {
  const { status, amount, reason, evidence_details: details } = await disputeAtProcessor(payment);
  assert(details.due_by !== null);
  return { status, amount, reason, evidenceDueBy: new Date(details.due_by * 1_000).toISOString() };
}

/** The processor's own events about the dispute of this payment, oldest first. */
async function disputeEvents(payment: PaymentBody): Promise<readonly string[]> {
  const { data } = await stripe.events.list({ limit: 100 });
  return data
    .filter(({ type }) => type.startsWith('charge.dispute.'))
    .map((event) => JSON.stringify(event))
    .filter((event) => event.includes(payment.processorPaymentIntentId))
    .toReversed();
}

/** An event about another dispute of this payment, `later` seconds from now. */
function disputeEvent(payment: PaymentBody, later: number, object: object = {}): string {
  const created = Math.floor(Date.now() / 1_000) + later;
  const { processorPaymentIntentId: payment_intent } = payment;
  const own = { id: `du_${randomUUID()}`, payment_intent, created };
  return eventOf('charge.dispute.created', { ...own, ...object }, { created });
}

async function stateOf(event: string): Promise<string | undefined> {
  const sql = 'select state from till.webhook_events where id = $1';
  return (await till.sql<{ state: string }>(sql, [idOf(event)]))[0]?.state;
}

const disputedTotal = () => till.count('payments_disputed_total');
const calls = (operation: string) => till.count('processor_request_duration_seconds', { operation });

describe('a disputed payment', () => {
  test('shows its dispute through all of its life, keeps its status, and is counted once', async () => {
    const before = await disputedTotal();
    const payment = await createDisputed();
    assert.equal((await readPayment(till, payment)).dispute, null);
    await till.settle();
    const shown = await readPayment(till, payment);
    assert.deepEqual([shown.status, shown.dispute], ['succeeded', await expectedDispute(payment)]);
    assert.equal(shown.dispute?.status, 'needs_response');
    const { id } = await disputeAtProcessor(payment);
    await stripe.disputes.update(id, { evidence: { uncategorized_text: 'winning_evidence' } });
    await till.control('clock', { advanceSeconds: 0 });
    await till.settle();
    const won = await readPayment(till, payment);
    assert.deepEqual([won.status, won.dispute], ['succeeded', await expectedDispute(payment)]);
    assert.equal(won.dispute?.status, 'won');
    assert.equal(await disputedTotal(), before + 1);
    await till.take(...(await disputeEvents(payment)));
    assert.equal(await disputedTotal(), before + 1);
  });

  test('that is lost keeps its status, and its refund is refused in the words of the processor', async () => {
    const payment = await createDisputed();
    await till.settle();
    const refused = await till.call('POST', `/payments/${payment.id}/refund`, { amount: 500 });
    const { processorCode, detail } = await readProblem(refused, 409, 'payment_not_refundable');
    assert.equal(processorCode, 'charge_disputed');
    assert.match(detail, /disput|charged back/i);
    await till.control('clock', { advanceSeconds: 10 * 86_400 });
    await till.settle();
    const lost = await readPayment(till, payment);
    assert.deepEqual([lost.status, lost.dispute?.status, lost.amountRefunded], ['succeeded', 'lost', 0]);
  });

  test('is not charged back by an inquiry, which a refund settles', async () => {
    const payment = await createDisputed(inquiry);
    await till.settle();
    assert.equal((await readPayment(till, payment)).dispute?.status, 'warning_needs_response');
    assert.equal((await till.call('POST', `/payments/${payment.id}/refund`, {})).status, 200);
    await till.settle();
    const refunded = await readPayment(till, payment);
    assert.deepEqual([refunded.status, refunded.dispute?.status], ['refunded', 'warning_closed']);
  });
});

describe('the events of a dispute', () => {
  test('end the same in reverse, each repeated', async () => {
    const payment = await createDisputed(inquiry);
    const { id } = await disputeAtProcessor(payment);
    await stripe.disputes.update(id, { evidence: { uncategorized_text: 'escalate_inquiry_evidence' } });
    await till.control('clock', { advanceSeconds: 0 });
    const events = await disputeEvents(payment);
    assert.equal(events.length, 4);
    for (const event of events.toReversed()) await till.take(event, event);
    assert.deepEqual((await readPayment(till, payment)).dispute, await expectedDispute(payment));
    await till.settle();
    assert.deepEqual((await readPayment(till, payment)).dispute, await expectedDispute(payment));
  });

  test('recover a payment without a row, and leave the payments of others alone', async () => {
    const before = await disputedTotal();
    const payment = await createDisputed();
    await till.sql('delete from till.payments where id = $1', [payment.id]);
    const [created = ''] = await disputeEvents(payment);
    await till.take(created);
    const recovered = await readPayment(till, payment);
    assert.deepEqual([recovered.status, recovered.dispute], ['succeeded', await expectedDispute(payment)]);
    assert.equal(await disputedTotal(), before + 1);
    const [reads, listings] = [await calls('payments.read'), await calls('disputes.list')];
    const foreign = disputeEvent({ ...payment, processorPaymentIntentId: `pi_${randomUUID()}` }, 0);
    const unpaid = await stripe.paymentIntents.create({ amount: 500, currency: 'eur' });
    const other = disputeEvent({ ...payment, processorPaymentIntentId: unpaid.id }, 0);
    await till.take(foreign, other);
    assert.deepEqual([await stateOf(foreign), await stateOf(other)], ['ignored', 'ignored']);
    assert.equal(await calls('payments.read'), reads + 2);
    assert.equal(await calls('disputes.list'), listings, 'the disputes of others are not read');
    await till.settle();
  });

  test('find their payment by an expanded object, or by reading the dispute if they name only the charge', async () => {
    for (const link of ['expanded intent', 'expanded charge', 'charge']) {
      const payment = await createDisputed();
      const [created = ''] = await disputeEvents(payment);
      const { processorPaymentIntentId: intent } = payment;
      const event = JSON.parse(created);
      const { charge } = event.data.object;
      const own = {
        'expanded intent': { payment_intent: { id: intent, object: 'payment_intent', metadata: {} } },
        'expanded charge': {
          payment_intent: null,
          charge: { id: charge, object: 'charge', payment_intent: intent, receipt_email: 'ada@example.com' },
        },
        charge: { payment_intent: null },
      }[link];
      event.data.object = { ...event.data.object, ...own };
      await till.take(JSON.stringify(event));
      assert.deepEqual((await readPayment(till, payment)).dispute, await expectedDispute(payment), link);
      assert.equal(await stateOf(created), 'processed');
    }
    await till.settle();
  });

  test('are ignored if the dispute belongs to no payment intent', async () => {
    const payment = await createPayment(till);
    const event = disputeEvent(payment, 0, { payment_intent: null, charge: 'ch_of_nobody' });
    await till.take(event);
    assert.equal(await stateOf(event), 'ignored');
  });

  test('of several disputes of a payment show the one that was created last, in any order', async () => {
    const before = await disputedTotal();
    const payment = await createPaidPayment(till);
    await till.settle();
    const [reads, listings] = [await calls('disputes.read'), await calls('disputes.list')];
    const created = Math.floor(Date.now() / 1_000);
    const [first, second] = [
      { id: 'du_a', created: created - 100 },
      { id: 'du_b', created },
    ];
    const events = [
      disputeEvent(payment, 1, { ...second, reason: 'duplicate' }),
      disputeEvent(payment, 50, { ...first, status: 'won' }),
      disputeEvent(payment, 2, { ...first, status: 'under_review' }),
    ];
    for (const event of events) await till.take(event);
    assert.equal((await readPayment(till, payment)).dispute?.reason, 'duplicate');
    const sameSecond = disputeEvent(payment, 3, { ...second, id: 'du_c', reason: 'general' });
    await till.take(sameSecond, ...events);
    assert.equal((await readPayment(till, payment)).dispute?.reason, 'general');
    await till.take(disputeEvent(payment, 60, { ...second, reason: 'late' }));
    assert.equal((await readPayment(till, payment)).dispute?.reason, 'general');
    assert.equal(await disputedTotal(), before + 1, 'a payment is counted once, whatever its disputes');
    assert.deepEqual([await calls('disputes.read'), await calls('disputes.list')], [reads, listings]);
  });

  test('may lack a due date or a reason, have an unknown status, or be in another currency', async () => {
    const payment = await createPaidPayment(till);
    const odd = { status: 'brand_new', reason: null, evidence_details: { due_by: null }, amount: 700 };
    await till.take(disputeEvent(payment, 0, { ...odd, id: 'du_odd' }));
    const expected = { status: 'brand_new', amount: 700, reason: null, evidenceDueBy: null };
    assert.deepEqual((await readPayment(till, payment)).dispute, expected);
    const { evidence_details: _, ...without } = { ...odd, id: 'du_odd', status: 'newer' };
    await till.take(disputeEvent(payment, 5, { ...without, evidence_details: undefined, currency: 'USD' }));
    const changed = { ...expected, status: 'newer', amount: null };
    assert.deepEqual((await readPayment(till, payment)).dispute, changed);
  });
});

test('of a dispute only what a payment shows is stored, and nothing of its evidence', async () => {
  const payment = await createDisputed();
  const { id } = await disputeAtProcessor(payment);
  await stripe.disputes.update(id, {
    evidence: { customer_name: 'Ada', customer_purchase_ip: '192.0.2.7', uncategorized_text: 'Ada wrote' },
    metadata: { note: 'Ada' },
  });
  await till.settle();
  assert.equal((await readPayment(till, payment)).dispute?.status, 'under_review');
  const rows = await till.sql<{ payload: string }>(
    'select payload from till.webhook_events where object_id = $1',
    [id],
  );
  assert.equal(rows.length, 3);
  for (const { payload } of rows) {
    assert.doesNotMatch(payload, /Ada|192\.0\.2\.7/);
    assert.deepEqual(Object.keys(JSON.parse(payload).data.object).toSorted(), [
      ...['amount', 'charge', 'created', 'currency', 'evidence_details', 'id', 'object'],
      ...['payment_intent', 'reason', 'status'],
    ]);
    assert.deepEqual(Object.keys(JSON.parse(payload).data.object.evidence_details), ['due_by']);
  }
});
