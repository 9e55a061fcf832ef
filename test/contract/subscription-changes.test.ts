import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import {
  advanceClock,
  type Contract,
  contractClock,
  contractCustomer,
  contractPrice,
  useContract,
} from './support.ts';

const at = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1_000;

/** An active subscription to a monthly price of 10.00 USD, from 1 April 2027, on a test clock. */
async function subscribedInApril(contract: Contract, unit_amount = 1_000, quantity = 1) {
  const { stripe } = contract;
  const clock = await contractClock(contract, at('2027-04-01'));
  const customer = await stripe.customers.create({ test_clock: clock.id, payment_method: 'pm_card_visa' });
  const [method] = (await stripe.customers.listPaymentMethods(customer.id)).data;
  const price = await contractPrice(contract, unit_amount);
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id, quantity }],
    default_payment_method: String(method?.id),
    billing_mode: { type: 'classic' },
  });
  assert.equal(subscription.status, 'active');
  return { clock, customer, price, subscription, item: String(subscription.items.data[0]?.id) };
}

const linesOf = (invoice: Stripe.Invoice) =>
  invoice.lines.data.map(({ amount, period, parent }) => [
    amount,
    parent?.subscription_item_details?.proration,
    [period.start, period.end],
  ]);

test('a dearer price halfway through the month costs half the difference, with the next invoice', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, customer, subscription, item } = await subscribedInApril(contract);
  const dearer = await contractPrice(contract, 2_000);
  await advanceClock(contract, clock.id, at('2027-04-16'));
  const changed = await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, price: dearer.id }],
  });
  assert.deepEqual(
    [changed.items.data[0]?.price.id, changed.latest_invoice, changed.billing_cycle_anchor],
    [dearer.id, subscription.latest_invoice, subscription.billing_cycle_anchor],
  );
  const { data: pending } = await stripe.invoiceItems.list({ customer: customer.id, pending: true });
  const rest = { start: at('2027-04-16'), end: at('2027-05-01') };
  assert.deepEqual(
    pending
      .map(({ amount, proration, discountable, period, parent, quantity }) => ({
        amount,
        proration,
        discountable,
        period,
        quantity,
        subscription: parent?.subscription_details?.subscription,
      }))
      .sort((a, b) => a.amount - b.amount),
    [-500, 1_000].map((amount) => ({
      amount,
      proration: true,
      discountable: false,
      period: rest,
      quantity: 1,
      subscription: subscription.id,
    })),
  );
  const first = await stripe.invoices.retrieve(String(subscription.latest_invoice));
  const credit = pending.find(({ amount }) => amount < 0);
  assert.deepEqual(credit?.proration_details?.credited_items, {
    type: 'invoice_line_items',
    invoice_line_item_details: { invoice: first.id, invoice_line_items: [first.lines.data[0]?.id] },
  });
  const text = pending.map(({ description }) => description).sort();
  assert.match(String(text[0]), /^Remaining time on .*Contract plan after 16 Apr 2027$/);
  assert.match(String(text[1]), /^Unused time on .*Contract plan after 16 Apr 2027$/);

  await advanceClock(contract, clock.id, at('2027-05-02'));
  const renewed = await stripe.subscriptions.retrieve(subscription.id, { expand: ['latest_invoice'] });
  const invoice = renewed.latest_invoice as Stripe.Invoice;
  assert.deepEqual([invoice.status, invoice.amount_paid], ['paid', 2_500]);
  assert.deepEqual(
    linesOf(invoice).sort(([a], [b]) => Number(a) - Number(b)),
    [
      [-500, true, [rest.start, rest.end]],
      [1_000, true, [rest.start, rest.end]],
      [2_000, false, [at('2027-05-01'), at('2027-06-01')]],
    ],
  );
});

