import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import {
  advanceClock,
  type Contract,
  contractClock,
  contractCustomer,
  contractPrice,
  eventually,
  useContract,
} from './support.ts';

const hourSeconds = 3_600;

/** An active subscription to 10.00 USD, whose next payments use this card, and a dearer price. */
async function subscribedThen(contract: Contract, card: string, clock?: string) {
  const { stripe } = contract;
  const customer =
    clock === undefined
      ? await contractCustomer(contract)
      : await stripe.customers.create({ test_clock: clock });
  const attach = async (name: string) =>
    (await stripe.paymentMethods.attach(name, { customer: customer.id })).id;
  const price = await contractPrice(contract, 1_000);
  const dearer = await contractPrice(contract, 5_000);
  const good = await attach('pm_card_visa');
  const { id } = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: good,
    billing_mode: { type: 'classic' },
  });
  const subscription = await stripe.subscriptions.update(id, { default_payment_method: await attach(card) });
  assert.equal(subscription.status, 'active');
  const item = String(subscription.items.data[0]?.id);
  const change = (more: Partial<Stripe.SubscriptionUpdateParams> = {}) =>
    stripe.subscriptions.update(id, {
      items: [{ id: item, price: dearer.id }],
      proration_behavior: 'always_invoice',
      payment_behavior: 'pending_if_incomplete',
      expand: ['latest_invoice.confirmation_secret'],
      ...more,
    });
  return { customer, price, dearer, good, subscription, item, change };
}

const invoiceOf = (subscription: Stripe.Subscription) => subscription.latest_invoice as Stripe.Invoice;

async function eventOf({ stripe }: Contract, type: Stripe.Event.Type, id: string): Promise<Stripe.Event> {
  return eventually(async () => {
    const { data } = await stripe.events.list({ type, limit: 100 });
    return data.find(({ data: { object } }) => 'id' in object && object.id === id);
  });
}

test('a change that is paid applies at once', async (t) => {
  const contract = await useContract(t);
  const { dearer, change } = await subscribedThen(contract, 'pm_card_mastercard');
  const changed = await change();
  assert.deepEqual(
    [changed.pending_update, changed.items.data[0]?.price.id, invoiceOf(changed).status],
    [null, dearer.id, 'paid'],
  );
});

test('a declined change leaves the subscription as it was until its invoice is paid', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { price, dearer, good, item, subscription, change } = await subscribedThen(
    contract,
    'pm_card_chargeCustomerFail',
  );
  const before = Math.floor(Date.now() / 1_000) - 60;
  const waiting = await change();
  const invoice = invoiceOf(waiting);
  assert.deepEqual(
    [waiting.status, waiting.items.data[0]?.price.id, invoice.status, invoice.billing_reason],
    ['active', price.id, 'open', 'subscription_update'],
  );
  const { pending_update: pending } = waiting;
  const [held] = pending?.subscription_items ?? [];
  assert.deepEqual([held?.id, held?.price.id], [item, dearer.id]);
  const hours = ((pending?.expires_at ?? 0) - before) / hourSeconds;
  assert.ok(hours > 22 && hours < 24, `${hours} hours`);

  await assert.rejects(stripe.invoices.pay(invoice.id), { statusCode: 402, code: 'card_declined' });
  const still = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual(still.pending_update, pending);

  const paid = await stripe.invoices.pay(invoice.id, { payment_method: good });
  assert.equal(paid.status, 'paid');
  const applied = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([applied.pending_update, applied.items.data[0]?.price.id], [null, dearer.id]);
  await eventOf(contract, 'customer.subscription.pending_update_applied', subscription.id);
});

test('a change that needs authentication waits for it, with a secret to confirm', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { price, change } = await subscribedThen(contract, 'pm_card_authenticationRequired');
  const waiting = await change();
  const secret = String(invoiceOf(waiting).confirmation_secret?.client_secret);
  assert.equal(waiting.items.data[0]?.price.id, price.id);
  assert.notEqual(waiting.pending_update, null);
  const intent = await stripe.paymentIntents.retrieve(secret.slice(0, secret.indexOf('_secret_')));
  assert.deepEqual([intent.status, intent.amount], ['requires_action', invoiceOf(waiting).amount_due]);
});

test('voiding the invoice drops the change', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { price, subscription, change } = await subscribedThen(contract, 'pm_card_chargeCustomerFail');
  const waiting = await change();
  assert.equal((await stripe.invoices.voidInvoice(invoiceOf(waiting).id)).status, 'void');
  const dropped = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual(
    [dropped.pending_update, dropped.items.data[0]?.price.id, dropped.status],
    [null, price.id, 'active'],
  );
});

