import Stripe from 'stripe';
import type { TestSandbox } from '../support.ts';
import { billing } from './billing-scenario.ts';
import { changes } from './change-scenario.ts';
import { checkout } from './checkout-scenario.ts';
import { taxes } from './tax-scenario.ts';
import { terms } from './terms-scenario.ts';

const returnUrl = 'https://example.com/done';

/** Uses everything the sandbox offers, so that it sends every kind of response and event. */
export async function everything(stripe: Stripe, used: TestSandbox): Promise<void> {
  const { control, advance } = used;
  await testClocks(stripe);
  const customer = await customersAndCards(stripe);
  await payments(stripe, customer.id, control);
  await billing(stripe, customer.id);
  await changes(stripe);
  await terms(stripe);
  await taxes(stripe);
  await checkout(stripe, used);
  await disputes(stripe, advance);
  await subscriptions(stripe, customer.id, advance);
  await portal(stripe, customer.id);
  await endings(stripe, customer.id);
}

/** Every kind of flow, and a configuration with every feature. */
async function portal(stripe: Stripe, customer: string): Promise<void> {
  const { configurations, sessions } = stripe.billingPortal;
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 900,
    recurring: { interval: 'month' },
    product_data: { name: 'Portal' },
  });
  const { id } = await stripe.customers.create({ email: 'portal@example.com' });
  const subscription = await stripe.subscriptions.create({
    customer: id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
  });
  const product = { product: String(price.product), prices: [price.id] };
  const configuration = await configurations.create({
    business_profile: { headline: 'Portal' },
    features: {
      customer_update: { enabled: true, allowed_updates: ['address', 'email'] },
      invoice_history: { enabled: true },
      payment_method_update: { enabled: true },
      subscription_cancel: { enabled: true, cancellation_reason: { enabled: true, options: ['unused'] } },
      subscription_update: {
        enabled: true,
        default_allowed_updates: ['price', 'quantity'],
        products: [{ ...product, adjustable_quantity: { enabled: true, maximum: 9 } }],
        schedule_at_period_end: { conditions: [{ type: 'decreasing_item_amount' }] },
      },
    },
  });
  await configurations.update(configuration.id, { login_page: { enabled: true } });
  await configurations.retrieve(configuration.id);
  await configurations.list();
  await sessions.create({ customer, return_url: returnUrl, locale: 'auto' });
  const details = { subscription: subscription.id };
  const items = [{ id: String(subscription.items.data[0]?.id), quantity: 2 }];
  for (const flow_data of [
    { type: 'customer_update', after_completion: { type: 'hosted_confirmation' } },
    {
      type: 'payment_method_update',
      after_completion: { type: 'redirect', redirect: { return_url: returnUrl } },
    },
    { type: 'subscription_cancel', subscription_cancel: details },
    { type: 'subscription_update', subscription_update: details },
    { type: 'subscription_update_confirm', subscription_update_confirm: { ...details, items } },
  ])
    await sessions.create({ customer: id, configuration: configuration.id, flow_data });
  await refused(sessions.create({ customer: 'cus_none' }));
}

async function testClocks(stripe: Stripe): Promise<void> {
  const { testClocks: clocks } = stripe.testHelpers;
  const start = 1_800_000_000;
  const { id } = await clocks.create({ frozen_time: start, name: 'Year' });
  const customer = await stripe.customers.create({ test_clock: id });
  await stripe.customers.retrieve(customer.id, { expand: ['test_clock'] });
  await stripe.customers.list({ test_clock: id });
  await refused(clocks.advance(id, { frozen_time: start }));
  await clocks.advance(id, { frozen_time: start + 86_400 });
  while ((await clocks.retrieve(id)).status === 'advancing');
  await clocks.list();
  await clocks.del(id);
}

async function customersAndCards(stripe: Stripe): Promise<Stripe.Customer> {
  const customer = await stripe.customers.create({
    email: 'jenny@example.com',
    name: 'Jenny Rosen',
    address: { city: 'Paris', country: 'FR' },
    metadata: { order: '1' },
  });
  const card = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  await stripe.paymentMethods.update(card.id, { metadata: { kind: 'private' } });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: card.id } });
  await stripe.customers.listPaymentMethods(customer.id);
  await stripe.customers.list();
  await stripe.customers.search({ query: "name~'jenny'" });
  await stripe.customers.retrieve(customer.id, { expand: ['subscriptions'] });
  const other = await stripe.paymentMethods.attach('pm_card_mastercard', { customer: customer.id });
  await stripe.paymentMethods.detach(other.id);
  await stripe.paymentMethods.list({ customer: customer.id });
  return customer;
}