test('always_invoice bills the prorations at once; a credit pays for later invoices', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, customer, price, subscription, item } = await subscribedInApril(contract);
  const dearer = await contractPrice(contract, 10_000);
  await advanceClock(contract, clock.id, at('2027-04-16'));
  const move = (to: string) =>
    stripe.subscriptions.update(subscription.id, {
      items: [{ id: item, price: to }],
      proration_behavior: 'always_invoice',
      expand: ['latest_invoice'],
    });
  const up = (await move(dearer.id)).latest_invoice as Stripe.Invoice;
  assert.deepEqual(
    [up.status, up.billing_reason, up.total, up.amount_paid, up.attempt_count],
    ['paid', 'subscription_update', 4_500, 4_500, 1],
  );
  const down = (await move(price.id)).latest_invoice as Stripe.Invoice;
  assert.deepEqual(
    [down.status, down.total, down.amount_due, down.starting_balance, down.ending_balance],
    ['paid', -4_500, 0, 0, -4_500],
  );
  const credited = await stripe.customers.retrieve(customer.id);
  assert.equal((credited as Stripe.Customer).balance, -4_500);

  await advanceClock(contract, clock.id, at('2027-05-02'));
  const renewed = await stripe.subscriptions.retrieve(subscription.id, { expand: ['latest_invoice'] });
  const renewal = renewed.latest_invoice as Stripe.Invoice;
  assert.deepEqual(
    [renewal.status, renewal.total, renewal.amount_due, renewal.starting_balance, renewal.ending_balance],
    ['paid', 1_000, 0, -4_500, -3_500],
  );
});

test('none changes the price without a proration', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, customer, subscription, item } = await subscribedInApril(contract);
  const dearer = await contractPrice(contract, 2_000);
  await advanceClock(contract, clock.id, at('2027-04-16'));
  await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, price: dearer.id }],
    proration_behavior: 'none',
  });
  assert.deepEqual((await stripe.invoiceItems.list({ customer: customer.id, pending: true })).data, []);
  await advanceClock(contract, clock.id, at('2027-05-02'));
  const { data } = await stripe.invoices.list({ subscription: subscription.id });
  assert.deepEqual(
    data.map(({ total }) => total),
    [2_000, 1_000],
  );
});

test('a quantity is prorated as a whole, from the given date', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, customer, subscription, item } = await subscribedInApril(contract, 100, 2);
  await advanceClock(contract, clock.id, at('2027-04-25'));
  await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, quantity: 4 }],
    proration_date: at('2027-04-21'),
  });
  const { data } = await stripe.invoiceItems.list({ customer: customer.id, pending: true });
  assert.deepEqual(
    data.map(({ amount, quantity }) => [amount, quantity]).sort(([a = 0], [b = 0]) => a - b),
    [
      [-67, 2],
      [133, 4],
    ],
  );
  assert.match(String(data.find(({ quantity }) => quantity === 4)?.description), /4 × Contract plan/);
});

test('a date outside the period cannot be prorated from', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription, item } = await subscribedInApril(contract);
  for (const day of ['2027-03-31', '2027-05-02'])
    await assert.rejects(
      stripe.subscriptions.update(subscription.id, {
        items: [{ id: item, quantity: 2 }],
        proration_date: at(day),
      }),
      { statusCode: 400, message: /proration date outside of current subscription period/ },
    );
});

test('another interval starts a new period, billed at once less the unused time', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, subscription, item } = await subscribedInApril(contract);
  const yearly = await contractPrice(contract, 12_000, { recurring: { interval: 'year' } });
  await advanceClock(contract, clock.id, at('2027-04-16'));
  const moved = await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, price: yearly.id }],
    expand: ['latest_invoice'],
  });
  const invoice = moved.latest_invoice as Stripe.Invoice;
  assert.deepEqual([invoice.status, invoice.total], ['paid', 11_500]);
  assert.deepEqual(
    linesOf(invoice).sort(([a], [b]) => Number(a) - Number(b)),
    [
      [-500, true, [at('2027-04-16'), at('2027-05-01')]],
      [12_000, false, [at('2027-04-16'), at('2028-04-16')]],
    ],
  );
  const [period] = moved.items.data;
  assert.deepEqual(
    [moved.billing_cycle_anchor, period?.current_period_start, period?.current_period_end],
    [at('2027-04-16'), at('2027-04-16'), at('2028-04-16')],
  );
});

test('from free to paid, a new period starts; from paid to free, it does not', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, customer, price, subscription, item } = await subscribedInApril(contract);
  const free = await contractPrice(contract, 0);
  await advanceClock(contract, clock.id, at('2027-04-16'));
  const down = await stripe.subscriptions.update(subscription.id, { items: [{ id: item, price: free.id }] });
  assert.deepEqual(
    [down.latest_invoice, down.billing_cycle_anchor],
    [subscription.latest_invoice, at('2027-04-01')],
  );
  const { data } = await stripe.invoiceItems.list({ customer: customer.id, pending: true });
  assert.equal(
    data.reduce((sum, { amount }) => sum + amount, 0),
    -500,
  );
  await advanceClock(contract, clock.id, at('2027-04-21'));
  const kept = await stripe.invoices.createPreview({
    subscription: subscription.id,
    subscription_details: {
      items: [{ id: item, price: price.id }],
      billing_cycle_anchor: { type: 'unchanged' },
      proration_behavior: 'always_invoice',
    },
  });
  assert.equal(kept.total, 333);
  const up = await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, price: price.id }],
    expand: ['latest_invoice'],
  });
  const invoice = up.latest_invoice as Stripe.Invoice;
  assert.deepEqual([up.billing_cycle_anchor, invoice.status, invoice.total], [at('2027-04-21'), 'paid', 500]);
});

