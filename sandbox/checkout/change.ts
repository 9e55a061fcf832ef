import { couponTerms } from '../billing/coupon.ts';
import type { NewDiscount } from '../billing/discount.ts';
import { checkChargeable } from '../payments/money.ts';
import { type Given, wantedDiscounts } from '../resources/discount-params.ts';
import { checkPrices } from '../resources/subscription-params.ts';
import type { Store } from '../state/store.ts';
import type { CheckoutSession, LineItem, PromotionCode } from '../wire/objects.ts';
import { badParam } from '../wire/wire-error.ts';
import { checkOpen, priced, sessionIntent } from './session.ts';

/** The session with other lines or discounts. An authentication of the earlier amount is no longer valid. */
export function reprice(
  store: Store,
  before: CheckoutSession,
  lines: readonly LineItem[],
  wanted: readonly NewDiscount[],
): CheckoutSession {
  const session = priced(store, before, lines, wanted);
  const recurring = lines.flatMap(({ price }) => (price.recurring === null ? [] : [price]));
  checkPrices(recurring, session.terms.subscription.details.billing_mode.type, 'line_items');
  const total = session.amount_total ?? 0;
  if (session.mode === 'payment' && total > 0)
    checkChargeable(
      total,
      session.currency ?? '',
      'line_items',
      "The Checkout Session's total amount due must add up to",
    );
  const intent = sessionIntent(store, before);
  if (intent?.object === 'payment_intent' && intent.status === 'requires_action')
    store.change(store.paymentIntents, intent, {
      next_action: null,
      payment_method: null,
      status: 'requires_payment_method',
    });
  return store.put(store.checkoutSessions, session);
}

/** Applies the promotion code that the buyer enters, by its text or its id. Null removes it. */
export function enterPromotionCode(
  store: Store,
  session: CheckoutSession,
  entered: string | null,
): CheckoutSession {
  checkOpen(session, 'updated');
  const { lines } = session.terms;
  if (session.allow_promotion_codes !== true)
    throw badParam('This Checkout Session accepts no promotion codes.', 'promotion_code');
  if (entered === null) return reprice(store, session, lines, []);
  const code = promotionCode(store, session, entered.trim());
  const given = { coupon: undefined, discount: undefined, promotion_code: code.id };
  return reprice(store, session, lines, checkedDiscounts(store, [given], session, lines));
}

/** Different customers can have the same code. */
function promotionCode(store: Store, { customer }: CheckoutSession, entered: string): PromotionCode {
  const codes = store.promotionCodes.allWithin('code', entered.toLowerCase());
  const code =
    store.promotionCodes.get(entered) ??
    codes.findLast((one) => one.active && one.customer === customer) ??
    codes.findLast((one) => one.active && one.customer === null) ??
    codes.at(-1);
  if (code === undefined) throw badParam('This code is invalid.', 'promotion_code');
  return code;
}

/** The discounts in a parameter. Throws the processor's error if one cannot be redeemed. */
export function checkedDiscounts(
  store: Store,
  given: Given,
  { customer }: Pick<CheckoutSession, 'customer'>,
  lines: readonly LineItem[],
): NewDiscount[] {
  const items = lines.map(({ price, quantity }) => ({ price, quantity: quantity ?? undefined }));
  return wantedDiscounts(store, given, { customer: customer ?? '', items, discounts: [] }).flatMap((one) =>
    'existing' in one ? [] : [one],
  );
}

/** The discounts of the session that can be redeemed now. Throws if one cannot. */
export function redeemableDiscounts(store: Store, session: CheckoutSession): NewDiscount[] {
  const given = session.discounts.map(({ coupon, promotion_code }) => ({
    coupon: coupon ?? undefined,
    discount: undefined,
    promotion_code: promotion_code ?? undefined,
  }));
  return checkedDiscounts(store, given, session, session.terms.lines);
}

/** The discounts of the session, even if they can no longer be redeemed: the buyer has paid the reduced price. */
export function paidDiscounts(store: Store, { discounts }: CheckoutSession): NewDiscount[] {
  return discounts.flatMap(({ coupon: couponId, promotion_code: codeId }) => {
    const code = store.promotionCodes.get(codeId) ?? null;
    const coupon = couponTerms(store, code?.promotion.coupon ?? couponId ?? '');
    return coupon === undefined ? [] : [{ coupon, code }];
  });
}