test('a voided change keeps the prorations that waited; they can be marked before, and created again', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, item, subscription, change } = await subscribedThen(
    contract,
    'pm_card_chargeCustomerFail',
  );
  await stripe.subscriptions.update(subscription.id, { items: [{ id: item, quantity: 3 }] });
  const listed = async (filter: Stripe.InvoiceItemListParams) =>
    (await stripe.invoiceItems.list({ customer: customer.id, ...filter })).data;
  const waiting = await listed({ pending: true });
  assert.deepEqual(
    waiting.map(({ amount, proration }) => [Math.sign(amount), proration]),
    [
      [1, true],
      [-1, true],
    ],
  );
  for (const { id } of waiting) {
    const marked = await stripe.invoiceItems.update(id, { metadata: { waited: 'true' } });
    assert.deepEqual([marked.metadata?.['waited'], marked.invoice], ['true', null]);
  }
  const voided = invoiceOf(
    await change({
      proration_behavior: 'create_prorations',
      billing_cycle_anchor: { type: 'now' },
    }),
  );
  await stripe.invoices.voidInvoice(voided.id);
  assert.deepEqual(await listed({ pending: true }), []);
  const kept = await listed({ invoice: voided.id });
  assert.deepEqual(
    kept.filter(({ metadata }) => metadata?.['waited'] === 'true').map(({ id }) => id),
    waiting.map(({ id }) => id),
  );
  assert.ok(kept.length > waiting.length, 'the change has items of its own');
  await assert.rejects(stripe.invoiceItems.update(String(kept[0]?.id), { amount: 1 }), { statusCode: 400 });
  for (const { id, amount, currency, description, period, discountable } of waiting) {
    const again = await stripe.invoiceItems.create({
      ...{ customer: customer.id, subscription: subscription.id, amount, currency, period, discountable },
      description: String(description),
      metadata: { restores: id },
    });
    assert.deepEqual(
      [again.amount, again.description, again.period, again.discountable, again.invoice, again.metadata],
      [amount, description, period, discountable, null, { restores: id }],
    );
    assert.equal(again.parent?.subscription_details?.subscription, subscription.id);
  }
  const since = await listed({ created: { gte: voided.created } });
  assert.deepEqual(
    since.flatMap(({ metadata }) => metadata?.['restores'] ?? []),
    waiting.map(({ id }) => id).toReversed(),
  );
  const preview = await stripe.invoices.createPreview({ subscription: subscription.id });
  for (const { amount } of waiting) assert.ok(preview.lines.data.some((line) => line.amount === amount));
  const voids = await stripe.invoices.list({ subscription: subscription.id, status: 'void' });
  assert.deepEqual(
    voids.data.map(({ id, billing_reason: reason }) => [id, reason]),
    [[voided.id, 'subscription_update']],
  );
});

test('a new change replaces the one that waits, and voids its invoice', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { item, price, change } = await subscribedThen(contract, 'pm_card_chargeCustomerFail');
  const first = await change();
  const second = await change({ items: [{ id: item, price: price.id, quantity: 3 }] });
  assert.equal((await stripe.invoices.retrieve(invoiceOf(first).id)).status, 'void');
  assert.deepEqual(
    [
      invoiceOf(second).status,
      second.pending_update?.subscription_items?.map((held) => [held.price.id, held.quantity]),
      second.items.data.map((kept) => [kept.price.id, kept.quantity]),
    ],
    ['open', [[price.id, 3]], [[price.id, 1]]],
  );
});

test('a change that is not paid expires after 23 hours', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const start = Date.UTC(2027, 3, 1) / 1_000;
  const clock = await contractClock(contract, start);
  const { price, subscription, change } = await subscribedThen(
    contract,
    'pm_card_chargeCustomerFail',
    clock.id,
  );
  const waiting = await change();
  assert.equal(waiting.pending_update?.expires_at, start + 23 * hourSeconds);
  await advanceClock(contract, clock.id, start + 24 * hourSeconds);
  const expired = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([expired.pending_update, expired.items.data[0]?.price.id], [null, price.id]);
  assert.equal((await stripe.invoices.retrieve(invoiceOf(waiting).id)).status, 'void');
  await eventOf(contract, 'customer.subscription.pending_update_expired', subscription.id);
});

test('only what a pending update can keep may be changed with it', async (t) => {
  const contract = await useContract(t);
  const { good, change } = await subscribedThen(contract, 'pm_card_chargeCustomerFail');
  for (const more of [{ default_payment_method: good }, { description: 'Later' }])
    await assert.rejects(change(more), { statusCode: 400, type: 'StripeInvalidRequestError' });
  const waiting = await change({ metadata: { seat: '2' }, cancel_at_period_end: true });
  assert.deepEqual([waiting.metadata, waiting.cancel_at_period_end], [{}, false]);
  assert.deepEqual(
    [waiting.pending_update?.metadata, waiting.pending_update?.cancel_at_period_end],
    [{ seat: '2' }, true],
  );
});

test('without pending updates, a declined change is refused, or leaves the subscription past due', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { price, dearer, subscription, change } = await subscribedThen(
    contract,
    'pm_card_chargeCustomerFail',
  );
  await assert.rejects(change({ payment_behavior: 'error_if_incomplete' }), {
    statusCode: 402,
    code: 'card_declined',
  });
  const refused = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([refused.items.data[0]?.price.id, refused.status], [price.id, 'active']);
  const { data } = await stripe.invoiceItems.list({ customer: String(refused.customer), pending: true });
  assert.deepEqual(data, []);
  const incomplete = await change({ payment_behavior: 'allow_incomplete' });
  assert.deepEqual(
    [incomplete.status, incomplete.items.data[0]?.price.id, invoiceOf(incomplete).status],
    ['past_due', dearer.id, 'open'],
  );
});

test('default_incomplete waits for the confirmation of the payment', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { good, subscription, change } = await subscribedThen(contract, 'pm_card_mastercard');
  const waiting = await change({ payment_behavior: 'default_incomplete' });
  assert.deepEqual([waiting.status, invoiceOf(waiting).status], ['past_due', 'open']);
  const secret = String(invoiceOf(waiting).confirmation_secret?.client_secret);
  await stripe.paymentIntents.confirm(secret.slice(0, secret.indexOf('_secret_')), {
    payment_method: good,
    return_url: 'https://example.com',
  });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});
