import type Stripe from 'stripe';

/** The terms of subscriptions: coupons, promotion codes and discounts. */
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
