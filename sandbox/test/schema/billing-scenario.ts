import type Stripe from 'stripe';

/** One-off invoices, pauses, trials on request, and the lists that every account has. */
export async function billing(stripe: Stripe, customer: string): Promise<void> {
  await oneOffInvoices(stripe, customer);
  await pauses(stripe, customer);
  await stripe.accounts.retrieveCurrent();
  await stripe.plans.list();
  await stripe.creditNotes.list({ customer });
  await stripe.customers.create({ source: 'tok_visa', shipping: { name: 'Jenny', address: { line1: 'x' } } });
}

async function oneOffInvoices(stripe: Stripe, customer: string): Promise<void> {
  const item = (extra: Partial<Stripe.InvoiceItemCreateParams> = {}) =>
    stripe.invoiceItems.create({ customer, amount: 2_000, currency: 'usd', description: 'Fee', ...extra });
  const draft = (extra: Partial<Stripe.InvoiceCreateParams> = {}) =>
    stripe.invoices.create({
      customer,
      currency: 'usd',
      pending_invoice_items_behavior: 'include',
      ...extra,
    });
  const product = await stripe.products.create({ name: 'Hours' });
  const priced = await item();
  await stripe.invoiceItems.update(priced.id, { amount: 1_500 });
  const paid = await draft({ custom_fields: [{ name: 'Order', value: '1' }], footer: 'Thank you' });
  await stripe.invoiceItems.create({
    customer,
    invoice: paid.id,
    price_data: { currency: 'usd', product: product.id, unit_amount: 700 },
    quantity: 2,
  });
  await stripe.invoiceItems.list({ invoice: paid.id });
  await stripe.invoices.listLineItems(paid.id);
  await stripe.invoices.pay(paid.id, { expand: ['payments', 'customer'] });
  const spare = await item({ invoice: (await draft()).id });
  await stripe.invoiceItems.del(spare.id);
  await item();
  const sent = await draft({ collection_method: 'send_invoice', days_until_due: 7 });
  await stripe.invoices.sendInvoice(sent.id);
  await stripe.invoices.markUncollectible(sent.id);
  await stripe.invoices.del((await draft()).id);
}

async function pauses(stripe: Stripe, customer: string): Promise<void> {
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 900,
    lookup_key: 'pauses',
    recurring: { interval: 'month' },
    product_data: { name: 'Paused plan' },
  });
  const other = await stripe.customers.create({});
  const trial = await stripe.subscriptions.create({
    customer: other.id,
    items: [{ price: price.id }],
    trial_period_days: 7,
    trial_settings: { end_behavior: { missing_payment_method: 'pause' } },
  });
  await stripe.subscriptions.update(trial.id, { trial_end: 'now' });
  const resuming = await stripe.subscriptions.resume(trial.id, { expand: ['latest_invoice'] });
  const method = await stripe.paymentMethods.attach('pm_card_visa', { customer: other.id });
  const invoice = resuming.latest_invoice;
  await stripe.invoices.pay(String(typeof invoice === 'object' ? invoice?.id : invoice), {
    payment_method: method.id,
  });
  await stripe.subscriptionItems.list({ subscription: trial.id });
  const running = await stripe.subscriptions.create({ customer, items: [{ price: price.id }] });
  await stripe.subscriptions.update(running.id, { pause_collection: { behavior: 'void' } });
  await stripe.subscriptions.update(running.id, { trial_end: running.created + 86_400 });
  await stripe.subscriptions.cancel(running.id);
}
