import type { Store } from '../state/store.ts';
import type { Coupon, DeletedCoupon, PromotionCode } from '../wire/objects.ts';
import { couponRefusal, isRedeemable } from './redemption.ts';

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
