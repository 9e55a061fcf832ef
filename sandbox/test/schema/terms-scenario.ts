import type Stripe from 'stripe';

/** The terms of subscriptions: coupons, promotion codes, discounts and schedules. */
export async function terms(stripe: Stripe): Promise<void> {
  const customer = await stripe.customers.create({ source: 'tok_visa' });
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 2_500,
    recurring: { interval: 'month' },
    product_data: { name: 'Terms' },
  });
  const subscribe = (more: Partial<Stripe.SubscriptionCreateParams> = {}) =>
    stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }], ...more });
  await discounts(stripe, subscribe);
  await schedules(stripe, subscribe, price.id);
}

type Subscribe = (more?: Partial<Stripe.SubscriptionCreateParams>) => Promise<Stripe.Subscription>;

async function discounts(stripe: Stripe, subscribe: Subscribe): Promise<void> {
  const coupon = await stripe.coupons.create({ percent_off: 12.5, duration: 'forever', name: 'Eighth' });
  await stripe.coupons.update(coupon.id, { metadata: { campaign: 'spring' } });
  const fixed = await stripe.coupons.create({
    amount_off: 300,
    currency: 'usd',
    duration: 'repeating',
    duration_in_months: 2,
    max_redemptions: 5,
    redeem_by: Math.floor(Date.now() / 1_000) + 86_400,
  });
  await stripe.coupons.list();
  const code = await stripe.promotionCodes.create({
    promotion: { type: 'coupon', coupon: coupon.id },
    restrictions: { minimum_amount: 100, minimum_amount_currency: 'usd' },
  });
  await stripe.promotionCodes.retrieve(code.id, { expand: ['promotion.coupon'] });
  const { id } = await subscribe({
    discounts: [{ promotion_code: code.id }],
    expand: ['discounts.source.coupon', 'discounts.promotion_code', 'latest_invoice.discounts'],
  });
  await stripe.subscriptions.update(id, { discounts: [{ coupon: fixed.id }] });
  await stripe.subscriptions.update(id, { discounts: '' });
  await subscribe({ discounts: [{ coupon: coupon.id }, { coupon: fixed.id }] });
  await stripe.subscriptions.deleteDiscount((await subscribe({ discounts: [{ coupon: coupon.id }] })).id);
  await stripe.promotionCodes.update(code.id, { active: false });
  await stripe.promotionCodes.list({ coupon: coupon.id });
  await stripe.coupons.del(coupon.id);
  await stripe.coupons.del(fixed.id);
}

/** Every end of a schedule. Those that last end while the clock moves. */
async function schedules(stripe: Stripe, subscribe: Subscribe, price: string): Promise<void> {
  const { subscriptionSchedules: all } = stripe;
  const start = async () => all.create({ from_subscription: (await subscribe()).id });
  const released = await start();
  await all.update(released.id, { metadata: { a: '1' } });
  await all.retrieve(released.id, { expand: ['subscription', 'customer'] });
  await all.release(released.id);
  await all.cancel((await start()).id);
  await all.update((await start()).id, { end_behavior: 'cancel' });
  const { id, phases, customer } = await start();
  const card = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', {
    customer: String(customer),
  });
  const { start_date = 0, end_date = 0 } = phases[0] ?? {};
  await all.update(id, {
    phases: [
      { start_date, end_date, items: [{ price }] },
      { items: [{ price, quantity: 2 }], default_payment_method: card.id },
    ],
  });
  await start();
  await all.list({ customer: String(customer) });
  await stripe.subscriptions.list({ customer: String(customer), expand: ['data.schedule'] });
}
