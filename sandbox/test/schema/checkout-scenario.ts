import type Stripe from 'stripe';
import type { TestSandbox } from '../support.ts';

/** Checkout sessions in every mode and state, and everything that they include on request. */
export async function checkout(stripe: Stripe, { control, advance }: TestSandbox): Promise<void> {
  const { sessions } = stripe.checkout;
  const coupon = await stripe.coupons.create({ percent_off: 10, duration: 'once' });
  const line = {
    quantity: 2,
    price_data: { currency: 'usd', unit_amount: 2_000, product_data: { name: 'Shirt' } },
  };
  const base = {
    success_url: 'https://example.com/done',
    cancel_url: 'https://example.com',
    metadata: { order: '1' },
  };
  const payment = await sessions.create({
    ...base,
    mode: 'payment',
    line_items: [{ ...line, adjustable_quantity: { enabled: true, maximum: 5 } }],
    discounts: [{ coupon: coupon.id }],
    customer_creation: 'always',
    invoice_creation: { enabled: true },
    automatic_tax: { enabled: true },
    shipping_address_collection: { allowed_countries: ['US'] },
  });
  await sessions.update(payment.id, { metadata: { order: '2' } });
  const complete = (id: string, payment_method: string, authenticate = true) =>
    control('POST', `checkout_sessions/${id}/complete`, { payment_method, authenticate });
  await complete(payment.id, 'pm_card_chargeDeclined');
  await complete(payment.id, 'pm_card_threeDSecure2Required');
  await sessions.retrieve(payment.id, {
    expand: ['line_items.data.discounts', 'total_details.breakdown', 'payment_intent', 'invoice', 'customer'],
  });
  await sessions.listLineItems(payment.id);
  const subscription = await sessions.create({
    ...base,
    mode: 'subscription',
    line_items: [line, { ...line, price_data: { ...line.price_data, recurring: { interval: 'month' } } }],
    customer_email: 'jenny@example.com',
    allow_promotion_codes: true,
    adaptive_pricing: { enabled: false },
  });
  await complete(subscription.id, 'pm_card_visa');
  await sessions.retrieve(subscription.id, { expand: ['subscription', 'discounts.coupon'] });
  const setup = await sessions.create({
    mode: 'setup',
    currency: 'usd',
    ui_mode: 'embedded_page',
    return_url: 'https://example.com/done',
  });
  await complete(setup.id, 'pm_card_visa');
  await sessions.retrieve(setup.id, { expand: ['setup_intent'] });
  await sessions.expire((await sessions.create({ ...base, mode: 'payment', line_items: [line] })).id);
  await sessions.create({ ...base, mode: 'payment', line_items: [line] });
  await advance(86_400);
  await sessions.list({ status: 'expired', expand: ['data.line_items'] });
}