async function payments(stripe: Stripe, customer: string, control: TestSandbox['control']): Promise<void> {
  const pay = (payment_method: string, more: Partial<Stripe.PaymentIntentCreateParams> = {}) =>
    stripe.paymentIntents.create({
      amount: 2_000,
      currency: 'usd',
      confirm: true,
      payment_method,
      return_url: returnUrl,
      ...more,
    });
  const paid = await pay('pm_card_visa', { customer, setup_future_usage: 'off_session' });
  await stripe.paymentIntents.retrieve(paid.id, { expand: ['latest_charge', 'customer', 'payment_method'] });
  await stripe.charges.retrieve(String(paid.latest_charge));
  await stripe.charges.list({ payment_intent: paid.id });
  const refund = await stripe.refunds.create({ payment_intent: paid.id, amount: 500 });
  await stripe.refunds.update(refund.id, { metadata: { why: 'late' } });
  await stripe.refunds.list({ payment_intent: paid.id, expand: ['data.charge'] });
  for (const card of ['pm_card_refundFail', 'pm_card_pendingRefund'])
    await stripe.refunds.create({ payment_intent: (await pay(card)).id });
  const held = await pay('pm_card_visa', { capture_method: 'manual' });
  await stripe.paymentIntents.capture(held.id, { amount_to_capture: 700 });
  await stripe.paymentIntents.cancel((await pay('pm_card_visa', { capture_method: 'manual' })).id);
  await pay('pm_card_visa', { capture_method: 'manual' });
  await refused(pay('pm_card_visa_chargeDeclined'));
  for (const result of ['succeeded', 'failed']) {
    const waiting = await pay('pm_card_authenticationRequired');
    await control('POST', `payment_intents/${waiting.id}/authenticate`, { result });
  }
  const open = await stripe.paymentIntents.create({ amount: 900, currency: 'usd', customer });
  await stripe.paymentIntents.update(open.id, { description: 'Later' });
  await stripe.paymentIntents.cancel(open.id);
  await stripe.paymentIntents.list({ customer });
  await tokens(stripe);
  await setups(stripe, customer, control);
}

/** What the browser library creates, and servers use. */
async function tokens(stripe: Stripe): Promise<void> {
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2034', cvc: '123', name: 'Jenny' };
  const token = await stripe.tokens.create({ card });
  await stripe.tokens.create({ cvc_update: { cvc: '123' } });
  const payment_method_data = { type: 'card' as const, card: { token: token.id } };
  await stripe.paymentMethods.create(payment_method_data);
  await stripe.tokens.retrieve(token.id);
  await refused(stripe.paymentMethods.create(payment_method_data));
  const { confirmationTokens } = stripe.testHelpers;
  const create = () =>
    confirmationTokens.create({
      payment_method: 'pm_card_visa',
      return_url: returnUrl,
      setup_future_usage: 'off_session',
    });
  const payment = await create();
  const confirmed = { amount: 900, currency: 'usd', confirm: true, confirmation_token: payment.id };
  await stripe.paymentIntents.create(confirmed);
  await stripe.confirmationTokens.retrieve(payment.id);
  await refused(stripe.paymentIntents.create(confirmed));
  await stripe.setupIntents.create({ confirm: true, confirmation_token: (await create()).id });
}

/** Every outcome of a dispute. */
async function disputes(stripe: Stripe, advance: TestSandbox['advance']): Promise<void> {
  const disputed = async (payment_method: string) => {
    const payment = { amount: 2_000, currency: 'usd', confirm: true, return_url: returnUrl };
    const intent = await stripe.paymentIntents.create({ ...payment, payment_method });
    await advance(0);
    const { data } = await stripe.disputes.list({ payment_intent: intent.id });
    return String(data[0]?.id);
  };
  for (const text of ['winning_evidence', 'losing_evidence'])
    await stripe.disputes.update(await disputed('pm_card_createDispute'), {
      evidence: { uncategorized_text: text, customer_name: 'Jenny' },
      metadata: { text },
    });
  await stripe.disputes.close(await disputed('pm_card_createDisputeProductNotReceived'));
  await stripe.disputes.update(await disputed('pm_card_createDisputeInquiry'), {
    evidence: { uncategorized_text: 'escalate_inquiry_evidence' },
  });
  await advance(0);
  const { data } = await stripe.balanceTransactions.list();
  await stripe.balanceTransactions.retrieve(String(data[0]?.id));
  await stripe.charges.list({ limit: 100, expand: ['data.balance_transaction'] });
  await stripe.disputes.list({ expand: ['data.charge', 'data.payment_intent'] });
}

