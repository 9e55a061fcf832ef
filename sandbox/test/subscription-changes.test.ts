import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type Stripe from 'stripe';
import { assertProperty } from '../../test/support/seeds.ts';
import { eventTypes, type TestSandbox, useSandbox } from './support.ts';

const hourSeconds = 3_600;
const daySeconds = 86_400;

async function makePrice(stripe: Stripe, unit_amount: number, more: Partial<Stripe.PriceCreateParams> = {}) {
  return stripe.prices.create({
    currency: 'usd',
    unit_amount,
    recurring: { interval: 'month' },
    product_data: { name: 'Plan' },
    ...more,
  });
}

/** An active subscription, paid by card. */
async function subscribed(stripe: Stripe, unit_amount = 1_000, card = 'pm_card_visa') {
  const customer = await stripe.customers.create({ payment_method: 'pm_card_visa' });
  const [method] = (await stripe.customers.listPaymentMethods(customer.id)).data;
  const price = await makePrice(stripe, unit_amount);
  const created = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: String(method?.id),
    billing_mode: { type: 'classic' },
  });
  const next = await stripe.paymentMethods.attach(card, { customer: customer.id });
  const subscription = await stripe.subscriptions.update(created.id, { default_payment_method: next.id });
  return { customer, method: String(method?.id), price, subscription, item: created.items.data[0]?.id ?? '' };
}

/** The types of the events that the work causes. */
async function eventsOf<T>(stripe: Stripe, work: () => Promise<T>): Promise<[T, string[]]> {
  const before = (await eventTypes(stripe)).length;
  const result = await work();
  return [result, (await eventTypes(stripe)).slice(before)];
}

const upgrade = (item: string, price: string, more: Partial<Stripe.SubscriptionUpdateParams> = {}) => ({
  items: [{ id: item, price }],
  proration_behavior: 'always_invoice' as const,
  payment_behavior: 'pending_if_incomplete' as const,
  ...more,
});

test('a change tells of its prorations, its invoice and its payment', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscription, item } = await subscribed(stripe);
  const dearer = await makePrice(stripe, 3_000);
  await advance(10 * daySeconds);
  const [, later] = await eventsOf(stripe, () =>
    stripe.subscriptions.update(subscription.id, { items: [{ id: item, quantity: 2 }] }),
  );
  assert.deepEqual(later, ['invoiceitem.created', 'invoiceitem.created', 'customer.subscription.updated']);
  const [, now] = await eventsOf(stripe, () =>
    stripe.subscriptions.update(subscription.id, {
      items: [{ id: item, price: dearer.id }],
      proration_behavior: 'always_invoice',
    }),
  );
  assert.deepEqual(now, [
    'invoiceitem.created',
    'invoiceitem.created',
    'invoice.created',
    'customer.subscription.updated',
    'payment_intent.created',
    'invoice.finalized',
    'charge.succeeded',
    'payment_intent.succeeded',
    'invoice.updated',
    'invoice_payment.paid',
    'invoice.paid',
    'invoice.payment_succeeded',
  ]);
});

test('a pending update tells when it waits, when it applies and when it expires', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscription, item, method } = await subscribed(stripe, 1_000, 'pm_card_chargeCustomerFail');
  const dearer = await makePrice(stripe, 3_000);
  const change = () => stripe.subscriptions.update(subscription.id, upgrade(item, dearer.id));
  const [waiting, held] = await eventsOf(stripe, change);
  assert.deepEqual(held.slice(-4), [
    'invoice.updated',
    'invoice.payment_failed',
    'customer.updated',
    'customer.subscription.updated',
  ]);
  const [, expired] = await eventsOf(stripe, () => advance(23 * hourSeconds));
  assert.deepEqual(expired, [
    'payment_intent.canceled',
    'invoice.updated',
    'invoice.voided',
    'customer.subscription.pending_update_expired',
    'customer.subscription.updated',
  ]);
  await assert.rejects(stripe.invoices.pay(String(waiting.latest_invoice)), { statusCode: 400 });

  const again = await change();
  const [, applied] = await eventsOf(stripe, () =>
    stripe.invoices.pay(String(again.latest_invoice), { payment_method: method }),
  );
  assert.deepEqual(applied.slice(-3), [
    'customer.updated',
    'customer.subscription.pending_update_applied',
    'customer.subscription.updated',
  ]);
  const after = await stripe.subscriptions.retrieve(subscription.id);
  assert.equal(after.items.data[0]?.price.id, dearer.id);
  assert.equal(after.items.data[0]?.current_period_end, subscription.items.data[0]?.current_period_end);
});

