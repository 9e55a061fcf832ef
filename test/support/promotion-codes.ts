import type { Stripe } from 'stripe';
import type { TestProcessor } from './backend.ts';

/** A promotion code at the processor: a fifth off forever, unless the coupon says otherwise. */
export async function createPromotionCode(
  { stripe }: Pick<TestProcessor, 'stripe'>,
  values: Partial<Stripe.PromotionCodeCreateParams> = {},
  coupon: Stripe.CouponCreateParams = { percent_off: 20, duration: 'forever' },
): Promise<Stripe.PromotionCode> {
  const { id } = await stripe.coupons.create(coupon);
  return stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: id }, ...values });
}
