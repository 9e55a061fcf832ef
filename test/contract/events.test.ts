import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { type Contract, contractCustomer, contractPrice, eventually, useContract } from './support.ts';

const payment = {
  amount: 1_000,
  currency: 'usd',
  confirm: true,
  return_url: 'https://example.com/done',
};

/** Waits for an event of each of these types about objects that `concerns` accepts. */
async function eventsOf(
  { stripe }: Contract,
  since: number,
  types: readonly Stripe.Event.Type[],
  concerns: (object: Readonly<Record<string, unknown>>) => boolean,
): Promise<ReadonlyMap<string, Stripe.Event>> {
  return eventually(async () => {
    const { data } = await stripe.events.list({ created: { gte: since }, types: [...types], limit: 100 });
    const found = new Map<string, Stripe.Event>(
      data
        .filter(({ data: { object } }) => concerns({ ...object }))
        .map((event) => [event.type, event] as const),
    );
    return types.every((type) => found.has(type)) ? found : undefined;
  });
}

test('a payment sends the events of its intent and its charge', async (t) => {
  const contract = await useContract(t);
  const intent = await contract.stripe.paymentIntents.create({
    ...payment,
    payment_method: 'pm_card_visa',
  });
  const found = await eventsOf(
    contract,
    intent.created,
    ['payment_intent.created', 'charge.succeeded', 'payment_intent.succeeded', 'charge.updated'],
    (object) => object['id'] === intent.id || object['payment_intent'] === intent.id,
  );
  const updated = found.get('charge.updated');
  const charge = updated?.data.object as Stripe.Charge;
  assert.match(String(charge.balance_transaction), /^txn_/);
  assert.partialDeepStrictEqual(updated?.data.previous_attributes, { balance_transaction: null });
});

test('a recurring price sends the events of a price and a plan', async (t) => {
  const contract = await useContract(t);
  const price = await contractPrice(contract);
  const concerns = (object: Readonly<Record<string, unknown>>) => object['id'] === price.id;
  await eventsOf(contract, price.created, ['plan.created', 'price.created'], concerns);
});

test('a subscription that is paid at once sends the events of its invoice and its customer', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const [customer, price] = await Promise.all([contractCustomer(contract), contractPrice(contract)]);
  const card = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: card.id,
  });
  const types: Stripe.Event.Type[] = [
    'payment_method.attached',
    'customer.updated',
    'customer.subscription.created',
    'invoice.created',
    'invoice.finalized',
    'charge.succeeded',
    'payment_intent.succeeded',
    'invoice.paid',
    'invoice.payment_succeeded',
  ];
  const concerns = (object: Readonly<Record<string, unknown>>) =>
    object['id'] === customer.id || object['customer'] === customer.id;
  await eventsOf(contract, customer.created, types, concerns);
  const found = await eventsOf(
    contract,
    customer.created,
    ['invoice_payment.paid'],
    (object) => object['invoice'] === subscription.latest_invoice,
  );
  const paid = found.get('invoice_payment.paid')?.data.object as Stripe.InvoicePayment;
  assert.deepEqual([paid.status, paid.amount_paid, paid.payment.type], ['paid', 1_500, 'payment_intent']);
});

test('a disputed payment is charged back, and winning evidence brings the amount back', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const intent = await stripe.paymentIntents.create({
    ...payment,
    payment_method: 'pm_card_createDispute',
  });
  assert.equal(intent.status, 'succeeded');
  const disputed = async (statuses: readonly string[]) =>
    eventually(async () => {
      const [found] = (await stripe.disputes.list({ payment_intent: intent.id })).data;
      return found !== undefined && statuses.includes(found.status) ? found : undefined;
    });
  const dispute = await disputed(['needs_response']);
  assert.deepEqual(
    [dispute.reason, dispute.amount, dispute.charge, dispute.is_charge_refundable],
    ['fraudulent', 1_000, intent.latest_charge, false],
  );
  await assert.rejects(stripe.refunds.create({ payment_intent: intent.id }), { code: 'charge_disputed' });
  await stripe.disputes.update(dispute.id, { evidence: { uncategorized_text: 'winning_evidence' } });
  await disputed(['won']);
  await eventsOf(
    contract,
    intent.created,
    [
      'charge.dispute.created',
      'charge.dispute.funds_withdrawn',
      'charge.dispute.updated',
      'charge.dispute.closed',
      'charge.dispute.funds_reinstated',
    ],
    (object) => object['id'] === dispute.id,
  );
});