test('a pending update to another interval starts its period at the time of the change', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscription, item, method } = await subscribed(stripe, 1_000, 'pm_card_chargeCustomerFail');
  const yearly = await makePrice(stripe, 9_000, { recurring: { interval: 'year' } });
  await advance(10 * daySeconds);
  const waiting = await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, price: yearly.id }],
    payment_behavior: 'pending_if_incomplete',
  });
  const anchor = waiting.pending_update?.billing_cycle_anchor ?? 0;
  assert.ok(anchor >= subscription.created + 10 * daySeconds);
  assert.equal(waiting.billing_cycle_anchor, subscription.billing_cycle_anchor);
  await advance(hourSeconds);
  await stripe.invoices.pay(String(waiting.latest_invoice), { payment_method: method });
  const after = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([after.billing_cycle_anchor, after.items.data[0]?.current_period_start], [anchor, anchor]);
});

test('a pending update ends with the period, and the renewal is as if nothing had been asked for', async (t) => {
  const { stripe, advance, control } = await useSandbox(t);
  const { subscription, item, method } = await subscribed(stripe, 1_000, 'pm_card_chargeCustomerFail');
  const dearer = await makePrice(stripe, 3_000);
  const end = subscription.items.data[0]?.current_period_end ?? 0;
  await control('POST', 'clock', { to: end - 5 * hourSeconds });
  const waiting = await stripe.subscriptions.update(subscription.id, upgrade(item, dearer.id));
  assert.equal(waiting.pending_update?.expires_at, end);
  await stripe.subscriptions.update(subscription.id, { default_payment_method: method });
  await advance(7 * hourSeconds);
  const renewed = await stripe.subscriptions.retrieve(subscription.id, { expand: ['latest_invoice'] });
  const renewal = renewed.latest_invoice as Stripe.Invoice;
  assert.deepEqual(
    [renewed.pending_update, renewal.billing_reason, renewal.total, renewal.status],
    [null, 'subscription_cycle', 1_000, 'paid'],
  );
});

test('a change that is not held makes the pending update expire, as does an end of the subscription', async (t) => {
  const { stripe } = await useSandbox(t);
  const { subscription, item, price } = await subscribed(stripe, 1_000, 'pm_card_chargeCustomerFail');
  const dearer = await makePrice(stripe, 3_000);
  const first = await stripe.subscriptions.update(subscription.id, upgrade(item, dearer.id));
  const kept = await stripe.subscriptions.update(subscription.id, { metadata: { seat: '1' } });
  assert.deepEqual(kept.pending_update, first.pending_update);
  const [changed, types] = await eventsOf(stripe, () =>
    stripe.subscriptions.update(subscription.id, {
      items: [{ id: item, price: price.id, quantity: 2 }],
      proration_behavior: 'none',
    }),
  );
  assert.deepEqual([changed.pending_update, changed.items.data[0]?.quantity], [null, 2]);
  assert.ok(types.includes('customer.subscription.pending_update_expired'));
  const second = await stripe.subscriptions.update(subscription.id, upgrade(item, dearer.id));
  const canceled = await stripe.subscriptions.cancel(subscription.id);
  assert.equal(canceled.pending_update, null);
  for (const { latest_invoice: id } of [first, second])
    assert.equal((await stripe.invoices.retrieve(String(id))).status, 'void');
});

