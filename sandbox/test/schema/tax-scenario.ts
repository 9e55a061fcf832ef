import type Stripe from 'stripe';

/** Taxes, and the ways to bill that only some applications use. */
export async function taxes(stripe: Stripe): Promise<void> {
  const vat = await stripe.taxRates.create({ display_name: 'VAT', inclusive: false, percentage: 19 });
  await stripe.taxRates.update(vat.id, { description: 'Germany', metadata: { a: 'b' } });
  await stripe.taxRates.list({ active: true });
  const customer = await stripe.customers.create({
    email: 'jenny@example.com',
    address: { country: 'DE' },
    payment_method: 'pm_card_visa',
    invoice_settings: { default_payment_method: 'pm_card_visa' },
    tax: { validate_location: 'immediately' },
    tax_id_data: [{ type: 'eu_vat', value: 'DE123456789' }],
    expand: ['tax', 'tax_ids'],
  });
  const taxId = await stripe.customers.createTaxId(customer.id, { type: 'us_ein', value: '12-3456789' });
  await stripe.customers.retrieveTaxId(customer.id, taxId.id, { expand: ['customer'] });
  await stripe.customers.listTaxIds(customer.id);
  await stripe.customers.deleteTaxId(customer.id, taxId.id);
  await stripe.taxIds.list({ owner: { type: 'customer', customer: customer.id } });
  const product = await stripe.products.create({
    name: 'Shirt',
    images: ['https://example.com/shirt.png'],
    default_price_data: { currency: 'usd', unit_amount: 1_000, recurring: { interval: 'month' } },
    expand: ['default_price'],
  });
  const fee = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 300,
    product: product.id,
    currency_options: { eur: { unit_amount: 250 } },
    expand: ['currency_options'],
  });
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [
      {
        price_data: {
          currency: 'usd',
          product: product.id,
          unit_amount: 700,
          recurring: { interval: 'month' },
        },
        tax_rates: [vat.id],
      },
    ],
    add_invoice_items: [{ price: fee.id }],
    automatic_tax: { enabled: true },
    default_tax_rates: [vat.id],
    backdate_start_date: Math.floor(Date.now() / 1_000) - 86_400,
    cancel_at: Math.floor(Date.now() / 1_000) + 400 * 86_400,
    expand: ['latest_invoice'],
  });
  await stripe.subscriptions.cancel(subscription.id, { prorate: true, invoice_now: true });
  const sent = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: String((product.default_price as Stripe.Price).id) }],
    collection_method: 'send_invoice',
    days_until_due: 14,
    expand: ['latest_invoice'],
  });
  await stripe.subscriptions.cancel(sent.id);
  const invoice = await stripe.invoices.create({ customer: customer.id, default_tax_rates: [vat.id] });
  const line = await stripe.invoiceItems.create({
    customer: customer.id,
    invoice: invoice.id,
    amount: 1_000,
    currency: 'usd',
  });
  await stripe.invoiceItems.update(line.id, { tax_rates: [vat.id] });
  await stripe.invoices.update(invoice.id, { default_tax_rates: [] });
  const phases = [{ items: [{ price: String((product.default_price as Stripe.Price).id) }] }];
  const schedule = { customer: customer.id, phases, end_behavior: 'cancel' as const };
  const started = await stripe.subscriptionSchedules.create({ ...schedule, start_date: 'now' });
  await stripe.subscriptionSchedules.cancel(started.id);
  const later = await stripe.subscriptionSchedules.create({ ...schedule, start_date: 1_900_000_000 });
  await stripe.subscriptionSchedules.release(later.id);
  const setup = await stripe.setupIntents.create({
    confirm: true,
    payment_method: 'pm_card_visa',
    payment_method_options: { card: { request_three_d_secure: 'any' } },
    return_url: 'https://example.com',
    expand: ['latest_attempt'],
  });
  await stripe.setupAttempts.list({ setup_intent: setup.id });
  await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    payment_method: 'pm_card_visa',
    payment_method_options: { card: { capture_method: 'manual', request_three_d_secure: 'automatic' } },
    return_url: 'https://example.com',
  });
}