async function setups(stripe: Stripe, customer: string, control: TestSandbox['control']): Promise<void> {
  const confirmed = async (payment_method: string) => {
    const { id } = await stripe.setupIntents.create({ customer });
    return stripe.setupIntents.confirm(id, { payment_method, return_url: returnUrl });
  };
  await stripe.setupIntents.retrieve((await confirmed('pm_card_visa')).id);
  await refused(confirmed('pm_card_visa_chargeDeclined'));
  for (const result of ['succeeded', 'failed']) {
    const waiting = await confirmed('pm_card_authenticationRequired');
    await control('POST', `setup_intents/${waiting.id}/authenticate`, { result });
  }
  const { id } = await stripe.setupIntents.create({});
  await stripe.setupIntents.cancel(id);
  await stripe.setupIntents.list();
}

async function subscriptions(
  stripe: Stripe,
  customer: string,
  advance: TestSandbox['advance'],
): Promise<void> {
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 1_500,
    recurring: { interval: 'month' },
    product_data: { name: 'Plan' },
  });
  await stripe.prices.update(price.id, { nickname: 'Basic' });
  await stripe.prices.retrieve(price.id, { expand: ['product'] });
  await stripe.prices.list();
  const subscribe = (more: Partial<Stripe.SubscriptionCreateParams> = {}) =>
    stripe.subscriptions.create({ customer, items: [{ price: price.id }], ...more });
  const active = await subscribe({ expand: ['latest_invoice.payments'] });
  await stripe.subscriptions.update(active.id, { metadata: { seat: '1' } });
  await stripe.subscriptions.retrieve(active.id, { expand: ['latest_invoice', 'customer'] });
  await subscribe({ payment_behavior: 'default_incomplete' });
  await subscribe({ trial_period_days: 2 });
  const unpaid = await subscribe({
    payment_behavior: 'default_incomplete',
    expand: ['latest_invoice.confirmation_secret'],
  });
  const first = unpaid.latest_invoice as Stripe.Invoice;
  const secret = String(first.confirmation_secret?.client_secret);
  await stripe.paymentIntents.confirm(secret.slice(0, secret.indexOf('_secret_')), {
    payment_method: 'pm_card_authenticationRequired',
  });
  const second = await subscribe({ payment_behavior: 'default_incomplete' });
  await stripe.invoices.markUncollectible(String(second.latest_invoice));
  await stripe.invoices.voidInvoice(String(first.id));
  await stripe.invoices.list({ customer });
  await stripe.invoices.retrieve(
    String(active.latest_invoice && (active.latest_invoice as Stripe.Invoice).id),
  );
  await stripe.invoices.listLineItems(String(first.id));
  await stripe.invoicePayments.list();
  await endingTrial(stripe, price.id);
  const failing = await failingSubscription(stripe, price.id);
  await advance(40 * 86_400);
  await stripe.subscriptions.retrieve(failing);
  await advance(30 * 86_400);
  await stripe.subscriptions.list({ status: 'all' });
  await stripe.subscriptions.cancel(active.id);
}

async function endingTrial(stripe: Stripe, price: string): Promise<void> {
  const customer = await stripe.customers.create({});
  await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price }],
    trial_period_days: 5,
    trial_settings: { end_behavior: { missing_payment_method: 'pause' } },
    expand: ['pending_setup_intent'],
  });
}

/** Its first payment succeeds; then its card is replaced with one that can no longer be charged. */
async function failingSubscription(stripe: Stripe, price: string): Promise<string> {
  const customer = await stripe.customers.create({ payment_method: 'pm_card_visa' });
  const [card] = (await stripe.paymentMethods.list({ customer: customer.id })).data;
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price }],
    default_payment_method: String(card?.id),
  });
  const broken = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer: customer.id });
  await stripe.subscriptions.update(subscription.id, { default_payment_method: broken.id });
  return subscription.id;
}

async function endings(stripe: Stripe, customer: string): Promise<void> {
  const product = await stripe.products.create({ name: 'Mug' });
  await stripe.products.update(product.id, { description: 'Blue' });
  await stripe.products.list();
  await stripe.products.del(product.id);
  const endpoint = await stripe.webhookEndpoints.create({
    url: 'https://example.com/hook',
    enabled_events: ['charge.succeeded'],
  });
  await stripe.webhookEndpoints.update(endpoint.id, { disabled: true });
  await stripe.webhookEndpoints.list();
  await stripe.webhookEndpoints.del(endpoint.id);
  await stripe.accounts.retrieveCurrent();
  await stripe.customers.del(customer);
  await stripe.customers.retrieve(customer);
  const { data } = await stripe.events.list({ limit: 1 });
  await stripe.events.retrieve(String(data[0]?.id));
}

/** Waits for a request that the sandbox refuses. Its body is still recorded. */
async function refused(request: Promise<unknown>): Promise<void> {
  const error: unknown = await request.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Stripe.errors.StripeError)) throw new Error('the sandbox accepted the request');
}