test('paying the renewal revives a past-due subscription although a voided change came later', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscription, item, method } = await subscribed(stripe, 1_000, 'pm_card_chargeCustomerFail');
  await advance(32 * daySeconds);
  const pastDue = await stripe.subscriptions.retrieve(subscription.id);
  assert.equal(pastDue.status, 'past_due');
  const dearer = await makePrice(stripe, 3_000);
  const waiting = await stripe.subscriptions.update(subscription.id, upgrade(item, dearer.id));
  await stripe.invoices.voidInvoice(String(waiting.latest_invoice));
  await stripe.invoices.pay(String(pastDue.latest_invoice), { payment_method: method });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});

test('a change that needs authentication is past due until it is authenticated', async (t) => {
  const { stripe, control } = await useSandbox(t);
  const { subscription, item } = await subscribed(stripe, 1_000, 'pm_card_authenticationRequired');
  const dearer = await makePrice(stripe, 3_000);
  const change = (payment_behavior: 'allow_incomplete' | 'error_if_incomplete' | 'pending_if_incomplete') =>
    stripe.subscriptions.update(subscription.id, {
      ...upgrade(item, dearer.id, { payment_behavior }),
      expand: ['latest_invoice.payments'],
    });
  const authenticate = (waiting: Stripe.Subscription, result: 'failed' | 'succeeded') => {
    const { payments } = waiting.latest_invoice as Stripe.Invoice;
    const intent = String(payments?.data[0]?.payment.payment_intent);
    return control('POST', `payment_intents/${intent}/authenticate`, { result });
  };
  const current = () => stripe.subscriptions.retrieve(subscription.id);
  await assert.rejects(change('error_if_incomplete'), {
    statusCode: 402,
    code: 'subscription_payment_intent_requires_action',
  });
  const held = await change('pending_if_incomplete');
  await authenticate(held, 'failed');
  assert.deepEqual((await current()).pending_update, held.pending_update);
  const again = await change('pending_if_incomplete');
  await authenticate(again, 'succeeded');
  const applied = await current();
  assert.deepEqual([applied.pending_update, applied.items.data[0]?.price.id], [null, dearer.id]);

  const more = { items: [{ id: item, quantity: 2 }], proration_behavior: 'always_invoice' as const };
  const waiting = await stripe.subscriptions.update(subscription.id, {
    ...more,
    expand: ['latest_invoice.payments'],
  });
  const invoice = waiting.latest_invoice as Stripe.Invoice;
  assert.deepEqual([waiting.status, invoice.status, invoice.attempt_count], ['past_due', 'open', 1]);
  assert.equal(invoice.next_payment_attempt, invoice.created + 3 * daySeconds);
  await authenticate(waiting, 'succeeded');
  assert.equal((await current()).status, 'active');
});

test('without a card, a change that is billed at once is refused', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await stripe.customers.create({});
  const [free, paid] = [await makePrice(stripe, 0), await makePrice(stripe, 1_000)];
  const { id, items } = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: free.id }],
    billing_mode: { type: 'classic' },
  });
  const change = { items: [{ id: items.data[0]?.id ?? '', price: paid.id }] };
  await assert.rejects(stripe.subscriptions.update(id, change), {
    statusCode: 400,
    code: 'resource_missing',
  });
  assert.equal((await stripe.subscriptions.retrieve(id)).items.data[0]?.price.id, free.id);
});

test('while collection is paused, the invoice of a change is not collected', async (t) => {
  const { stripe } = await useSandbox(t);
  const { subscription, item } = await subscribed(stripe);
  const dearer = await makePrice(stripe, 3_000);
  await stripe.subscriptions.update(subscription.id, { pause_collection: { behavior: 'keep_as_draft' } });
  const changed = await stripe.subscriptions.update(subscription.id, {
    ...upgrade(item, dearer.id),
    expand: ['latest_invoice'],
  });
  assert.deepEqual(
    [changed.items.data[0]?.price.id, (changed.latest_invoice as Stripe.Invoice).status],
    [dearer.id, 'draft'],
  );
});

