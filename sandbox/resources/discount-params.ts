import * as coupons from '../billing/coupon.ts';
import { type DiscountTerms, previewedTerms, type WantedDiscount } from '../billing/discount.ts';
import { costOf } from '../billing/price.ts';
import { livingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import { refuseRemoved } from '../wire/api-version.ts';
import type { Coupon, Price, PromotionCode, Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';

/** The processor's own limit. */
const discountsMax = 20;

const discountFields = { coupon: p.text(), discount: p.text(), promotion_code: p.text() };
/** An empty value removes all discounts. */
export const discountsParam = p.clearable(p.array(p.object(discountFields), discountsMax));

export type Given = NonNullable<ReturnType<typeof discountsParam>>;

/** The subscription that the discounts are for. */
interface Discounted {
  readonly customer: string;
  readonly items: readonly { readonly price: Price; readonly quantity?: number | undefined }[];
  /** The discounts that it already has. */
  readonly discounts: readonly string[];
}

/** The discounts in the parameter. Throws the processor's error if one cannot be redeemed. */
export function wantedDiscounts(
  store: Store,
  given: Given,
  subscription: Discounted,
  path = 'discounts',
): WantedDiscount[] {
  const purchase = purchaseOf(store, subscription);
  const wanted = given.map((one, index) =>
    wantedFrom(store, one, purchase, subscription, `${path}[${index}]`),
  );
  const coupons = wanted.map((one) => ('existing' in one ? one.existing.source.coupon : one.coupon.id));
  if (new Set(coupons).size < coupons.length)
    throw badParam('The same coupon cannot be applied more than once.', path);
  return wanted;
}

function wantedFrom(
  store: Store,
  { coupon, discount, promotion_code: code }: p.Parsed<typeof discountFields>,
  purchase: coupons.Purchase,
  { discounts }: Discounted,
  path: string,
): WantedDiscount {
  if ([coupon, discount, code].filter((id) => id !== undefined).length !== 1)
    throw badParam('Pass exactly one of coupon, discount and promotion_code.', path);
  if (discount !== undefined) {
    const found = store.discounts.existing(discount, `${path}[discount]`);
    if (!discounts.includes(discount))
      throw badParam(`The discount ${discount} belongs to another object.`, `${path}[discount]`);
    return { existing: found };
  }
  if (coupon !== undefined) {
    const found = store.coupons.existing(coupon, `${path}[coupon]`);
    const refusal = coupons.purchaseRefusal(found, purchase);
    if (refusal !== null) throw badParam(refusal.message, `${path}[coupon]`, refusal.code);
    return { coupon: found, code: null };
  }
  const param = `${path}[promotion_code]`;
  const promotion = store.promotionCodes.existing(code ?? '', param);
  const promoted = store.coupons.get(promotion.promotion.coupon);
  if (promoted === undefined) throw badParam('The coupon of this promotion code is deleted.', param);
  const refusal = coupons.promotionRefusal(promotion, promoted, purchase);
  if (refusal !== null) throw badParam(refusal.message, param, refusal.code);
  return { coupon: promoted, code: promotion };
}

/** The discounts of a preview. Undefined if the subscription and its customer decide. */
export function previewedDiscounts(
  store: Store,
  given: Given | null | undefined,
  { customer, currency, items, discounts }: Subscription,
): DiscountTerms[] | undefined {
  if (given === undefined || given?.length === 0) return undefined;
  const inherited = livingCustomer(store, customer)?.discount?.id;
  const known = [...discounts, ...(inherited === undefined ? [] : [inherited])];
  const wanted = wantedDiscounts(store, given ?? [], { customer, items: items.data, discounts: known });
  return previewedTerms(store, wanted, currency);
}

/** The older way to name one discount. */
export const oldDiscountParams = { coupon: p.clearable(p.text()), promotion_code: p.clearable(p.text()) };
type OldDiscount = Partial<p.Parsed<typeof oldDiscountParams>>;

/** The older parameters as a list of discounts. Undefined if there are none. */
export function oldDiscounts(call: Call, params: OldDiscount): Given | null | undefined {
  refuseRemoved(call.version, 'invoicePayments', params, 'coupon', 'promotion_code');
  const { coupon, promotion_code: code } = params;
  if (coupon === undefined && code === undefined) return undefined;
  if (coupon == null && code == null) return null;
  return [{ coupon: coupon ?? undefined, discount: undefined, promotion_code: code ?? undefined }];
}

/** The discount of a customer in the parameters. Null removes it. */
export function customerDiscount(
  call: Call,
  params: OldDiscount,
): { readonly coupon: Coupon; readonly code: PromotionCode | null } | null | undefined {
  const { store } = call;
  const given = oldDiscounts(call, params);
  if (given == null) return given;
  const { coupon: couponId, promotion_code: codeId } = params;
  const param = couponId == null ? 'promotion_code' : 'coupon';
  const code = codeId == null ? null : store.promotionCodes.existing(codeId, param);
  const coupon = store.coupons.existing(couponId ?? code?.promotion.coupon ?? '', param);
  const refusal = coupons.couponRefusal(coupon, store.now());
  if (refusal !== null) throw badParam(refusal.message, param, refusal.code);
  if (code !== null && !coupons.isRedeemable(code, coupon, store.now()))
    throw badParam('This promotion code cannot be redeemed.', param);
  return { coupon, code };
}

function purchaseOf(store: Store, { customer, items }: Discounted): coupons.Purchase {
  return {
    customer,
    currency: items[0]?.price.currency ?? '',
    subtotal: items.reduce((sum, { price, quantity }) => sum + costOf(store, price, quantity), 0),
    hasPriorTransactions: hasPriorTransactions(store, customer),
    now: store.now(),
  };
}

/** A voided invoice does not count, and a draft can still change. */
function hasPriorTransactions(store: Store, customer: string): boolean {
  return (
    store.invoices
      .allWithin('customer', customer)
      .some(({ status }) => status !== 'void' && status !== 'draft') ||
    store.paymentIntents.allWithin('customer', customer).some(({ status }) => status === 'succeeded')
  );
}