test('a reset of the anchor starts a new period now', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, subscription } = await subscribedInApril(contract);
  await advanceClock(contract, clock.id, at('2027-04-16'));
  const reset = (proration_behavior: 'create_prorations' | 'none') =>
    stripe.subscriptions.update(subscription.id, {
      billing_cycle_anchor: { type: 'now' },
      proration_behavior,
      expand: ['latest_invoice'],
    });
  const prorated = await reset('create_prorations');
  assert.equal((prorated.latest_invoice as Stripe.Invoice).total, 500);
  assert.equal(prorated.items.data[0]?.current_period_end, at('2027-05-16'));
  assert.equal(((await reset('none')).latest_invoice as Stripe.Invoice).total, 1_000);
  const same = await stripe.subscriptions.update(subscription.id, {
    billing_cycle_anchor: { type: 'unchanged' },
  });
  assert.equal(same.billing_cycle_anchor, at('2027-04-16'));
});

test('a quarterly price renews every three months', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription, item } = await subscribedInApril(contract);
  const quarterly = await contractPrice(contract, 2_700, {
    recurring: { interval: 'month', interval_count: 3 },
  });
  const moved = await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, price: quarterly.id }],
    expand: ['latest_invoice'],
  });
  assert.equal(moved.items.data[0]?.current_period_end, at('2027-07-01'));
  const line = (moved.latest_invoice as Stripe.Invoice).lines.data.find(({ amount }) => amount > 0);
  assert.equal(line?.description, '1 × Contract plan (at $27.00 every 3 months)');
});

test('a preview shows what a change bills, and changes nothing', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, customer, subscription, item } = await subscribedInApril(contract);
  const dearer = await contractPrice(contract, 3_333);
  await advanceClock(contract, clock.id, at('2027-04-09'));
  const change = { items: [{ id: item, price: dearer.id, quantity: 3 }], proration_date: at('2027-04-08') };
  const later = await stripe.invoices.createPreview({
    customer: customer.id,
    subscription: subscription.id,
    subscription_details: change,
  });
  assert.deepEqual([later.status, later.billing_reason, later.lines.data.length], ['draft', 'upcoming', 3]);
  assert.equal(later.parent?.subscription_details?.subscription_proration_date, at('2027-04-08'));
  const now = await stripe.invoices.createPreview({
    subscription: subscription.id,
    subscription_details: { ...change, proration_behavior: 'always_invoice' },
  });
  assert.deepEqual(await stripe.subscriptions.retrieve(subscription.id), subscription);
  assert.deepEqual((await stripe.invoiceItems.list({ customer: customer.id })).data, []);
  const changed = await stripe.subscriptions.update(subscription.id, {
    ...change,
    proration_behavior: 'always_invoice',
    expand: ['latest_invoice'],
  });
  const billed = changed.latest_invoice as Stripe.Invoice;
  assert.deepEqual([billed.total, billed.amount_due], [now.total, now.amount_due]);
  assert.deepEqual(linesOf(billed), linesOf(now));
  assert.equal(later.total, now.total + 3 * 3_333);
  await assert.rejects(
    stripe.invoices.createPreview({
      subscription: subscription.id,
      subscription_details: { ...change, proration_date: at('2027-06-01') },
    }),
    { statusCode: 400 },
  );
});

test('a preview of the next renewal includes what waits for it; without one there is none', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, subscription } = await subscribedInApril(contract);
  await stripe.invoiceItems.create({ customer: customer.id, amount: 70, currency: 'usd' });
  const next = await stripe.invoices.createPreview({ customer: customer.id });
  assert.deepEqual([next.total, next.period_end], [1_070, at('2027-05-01')]);
  const other = await contractCustomer(contract);
  await assert.rejects(stripe.invoices.createPreview({ customer: other.id }), {
    statusCode: 404,
    code: 'invoice_upcoming_none',
  });
  await stripe.subscriptions.cancel(subscription.id);
  await assert.rejects(stripe.invoices.createPreview({ subscription: subscription.id }), {
    statusCode: 404,
    code: 'invoice_upcoming_none',
  });
});