test('in flexible billing mode, a new period starts only on request, and what waits is billed at once', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, method } = await subscribed(stripe);
  const [free, paid] = [await makePrice(stripe, 0), await makePrice(stripe, 1_000)];
  const yearly = await makePrice(stripe, 9_000, { recurring: { interval: 'year' } });
  const { id, items, billing_cycle_anchor } = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: free.id }],
    default_payment_method: method,
    billing_mode: { type: 'flexible' },
  });
  const item = items.data[0]?.id ?? '';
  await advance(10 * daySeconds);
  const change = (more: Partial<Stripe.SubscriptionUpdateParams>) =>
    stripe.subscriptions.update(id, { expand: ['latest_invoice'], ...more });
  const up = await change({ items: [{ id: item, price: paid.id }] });
  assert.deepEqual(
    [up.billing_cycle_anchor, (up.latest_invoice as Stripe.Invoice).total],
    [billing_cycle_anchor, 0],
  );
  const more = await change({ items: [{ id: item, quantity: 2 }], proration_behavior: 'always_invoice' });
  assert.equal((more.latest_invoice as Stripe.Invoice).lines.data.length, 4);
  const move = { items: [{ id: item, price: yearly.id, quantity: 1 }] };
  const longer = await change(move);
  const [end] = longer.items.data.map(({ current_period_end }) => current_period_end);
  assert.deepEqual(
    [longer.billing_cycle_anchor, new Date(Number(end) * 1_000).getUTCFullYear()],
    [billing_cycle_anchor, new Date(billing_cycle_anchor * 1_000).getUTCFullYear() + 1],
  );
  const moved = await change({ ...move, billing_cycle_anchor: { type: 'now' } });
  assert.ok(moved.billing_cycle_anchor > billing_cycle_anchor);
});

test('a voided invoice gives back the credit it used', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, subscription, item } = await subscribed(stripe, 1_000, 'pm_card_chargeCustomerFail');
  await stripe.customers.update(customer.id, { balance: -300 });
  const dearer = await makePrice(stripe, 3_000);
  const waiting = await stripe.subscriptions.update(subscription.id, {
    ...upgrade(item, dearer.id),
    expand: ['latest_invoice'],
  });
  const invoice = waiting.latest_invoice as Stripe.Invoice;
  assert.deepEqual(
    [invoice.total - invoice.amount_due, invoice.starting_balance, invoice.ending_balance],
    [300, -300, 0],
  );
  const balance = async () => ((await stripe.customers.retrieve(customer.id)) as Stripe.Customer).balance;
  assert.equal(await balance(), 0);
  await stripe.invoices.voidInvoice(invoice.id);
  assert.equal(await balance(), -300);
});

test('prorations that wait are billed when the subscription ends with its period', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscription, item } = await subscribed(stripe);
  const end = subscription.items.data[0]?.current_period_end ?? 0;
  await stripe.subscriptions.update(subscription.id, { items: [{ id: item, quantity: 3 }] });
  await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true });
  const preview = await stripe.invoices.createPreview({ subscription: subscription.id });
  assert.ok(preview.total > 1_900 && preview.lines.data.every(({ amount }) => Math.abs(amount) > 0));
  await advance(end - subscription.created + 2 * hourSeconds);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'canceled');
  const [last] = (await stripe.invoices.list({ subscription: subscription.id })).data;
  assert.deepEqual([last?.total, last?.status], [preview.total, 'paid']);
});

