import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { useSandbox } from './support.ts';

async function payer(stripe: Stripe, more: Stripe.CustomerCreateParams = {}): Promise<string> {
  const customer = await stripe.customers.create({
    email: 'jenny@example.com',
    payment_method: 'pm_card_visa',
    invoice_settings: { default_payment_method: 'pm_card_visa' },
    ...more,
  });
  return customer.id;
}

const monthly = (stripe: Stripe, amount: number) =>
  stripe.prices.create({
    currency: 'eur',
    unit_amount: amount,
    recurring: { interval: 'month' },
    product_data: { name: 'Plan' },
  });

const totals = (invoice: Stripe.Invoice) => ({
  subtotal: invoice.subtotal,
  net: invoice.total_excluding_tax,
  taxes: invoice.total_taxes?.map(({ amount }) => amount),
  total: invoice.total,
});

test('a tax is added to the total, or is a part of it', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await payer(stripe);
  const price = await monthly(stripe, 11_900);
  const bill = async (inclusive: boolean, coupon?: string) => {
    const rate = await stripe.taxRates.create({ display_name: 'VAT', inclusive, percentage: 19 });
    const subscription = await stripe.subscriptions.create({
      customer,
      items: [{ price: price.id }],
      default_tax_rates: [rate.id],
      ...(coupon === undefined ? {} : { discounts: [{ coupon }] }),
      expand: ['latest_invoice'],
    });
    assert.equal(subscription.status, 'active');
    return totals(subscription.latest_invoice as Stripe.Invoice);
  };
  assert.deepEqual(await bill(false), { subtotal: 11_900, net: 11_900, taxes: [2_261], total: 14_161 });
  assert.deepEqual(await bill(true), { subtotal: 11_900, net: 10_000, taxes: [1_900], total: 11_900 });
  const { id: half } = await stripe.coupons.create({ percent_off: 50, duration: 'once' });
  assert.deepEqual(await bill(true, half), { subtotal: 11_900, net: 5_000, taxes: [950], total: 5_950 });
});

test('an item has its own tax rates, and an exempt customer pays none', async (t) => {
  const { stripe } = await useSandbox(t);
  const [full, reduced] = await Promise.all(
    [19, 7].map((percentage) =>
      stripe.taxRates.create({ display_name: 'VAT', inclusive: false, percentage }),
    ),
  );
  assert.ok(full !== undefined && reduced !== undefined);
  const bill = async (customer: string) => {
    const invoice = await stripe.invoices.create({ customer, currency: 'eur', default_tax_rates: [full.id] });
    const add = (more: Partial<Stripe.InvoiceItemCreateParams>) =>
      stripe.invoiceItems.create({ customer, invoice: invoice.id, amount: 1_000, currency: 'eur', ...more });
    await add({});
    await add({ tax_rates: [reduced.id] });
    return stripe.invoices.retrieve(invoice.id);
  };
  const invoice = await bill(await payer(stripe));
  assert.deepEqual(totals(invoice), { subtotal: 2_000, net: 2_000, taxes: [190, 70], total: 2_260 });
  const untaxed = await stripe.invoices.update(invoice.id, { default_tax_rates: '' as unknown as [] });
  assert.deepEqual(totals(untaxed), { subtotal: 2_000, net: 2_000, taxes: [70], total: 2_070 });
  const exempt = await bill(await payer(stripe, { tax_exempt: 'reverse' }));
  assert.deepEqual(totals(exempt), { subtotal: 2_000, net: 2_000, taxes: [0, 0], total: 2_000 });
  assert.equal(exempt.total_taxes?.[0]?.taxability_reason, 'reverse_charge');
});

test('automatic tax needs an address, and is complete without a tax', async (t) => {
  const { stripe } = await useSandbox(t);
  const price = await monthly(stripe, 900);
  const subscribe = async (more: Stripe.CustomerCreateParams) =>
    stripe.subscriptions.create({
      customer: await payer(stripe, more),
      items: [{ price: price.id }],
      automatic_tax: { enabled: true },
      expand: ['latest_invoice'],
    });
  await assert.rejects(subscribe({}), { code: 'customer_tax_location_invalid' });
  const { latest_invoice: invoice } = await subscribe({ address: { country: 'DE' } });
  const { automatic_tax: tax, total } = invoice as Stripe.Invoice;
  assert.deepEqual([tax.enabled, tax.status, total], [true, 'complete', 900]);
});

test('an invoice shows the tax ids of its customer', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await payer(stripe, { tax_id_data: [{ type: 'eu_vat', value: 'DE123456789' }] });
  const { id } = await stripe.customers.createTaxId(customer, { type: 'gb_vat', value: 'GB123456789' });
  assert.equal((await stripe.customers.listTaxIds(customer)).data.length, 2);
  await stripe.customers.deleteTaxId(customer, id);
  await assert.rejects(stripe.customers.retrieveTaxId(customer, id), { code: 'resource_missing' });
  const invoice = await stripe.invoices.create({ customer });
  assert.deepEqual(invoice.customer_tax_ids, [{ type: 'eu_vat', value: 'DE123456789' }]);
});

test('a tax id names its owner, and is removed by its own id', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await payer(stripe);
  const params = { type: 'gb_vat', value: 'GB123456789' } as const;
  await assert.rejects(stripe.taxIds.create(params), { param: 'owner[customer]' });
  const { id } = await stripe.taxIds.create({ ...params, owner: { type: 'customer', customer } });
  assert.equal((await stripe.customers.retrieveTaxId(customer, id)).value, params.value);
  assert.deepEqual(await stripe.taxIds.del(id), { id, object: 'tax_id', deleted: true });
  assert.deepEqual((await stripe.customers.listTaxIds(customer)).data, []);
});

test('versions before 2025-03-31 show taxes in their older fields', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await payer(stripe);
  const rate = await stripe.taxRates.create({ display_name: 'VAT', inclusive: false, percentage: 10 });
  await stripe.invoiceItems.create({ customer, amount: 1_000, currency: 'usd', tax_rates: [rate.id] });
  const { id } = await stripe.invoices.create({ customer, pending_invoice_items_behavior: 'include' });
  const older: unknown = await stripe.invoices.retrieve(id, {}, { apiVersion: '2024-06-20' });
  const { tax, total_tax_amounts: amounts } = older as {
    tax: number;
    total_tax_amounts: { tax_rate: string }[];
  };
  assert.deepEqual([tax, amounts.map(({ tax_rate }) => tax_rate)], [100, [rate.id]]);
});
