import type Stripe from 'stripe';

/** Changes of subscriptions: prorations, previews, credits, and updates that wait for their payment. */
export async function changes(stripe: Stripe): Promise<void> {
  const customer = await stripe.customers.create({ payment_method: 'pm_card_visa', balance: -100 });
  const [card] = (await stripe.customers.listPaymentMethods(customer.id)).data;
  const price = (unit_amount: number) =>
    stripe.prices.create({
      currency: 'usd',
      unit_amount,
      recurring: { interval: 'month' },
      product_data: { name: 'Seat' },
    });
  const [low, high] = [await price(1_000), await price(4_000)];
  const subscribe = () =>
    stripe.subscriptions.create({
      customer: customer.id,
      items: [{ price: low.id }],
      default_payment_method: String(card?.id),
    });
  const subscription = await subscribe();
  const id = String(subscription.items.data[0]?.id);
  const up = { items: [{ id, price: high.id, quantity: 2 }] };
  await stripe.invoices.createPreview({ subscription: subscription.id, subscription_details: up });
  await stripe.invoices.createPreview({
    subscription: subscription.id,
    subscription_details: { ...up, proration_behavior: 'always_invoice' },
    invoice_items: [{ amount: -50, currency: 'usd', description: 'Credit', period: { start: 1, end: 2 } }],
  });
  await stripe.subscriptions.update(subscription.id, up);
  await stripe.invoiceItems.list({ customer: customer.id, pending: true });
  const down = await stripe.subscriptions.update(subscription.id, {
    items: [{ id, price: low.id, quantity: 1 }],
    proration_behavior: 'always_invoice',
    expand: ['latest_invoice'],
  });
  await stripe.invoices.listLineItems(String((down.latest_invoice as Stripe.Invoice).id));
  await stripe.customers.retrieve(customer.id);
  await pendingUpdates(stripe, customer.id, high.id, [subscription, await subscribe()]);
  await severalItems(stripe, customer.id, String(card?.id), low.id);
}

/** Tiered and metered prices beside a plain one, and items that come and go. */
async function severalItems(stripe: Stripe, customer: string, card: string, plain: string): Promise<void> {
  const meter = await stripe.billing.meters.create({
    display_name: 'Calls',
    event_name: 'call',
    default_aggregation: { formula: 'sum' },
  });
  await stripe.billing.meters.retrieve(meter.id);
  await stripe.billing.meters.list({ status: 'active' });
  const metered = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 2,
    recurring: { interval: 'month', usage_type: 'metered', meter: meter.id },
    product_data: { name: 'Call' },
  });
  const tiered = await stripe.prices.create({
    currency: 'usd',
    billing_scheme: 'tiered',
    tiers_mode: 'graduated',
    tiers: [
      { up_to: 5, unit_amount: 700, flat_amount: 100 },
      { up_to: 'inf', unit_amount: 600 },
    ],
    recurring: { interval: 'month' },
    product_data: { name: 'Gigabyte' },
    expand: ['tiers'],
  });
  const inTens = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 300,
    transform_quantity: { divide_by: 10, round: 'up' },
    recurring: { interval: 'year' },
    product_data: { name: 'Box' },
  });
  await stripe.prices.list({ expand: ['data.tiers'] });
  const coupon = await stripe.coupons.create({
    percent_off: 10,
    applies_to: { products: [String(tiered.product)] },
    expand: ['applies_to'],
  });
  await stripe.coupons.retrieve(coupon.id);
  const { id, items } = await stripe.subscriptions.create({
    customer,
    items: [{ price: plain }, { price: metered.id }, { price: tiered.id, quantity: 8 }],
    default_payment_method: card,
    discounts: [{ coupon: coupon.id }],
    expand: ['latest_invoice', 'items.data.price.tiers', 'discounts.source.coupon.applies_to'],
  });
  const added = await stripe.subscriptionItems.create({ subscription: id, price: inTens.id, quantity: 25 });
  await stripe.subscriptionItems.update(added.id, { quantity: 5, metadata: { note: 'fewer' } });
  await stripe.invoices.createPreview({
    subscription: id,
    subscription_details: {
      items: [
        { id: added.id, deleted: true },
        { id: String(items.data[2]?.id), quantity: 1 },
      ],
    },
  });
  const schedule = await stripe.subscriptionSchedules.create({ from_subscription: id });
  await stripe.subscriptionSchedules.release(schedule.id);
  await stripe.subscriptionItems.del(String(items.data[1]?.id));
  await stripe.subscriptionItems.del(added.id, { proration_behavior: 'always_invoice' });
  await stripe.subscriptionItems.list({ subscription: id });
}

/** One of the updates is paid; the other expires when the clock moves. */
async function pendingUpdates(
  stripe: Stripe,
  customer: string,
  price: string,
  subscriptions: readonly Stripe.Subscription[],
): Promise<void> {
  const failing = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer });
  await stripe.customers.update(customer, { balance: 0 });
  const waiting = [];
  for (const { id, items } of subscriptions) {
    await stripe.subscriptions.update(id, { default_payment_method: failing.id });
    const changed = await stripe.subscriptions.update(id, {
      items: [{ id: String(items.data[0]?.id), price, quantity: 3 }],
      metadata: { seats: '3' },
      proration_behavior: 'always_invoice',
      payment_behavior: 'pending_if_incomplete',
    });
    waiting.push(String(changed.latest_invoice));
  }
  const working = await stripe.paymentMethods.attach('pm_card_mastercard', { customer });
  await stripe.invoices.pay(String(waiting[0]), { payment_method: working.id });
}