test('a preview shows the items in its parameters, beside those that wait', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, subscription, item } = await subscribed(stripe);
  await stripe.invoiceItems.create({ customer: customer.id, amount: 300, currency: 'usd' });
  const credit = { amount: -120, currency: 'usd', description: 'Credit', period: { start: 100, end: 200 } };
  const change = { items: [{ id: item, quantity: 2 }], proration_behavior: 'always_invoice' as const };
  for (const details of [undefined, change]) {
    const given = { subscription: subscription.id, ...(details && { subscription_details: details }) };
    const without = await stripe.invoices.createPreview(given);
    const preview = await stripe.invoices.createPreview({ ...given, invoice_items: [credit] });
    assert.equal(preview.total, without.total - 120);
    const shown = preview.lines.data.find(({ description }) => description === 'Credit');
    assert.deepEqual([shown?.amount, shown?.period, shown?.discountable], [-120, credit.period, false]);
  }
  assert.equal((await stripe.invoiceItems.list({ customer: customer.id, pending: true })).data.length, 1);
  await assert.rejects(
    stripe.invoices.createPreview({
      subscription: subscription.id,
      invoice_items: [{ ...credit, currency: 'eur' }],
    }),
    { param: 'invoice_items[0][currency]' },
  );
});

test('a change in a trial costs nothing, and the trial ends with the new price', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, method, price } = await subscribed(stripe);
  const trial = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    trial_period_days: 7,
    default_payment_method: method,
    billing_mode: { type: 'classic' },
  });
  const yearly = await makePrice(stripe, 9_000, { recurring: { interval: 'year' } });
  const item = trial.items.data[0]?.id ?? '';
  const changed = await stripe.subscriptions.update(trial.id, upgrade(item, yearly.id));
  assert.deepEqual(
    [changed.status, changed.latest_invoice, changed.items.data[0]?.current_period_end],
    ['trialing', trial.latest_invoice, trial.trial_end],
  );
  await advance(7 * daySeconds + 2 * hourSeconds);
  const [invoice] = (await stripe.invoices.list({ subscription: trial.id })).data;
  assert.deepEqual([invoice?.total, invoice?.status], [9_000, 'paid']);
});

test('an incomplete subscription keeps its items, and a price is added only once', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price, subscription } = await subscribed(stripe);
  const incomplete = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
  });
  const [item] = incomplete.items.data;
  await assert.rejects(
    stripe.subscriptions.update(incomplete.id, { items: [{ id: String(item?.id), quantity: 2 }] }),
    { statusCode: 400 },
  );
  await assert.rejects(stripe.subscriptions.update(subscription.id, { items: [{ price: price.id }] }), {
    statusCode: 400,
    message: /already using that Price/,
    param: 'plan',
  });
});

test('a manual payment that fails does not count as a retry', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscription, method } = await subscribed(stripe, 1_000, 'pm_card_chargeCustomerFail');
  await advance(32 * daySeconds);
  const { latest_invoice: id } = await stripe.subscriptions.retrieve(subscription.id);
  const before = await stripe.invoices.retrieve(String(id));
  await assert.rejects(stripe.invoices.pay(before.id), { statusCode: 402, code: 'card_declined' });
  const after = await stripe.invoices.retrieve(before.id);
  assert.deepEqual(
    [after.attempt_count, after.next_payment_attempt],
    [before.attempt_count, before.next_payment_attempt],
  );
  const paid = await stripe.invoices.pay(before.id, { payment_method: method });
  assert.deepEqual([paid.attempt_count, paid.next_payment_attempt], [before.attempt_count, null]);
  assert.match(String(paid.number), /^[A-Z0-9]{8}-\d{4}$/);
  assert.equal((await fetch(String(paid.invoice_pdf))).status, 200);
});

const currencies = ['usd', 'eur', 'jpy', 'kwd'] as const;
const intervals = [
  { interval: 'day', interval_count: 3 },
  { interval: 'week', interval_count: 1 },
  { interval: 'month', interval_count: 1 },
  { interval: 'month', interval_count: 3 },
  { interval: 'year', interval_count: 1 },
] as const;
const plan = fc.record({
  unitAmount: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 99_999 })),
  recurring: fc.constantFrom(...intervals),
  quantity: fc.integer({ min: 1, max: 1_000 }),
});

/**
 * Previews a change at a random time, applies it later with the same date, and compares the invoice with the preview.
 */
