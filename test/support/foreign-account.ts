import assert from 'node:assert/strict';
import type { Stripe } from 'stripe';
import type { TestProcessor } from './backend.ts';

/** The processor's ids of what an application has created without Till. */
export interface ForeignAccount {
  readonly ada: string;
  readonly grace: string;
  /** Deleted, after it has paid. */
  readonly gone: string;
  readonly monthly: string;
  readonly yearly: string;
  readonly subscription: string;
  readonly paid: string;
  readonly open: string;
  readonly disputed: string;
  readonly ofGone: string;
  /** Pays a one-off invoice. */
  readonly oneOff: string;
}

/** What an application has at the processor that calls it directly: one of everything that Till can adopt. */
export async function makeForeignAccount({ stripe, control }: TestProcessor): Promise<ForeignAccount> {
  const product = await stripe.products.create({ name: 'Pro', metadata: { tier: 'gold' } });
  const price = (unit_amount: number, interval: 'month' | 'year') =>
    stripe.prices.create({ product: product.id, currency: 'eur', unit_amount, recurring: { interval } });
  const [monthly, yearly] = [await price(900, 'month'), await price(9_000, 'year')];
  const [ada, grace, gone] = [
    await makePayer(stripe, { email: 'ada@example.com', name: 'Ada', metadata: { user: 'user-1' } }),
    await makePayer(stripe, { email: 'grace@example.com', metadata: { user: 'user-2' } }),
    await makePayer(stripe, { email: 'gone@example.com', metadata: { user: 'user-3' } }),
  ];
  const subscription = await stripe.subscriptions.create({
    customer: ada,
    items: [{ price: monthly.id, quantity: 2 }],
    metadata: { seat: 'window' },
  });
  await stripe.subscriptions.create({ customer: grace, items: [{ price: yearly.id }], trial_period_days: 7 });
  await stripe.subscriptions.create({ customer: gone, items: [{ price: monthly.id }] });
  const paid = await pay(stripe, ada, { amount: 2_000, description: 'A book' });
  await stripe.refunds.create({ payment_intent: paid, amount: 500 });
  const open = await stripe.paymentIntents.create({ customer: grace, amount: 700, currency: 'eur' });
  const disputed = await pay(stripe, grace, { amount: 3_000, payment_method: 'pm_card_createDispute' });
  const ofGone = await pay(stripe, gone, { amount: 1_100 });
  const oneOff = await payInvoice(stripe, grace);
  await control('clock', { advanceSeconds: 0 });
  await stripe.customers.del(gone);
  return {
    ...{ ada, grace, gone, paid, disputed, ofGone, oneOff },
    monthly: monthly.id,
    yearly: yearly.id,
    subscription: subscription.id,
    open: open.id,
  };
}

/** A customer with a card. */
export async function makePayer(stripe: Stripe, params: Stripe.CustomerCreateParams): Promise<string> {
  const { id } = await stripe.customers.create({
    ...params,
    payment_method: 'pm_card_visa',
    invoice_settings: { default_payment_method: 'pm_card_visa' },
  });
  return id;
}

/** A payment that succeeds. */
export async function pay(
  stripe: Stripe,
  customer: string | undefined,
  params: Partial<Stripe.PaymentIntentCreateParams> = {},
): Promise<string> {
  const { id, status } = await stripe.paymentIntents.create({
    ...(customer === undefined ? {} : { customer }),
    amount: 1_000,
    currency: 'eur',
    payment_method: 'pm_card_visa',
    confirm: true,
    return_url: 'https://shop.example.com',
    ...params,
  });
  assert.equal(status, 'succeeded');
  return id;
}

/** Pays an invoice that bills no subscription, and returns the payment intent. */
async function payInvoice(stripe: Stripe, customer: string): Promise<string> {
  const { id = '' } = await stripe.invoices.create({ customer });
  await stripe.invoiceItems.create({ customer, invoice: id, amount: 1_500, currency: 'eur' });
  await stripe.invoices.finalizeInvoice(id);
  await stripe.invoices.pay(id);
  const [payment] = (await stripe.invoicePayments.list({ invoice: id })).data;
  assert(typeof payment?.payment.payment_intent === 'string');
  return payment.payment.payment_intent;
}
