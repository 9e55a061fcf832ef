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
