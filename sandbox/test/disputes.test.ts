import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { startSandbox } from '../sandbox.ts';
import { clientOf, eventTypes, type TestSandbox, useSandbox } from './support.ts';

/** A disputed payment. Moving the clock by no time waits for the dispute, which follows the payment. */
async function disputed({ stripe, advance }: TestSandbox, payment_method = 'pm_card_createDispute') {
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    payment_method,
    return_url: 'https://example.com/done',
  });
  assert.equal(intent.status, 'succeeded');
  await advance(0);
  const [dispute] = (await stripe.disputes.list({ payment_intent: intent.id })).data;
  assert.ok(dispute);
  return { intent, dispute };
}

const disputeTypes = async (stripe: Stripe) =>
  (await eventTypes(stripe)).filter((type) => type.startsWith('charge.dispute.'));

test('a payment with a disputed card succeeds, then is disputed and its amount withdrawn', async (t) => {
  const used = await useSandbox(t);
  const { stripe } = used;
  const { intent, dispute } = await disputed(used);
  assert.deepEqual(
    [dispute.status, dispute.reason, dispute.amount, dispute.charge, dispute.is_charge_refundable],
    ['needs_response', 'fraudulent', 1_000, intent.latest_charge, false],
  );
  assert.deepEqual(
    dispute.balance_transactions.map(({ amount, fee, net }) => [amount, fee, net]),
    [[-1_000, 1_500, -2_500]],
  );
  assert.ok((dispute.evidence_details.due_by ?? 0) > dispute.created + 6 * 86_400);
  const charge = await stripe.charges.retrieve(String(intent.latest_charge));
  assert.deepEqual([charge.disputed, charge.paid, charge.refunded], [true, true, false]);
  assert.equal((await stripe.paymentIntents.retrieve(intent.id)).status, 'succeeded');
  assert.deepEqual((await eventTypes(stripe)).slice(-5), [
    'charge.succeeded',
    'payment_intent.succeeded',
    'charge.updated',
    'charge.dispute.created',
    'charge.dispute.funds_withdrawn',
  ]);
  await assert.rejects(stripe.refunds.create({ payment_intent: intent.id }), { code: 'charge_disputed' });
  assert.equal((await stripe.disputes.list({ charge: String(intent.latest_charge) })).data.length, 1);
  assert.equal((await stripe.disputes.retrieve(dispute.id)).id, dispute.id);
  await assert.rejects(stripe.disputes.retrieve('du_none'), { statusCode: 404, code: 'resource_missing' });
});

test('winning evidence wins the dispute and brings the amount back', async (t) => {
  const used = await useSandbox(t);
  const { stripe, advance } = used;
  const { intent, dispute } = await disputed(used);
  const staged = await stripe.disputes.update(dispute.id, {
    evidence: { customer_name: 'Jenny' },
    submit: false,
  });
  assert.deepEqual(
    [staged.status, staged.evidence_details.has_evidence, staged.evidence_details.submission_count],
    ['needs_response', true, 0],
  );
  const sent = await stripe.disputes.update(dispute.id, {
    evidence: { uncategorized_text: 'winning_evidence' },
  });
  assert.deepEqual(
    [sent.status, sent.evidence.customer_name, sent.evidence_details.submission_count],
    ['under_review', 'Jenny', 1],
  );
  await advance(0);
  const won = await stripe.disputes.retrieve(dispute.id);
  assert.equal(won.status, 'won');
  assert.deepEqual(
    won.balance_transactions.map(({ net }) => net),
    [-2_500, 2_500],
  );
  assert.deepEqual((await disputeTypes(stripe)).slice(2), [
    'charge.dispute.updated',
    'charge.dispute.updated',
    'charge.dispute.closed',
    'charge.dispute.funds_reinstated',
  ]);
  await assert.rejects(stripe.disputes.close(dispute.id), { statusCode: 400 });
  assert.equal((await stripe.refunds.create({ payment_intent: intent.id })).status, 'succeeded');
});

