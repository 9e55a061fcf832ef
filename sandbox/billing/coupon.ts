import type { Store } from '../state/store.ts';
import type { Coupon, DeletedCoupon, Discount, PromotionCode } from '../wire/objects.ts';
import type { ErrorBody } from '../wire/wire-error.ts';

/** The coupon as callers see it, unless they expand `applies_to`. Whether it is valid depends on the time. */
export function shownCoupon(store: Store, { applies_to: _, ...coupon }: Coupon): Coupon {
  return { ...coupon, valid: couponRefusal(coupon, store.now()) === null };
}

/** The promotion code as callers see it. It is active only while it can be redeemed. */
export function shownPromotionCode(store: Store, code: PromotionCode): PromotionCode {
  const coupon = store.coupons.get(code.promotion.coupon);
  return { ...code, active: isRedeemable(code, coupon, store.now()) };
}

/** The coupon that gave a discount, even if it has been deleted since. */
export function couponTerms(store: Store, id: string): Coupon | undefined {
  const coupon = store.coupons.get(id);
  if (coupon !== undefined) return coupon;
  const deleted = store.deletedCoupons.get(id);
  return deleted === undefined ? undefined : { ...deleted, object: 'coupon', valid: false };
}

/** Deletes the coupon. Its terms are kept for existing discounts. */
export function deleteCoupon(store: Store, coupon: Coupon): void {
  store.remove(store.coupons, coupon.id);
  const terms: DeletedCoupon = { ...coupon, object: 'deleted_coupon' };
  if (store.discounts.allWithin('coupon', coupon.id).length > 0) store.put(store.deletedCoupons, terms);
  store.emit('coupon.deleted', shownCoupon(store, coupon));
}

/** Counts one more redemption of the coupon and of its promotion code, if one was used. */
export function countRedemption(
  store: Store,
  { coupon: given, code }: { readonly coupon: Coupon; readonly code: PromotionCode | null },
): void {
  // Another discount of the same request may have changed it.
  const coupon = store.coupons.get(given.id) ?? given;
  store.change(store.coupons, coupon, { times_redeemed: coupon.times_redeemed + 1 });
  if (code !== null) store.change(store.promotionCodes, code, { times_redeemed: code.times_redeemed + 1 });
}

/** Takes back a redemption of the coupon and of its promotion code. */
export function returnRedemption(
  store: Store,
  { source, promotion_code: codeId }: Pick<Discount, 'promotion_code' | 'source'>,
): void {
  const coupon = store.coupons.get(source.coupon);
  if (coupon !== undefined)
    store.change(store.coupons, coupon, { times_redeemed: coupon.times_redeemed - 1 });
  const code = store.promotionCodes.get(codeId);
  if (code !== undefined)
    store.change(store.promotionCodes, code, { times_redeemed: code.times_redeemed - 1 });
}

/** The purchase for which a coupon is redeemed. */
export interface Purchase {
  readonly customer: string;
  readonly currency: string;
  /** The cost of the subscription in a period, without discounts. */
  readonly subtotal: number;
  /** Whether the customer has paid or been billed before. */
  readonly hasPriorTransactions: boolean;
  readonly now: number;
}

type Refusal = Pick<ErrorBody, 'message' | 'code'>;

/** Why the coupon cannot be redeemed for any purchase. Null if it can. */
export function couponRefusal(coupon: Coupon, now: number): Refusal | null {
  if (coupon.redeem_by !== null && coupon.redeem_by <= now)
    return { message: `Coupon expired: ${coupon.id}`, code: 'coupon_expired' };
  if (coupon.max_redemptions !== null && coupon.times_redeemed >= coupon.max_redemptions)
    return { message: `Coupon ${coupon.id} is used up and cannot be applied.`, code: 'coupon_expired' };
  return null;
}

/** Whether the code can be redeemed at all. */
export function isRedeemable(code: PromotionCode, coupon: Coupon | undefined, now: number): boolean {
  return (
    code.active &&
    coupon !== undefined &&
    couponRefusal(coupon, now) === null &&
    (code.expires_at === null || code.expires_at > now) &&
    (code.max_redemptions === null || code.times_redeemed < code.max_redemptions)
  );
}

/** Why the coupon cannot be redeemed for this purchase. Null if it can. */
export function purchaseRefusal(coupon: Coupon, purchase: Purchase): Refusal | null {
  const refusal = couponRefusal(coupon, purchase.now);
  if (refusal !== null) return refusal;
  if (coupon.currency !== null && coupon.currency !== purchase.currency)
    return {
      message: `The coupon ${coupon.id} takes off an amount in ${coupon.currency}, but the subscription is in ${purchase.currency}.`,
    };
  return null;
}

/** Why the code cannot be redeemed for this purchase. Null if it can. */
export function promotionRefusal(code: PromotionCode, coupon: Coupon, purchase: Purchase): Refusal | null {
  const { restrictions } = code;
  const cannot = (reason: string, errorCode?: string): Refusal => ({
    message: `This promotion code cannot be redeemed because ${reason}.`,
    ...(errorCode !== undefined && { code: errorCode }),
  });
  if (!isRedeemable(code, coupon, purchase.now))
    return purchaseRefusal(coupon, purchase) ?? cannot('it is expired, used up or inactive');
  if (code.customer !== null && code.customer !== purchase.customer)
    return cannot('it belongs to a different customer');
  if (restrictions.first_time_transaction && purchase.hasPriorTransactions)
    return cannot('the associated customer has prior transactions', 'promotion_code_customer_not_first_time');
  if (
    restrictions.minimum_amount !== null &&
    (restrictions.minimum_amount_currency !== purchase.currency ||
      purchase.subtotal < restrictions.minimum_amount)
  )
    return cannot('the associated purchase does not meet the minimum amount requirement');
  return purchaseRefusal(coupon, purchase);
}