test('one change of several items is one bill that equals its preview, and the next renewal bills them all', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, subscription, item } = await subscribedInApril(contract);
  const [seat, extra] = [await contractPrice(contract, 400), await contractPrice(contract, 600)];
  const withSeats = await stripe.subscriptionItems.create({
    subscription: subscription.id,
    price: seat.id,
    quantity: 3,
    proration_behavior: 'none',
  });
  await assert.rejects(stripe.subscriptions.update(subscription.id, { items: [{ price: seat.id }] }), {
    statusCode: 400,
    param: 'plan',
    message: new RegExp(`existing Subscription Item ${withSeats.id} is already using that Price`),
  });
  await advanceClock(contract, clock.id, at('2027-04-16'));
  const details = {
    items: [{ id: item, quantity: 2 }, { id: withSeats.id, deleted: true }, { price: extra.id }],
    proration_behavior: 'always_invoice' as const,
    proration_date: at('2027-04-16'),
  };
  const preview = await stripe.invoices.createPreview({
    subscription: subscription.id,
    subscription_details: details,
  });
  const changed = await stripe.subscriptions.update(subscription.id, {
    ...details,
    expand: ['latest_invoice'],
  });
  const invoice = changed.latest_invoice as Stripe.Invoice;
  const amounts = ({ lines }: Stripe.Invoice) => lines.data.map(({ amount }) => amount).sort((a, b) => a - b);
  assert.deepEqual(
    [amounts(invoice), amounts(preview)],
    [
      [-600, -500, 300, 1_000],
      [-600, -500, 300, 1_000],
    ],
  );
  const [, added] = changed.items.data;
  assert.deepEqual(
    [added?.price.id, added?.quantity, added?.current_period_start, added?.current_period_end],
    [extra.id, 1, at('2027-04-16'), at('2027-05-01')],
  );
  await assert.rejects(
    stripe.subscriptions.update(subscription.id, {
      items: changed.items.data.map(({ id }) => ({ id, deleted: true })),
    }),
    { statusCode: 400 },
  );
  await advanceClock(contract, clock.id, at('2027-05-02'));
  const renewed = await stripe.subscriptions.retrieve(subscription.id, { expand: ['latest_invoice'] });
  assert.deepEqual(amounts(renewed.latest_invoice as Stripe.Invoice), [600, 2_000]);
});

test('another price resets the quantity unless the change names one', async (t) => {
  const contract = await useContract(t);
  const { subscription, item } = await subscribedInApril(contract, 1_000, 3);
  const dearer = await contractPrice(contract, 2_000);
  const changed = await contract.stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, price: dearer.id }],
    proration_behavior: 'none',
  });
  assert.deepEqual(changed.items.data[0]?.quantity, 1);
});

test('a preview that names items shows them, and not those that a schedule plans', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { clock, price, subscription, item } = await subscribedInApril(contract, 1_000, 3);
  const { id: schedule, phases } = await stripe.subscriptionSchedules.create({
    from_subscription: subscription.id,
  });
  await stripe.subscriptionSchedules.update(schedule, {
    phases: [
      {
        start_date: Number(phases[0]?.start_date),
        end_date: at('2027-05-01'),
        items: [{ price: price.id, quantity: 3 }],
      },
      { items: [{ price: price.id, quantity: 4 }], proration_behavior: 'none' },
    ],
  });
  await advanceClock(contract, clock.id, at('2027-04-16'));
  const totalOf = async (items?: Stripe.InvoiceCreatePreviewParams.SubscriptionDetails.Item[]) => {
    const subscription_details = { proration_behavior: 'none' as const, ...(items && { items }) };
    return (await stripe.invoices.createPreview({ subscription: subscription.id, subscription_details }))
      .total;
  };
  assert.equal(await totalOf(), 4_000);
  assert.equal(await totalOf([{ id: item, quantity: 3 }]), 3_000);
  assert.equal(await totalOf([{ id: item, quantity: 5 }]), 5_000);
  await stripe.subscriptionSchedules.release(schedule);
  assert.equal(await totalOf(), 3_000);
});