async function previewedAndBilled(
  { stripe, advance, control }: TestSandbox,
  wish: {
    readonly currency: string;
    readonly mode: 'classic' | 'flexible';
    readonly resets: boolean;
    readonly plans: readonly (typeof plan extends fc.Arbitrary<infer T> ? T : never)[];
    readonly proration: 'always_invoice' | 'create_prorations' | 'none';
    readonly balance: number;
    readonly share: number;
    readonly delay: number;
  },
): Promise<void> {
  const customer = await stripe.customers.create({ source: 'tok_visa' });
  // Amounts of a currency with three decimals end in 0.
  const unit = wish.currency === 'kwd' ? 10 : 1;
  const [from, to] = await Promise.all(
    wish.plans.map(({ unitAmount, recurring }) =>
      makePrice(stripe, unitAmount * unit, { currency: wish.currency, recurring }),
    ),
  );
  const created = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: String(from?.id), quantity: wish.plans[0]?.quantity ?? 1 }],
    billing_mode: { type: wish.mode },
  });
  await stripe.customers.update(customer.id, { balance: wish.balance });
  const [item] = created.items.data;
  const end = item?.current_period_end ?? 0;
  await advance(Math.floor((end - created.created - wish.delay - 10) * wish.share));
  // In flexible mode, another interval needs a request for a new period.
  const isSameInterval = wish.plans[0]?.recurring === wish.plans[1]?.recurring;
  const needsReset = wish.mode === 'flexible' && !isSameInterval;
  const details = {
    items: [{ id: String(item?.id), price: String(to?.id), quantity: wish.plans[1]?.quantity ?? 1 }],
    proration_behavior: wish.proration,
    ...(wish.resets || needsReset ? { billing_cycle_anchor: { type: 'now' as const } } : {}),
  };
  const first = await stripe.invoices.createPreview({
    subscription: created.id,
    subscription_details: details,
  });
  const date = first.parent?.subscription_details?.subscription_proration_date;
  const dated = { ...details, ...(date === undefined ? {} : { proration_date: date }) };
  await advance(wish.delay);
  const preview = await stripe.invoices.createPreview({
    subscription: created.id,
    subscription_details: dated,
  });
  assert.equal(preview.total, first.total);
  const changed = await stripe.subscriptions.update(created.id, dated);
  const isBilledNow = changed.latest_invoice !== created.latest_invoice;
  if (!isBilledNow) await control('POST', 'clock', { to: end + 2 * hourSeconds });
  const { latest_invoice: id } = await stripe.subscriptions.retrieve(created.id);
  const billed = await stripe.invoices.retrieve(String(id));
  const shown = (invoice: Stripe.Invoice) => ({
    total: invoice.total,
    due: invoice.amount_due,
    starting: invoice.starting_balance,
    ending: invoice.ending_balance,
    lines: invoice.lines.data.map(({ amount, description, parent, quantity }) => [
      amount,
      description,
      parent?.subscription_item_details?.proration,
      quantity,
    ]),
  });
  assert.deepEqual(shown(billed), shown(preview));
  assert.equal(billed.status, 'paid');
  const amounts = [billed.amount_due, billed.total, ...billed.lines.data.map(({ amount }) => amount)];
  assert.ok(
    amounts.every((amount) => amount % unit === 0),
    String(amounts),
  );
}

test('the preview equals the bill, whatever changes', async (t) => {
  const used = await useSandbox(t);
  await assertProperty(
    fc.asyncProperty(
      fc.record({
        currency: fc.constantFrom(...currencies),
        mode: fc.constantFrom('classic' as const, 'flexible' as const),
        resets: fc.boolean(),
        plans: fc.tuple(plan, plan),
        proration: fc.constantFrom('always_invoice' as const, 'create_prorations' as const, 'none' as const),
        balance: fc.constantFrom(0, 0, -50, -5_000_000),
        share: fc.double({ min: 0, max: 0.99, noNaN: true }),
        delay: fc.integer({ min: 0, max: daySeconds }),
      }),
      (wish) => previewedAndBilled(used, wish),
    ),
    60,
  );
});