test('losing evidence, no evidence in time, and closing all lose the dispute', async (t) => {
  const used = await useSandbox(t);
  const { stripe, advance } = used;
  const losing = await disputed(used);
  await stripe.disputes.update(losing.dispute.id, { evidence: { uncategorized_text: 'losing_evidence' } });
  const closed = await disputed(used, 'pm_card_createDisputeProductNotReceived');
  assert.equal(closed.dispute.reason, 'product_not_received');
  assert.equal((await stripe.disputes.close(closed.dispute.id)).status, 'lost');
  const silent = await disputed(used);
  await advance(20 * 86_400);
  for (const { dispute } of [losing, closed, silent])
    assert.equal((await stripe.disputes.retrieve(dispute.id)).status, 'lost');
  assert.equal((await stripe.disputes.retrieve(silent.dispute.id)).evidence_details.past_due, true);
  const types = await disputeTypes(stripe);
  assert.equal(types.filter((type) => type === 'charge.dispute.closed').length, 3);
  assert.ok(!types.includes('charge.dispute.funds_reinstated'));
  await assert.rejects(
    stripe.disputes.update(losing.dispute.id, { evidence: { uncategorized_text: 'winning_evidence' } }),
    { statusCode: 400 },
  );
});

test('an inquiry withdraws nothing, can be refunded, and can be escalated', async (t) => {
  const used = await useSandbox(t);
  const { stripe, advance } = used;
  const refunded = await disputed(used, 'pm_card_createDisputeInquiry');
  assert.deepEqual(
    [
      refunded.dispute.status,
      refunded.dispute.balance_transactions,
      refunded.dispute.payment_method_details?.card?.case_type,
    ],
    ['warning_needs_response', [], 'inquiry'],
  );
  assert.deepEqual(await disputeTypes(stripe), ['charge.dispute.created']);
  await stripe.refunds.create({ payment_intent: refunded.intent.id });
  assert.equal((await stripe.disputes.retrieve(refunded.dispute.id)).status, 'warning_closed');
  const { dispute } = await disputed(used, 'pm_card_createDisputeInquiry');
  await stripe.disputes.update(dispute.id, { evidence: { uncategorized_text: 'escalate_inquiry_evidence' } });
  await advance(0);
  const escalated = await stripe.disputes.retrieve(dispute.id);
  assert.deepEqual(
    [escalated.status, escalated.is_charge_refundable, escalated.balance_transactions.length],
    ['needs_response', false, 1],
  );
  assert.deepEqual((await disputeTypes(stripe)).slice(-3), [
    'charge.dispute.updated',
    'charge.dispute.updated',
    'charge.dispute.funds_withdrawn',
  ]);
});

test('an authorization is disputed only once it is captured', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    capture_method: 'manual',
    confirm: true,
    payment_method: 'pm_card_createDispute',
    return_url: 'https://example.com/done',
  });
  await advance(3_600);
  assert.equal((await stripe.disputes.list()).data.length, 0);
  await stripe.paymentIntents.capture(intent.id, { amount_to_capture: 600 });
  await advance(0);
  assert.equal((await stripe.disputes.list()).data[0]?.amount, 600);
});

test('a dispute and its deadline survive a restart', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-disputes-'));
  t.after(() => rm(dataDir, { recursive: true }));
  const before = await startSandbox({ port: 0, dataDir });
  t.after(() => before.close());
  const payment = {
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    payment_method: 'pm_card_createDispute',
    return_url: 'https://example.com/done',
  };
  await clientOf(before.port).paymentIntents.create(payment);
  await before.close();
  const after = await startSandbox({ port: 0, dataDir });
  t.after(() => after.close());
  const stripe = clientOf(after.port);
  assert.equal((await stripe.disputes.list()).data[0]?.status, 'needs_response');
  const body = JSON.stringify({ advanceSeconds: 20 * 86_400 });
  await fetch(`${after.url}/sandbox/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  assert.equal((await stripe.disputes.list()).data[0]?.status, 'lost');
});

test('staged evidence is sent to the bank by a later request', async (t) => {
  const used = await useSandbox(t);
  const { stripe, advance } = used;
  const { dispute } = await disputed(used);
  await assert.doesNotReject(stripe.disputes.update(dispute.id, { submit: true }));
  const staged = await stripe.disputes.update(dispute.id, {
    evidence: { uncategorized_text: 'winning_evidence' },
    submit: false,
  });
  assert.deepEqual([staged.status, staged.evidence_details.submission_count], ['needs_response', 0]);
  const annotated = await stripe.disputes.update(dispute.id, { metadata: { seen: 'yes' } });
  assert.equal(annotated.status, 'needs_response');
  const sent = await stripe.disputes.update(dispute.id, { submit: true });
  assert.deepEqual([sent.status, sent.evidence_details.submission_count], ['under_review', 1]);
  await advance(0);
  assert.equal((await stripe.disputes.retrieve(dispute.id)).status, 'won');
});
