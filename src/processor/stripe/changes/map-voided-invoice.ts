import type { AsOf } from '#core/model/facts.ts';
import { codeOf, isOnce } from '../objects/map-subscription.ts';
import { fieldsOf } from '../wire/wire-metadata.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';

/** An invoice that is void, or will be, with what must be restored then. */
export interface VoidedInvoice {
  readonly processorInvoiceId: string;
  readonly processorSubscriptionId: string | null;
  /** Not `void` yet if it was read before the void. */
  readonly status: string | null;
  readonly createdAt: Date;
  /** The change of the customer's balance when the invoice is voided. A credit is negative. */
  readonly returnedBalance: number;
  /** The processor's ids of all its discounts, in the order in which it applies them. */
  readonly discountIds: readonly string[];
  /** Its discounts for one invoice. Empty if the discounts are not expanded. */
  readonly onceDiscounts: readonly OnceDiscount[];
}

/** The invoices whose void ends a subscription, or one of its changes. */
export const restoredReasons: readonly (string | null)[] = ['subscription_create', 'subscription_update'];

/** A discount for one invoice, of a subscription or, without one, of a customer. */
export interface OnceDiscount {
  readonly processorDiscountId: string;
  readonly processorSubscriptionId: string | null;
  readonly coupon: {
    readonly id: string;
    readonly name: string | null;
    readonly percentOff: number | null;
    readonly amountOff: number | null;
    readonly currency: string | null;
    /** The products to which it applies. Null if it applies to all. */
    readonly products: readonly string[] | null;
  };
  readonly promotionCodeId: string | null;
  /** The code that the customer entered. */
  readonly code: string | null;
  /** The coupon or the promotion code can be redeemed a limited number of times. */
  readonly isLimited: boolean;
}

/** The expansions with which the processor shows everything that a restored discount needs. */
export const voidedExpansions = ['discounts.source.coupon.applies_to', 'discounts.promotion_code'];
/** The same in a list. The processor expands four levels, so the products of a coupon are missing. */
export const voidedExpansionsInList = ['data.discounts.source.coupon', 'data.discounts.promotion_code'];

export function mapVoidedInvoice(value: unknown, asOf?: AsOf): VoidedInvoice {
  const invoice = WireObject.parse(value, 'invoice').expectKind('invoice');
  const details = ifReadable(() => invoice.objectOrNull('parent')?.objectOrNull('subscription_details'));
  const shown = ifReadable(() => invoice.array('discounts')) ?? [];
  const discounts = shown.filter((one) => typeof one === 'object' && one !== null);
  return {
    processorInvoiceId: invoice.id(),
    processorSubscriptionId: details?.referenceOrNull('subscription') ?? null,
    status: invoice.optionalText('status'),
    createdAt: invoice.createdAt(asOf?.latest ?? new Date(0)),
    returnedBalance: returnedBalanceOf(invoice),
    discountIds: shown.flatMap((one) => discountIdOf(one) ?? []),
    onceDiscounts: discounts.flatMap((one) => {
      const discount = WireObject.parse(one, 'discount');
      return ifReadable(() => (isOnce(discount) && hasOwner(discount) ? [mapOnce(discount)] : [])) ?? [];
    }),
  };
}

/** An invoice that was never finalized has changed no balance. */
function returnedBalanceOf(invoice: WireObject): number {
  const starting = invoice.optional('wholeNumber', 'starting_balance');
  const ending = invoice.optional('wholeNumber', 'ending_balance');
  return starting === null || ending === null ? 0 : starting - ending;
}

function discountIdOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return ifReadable(() => WireObject.parse(value, 'discount').id());
}

/** Whether a subscription or a customer has the discount, and not the invoice itself or an item. */
function hasOwner(discount: WireObject): boolean {
  const others = ['invoice', 'invoice_item', 'subscription_item'];
  return others.every((field) => discount.optionalText(field) === null);
}

function mapOnce(discount: WireObject): OnceDiscount {
  const coupon = discount.object('source').object('coupon');
  const code = discount.optional('object', 'promotion_code');
  const limitOf = (one: WireObject | null) => one?.optional('wholeNumber', 'max_redemptions') ?? null;
  const amountOff = coupon.optional('amount', 'amount_off');
  return {
    processorDiscountId: discount.id(),
    processorSubscriptionId: discount.optionalText('subscription'),
    coupon: {
      id: coupon.id(),
      name: coupon.optionalText('name'),
      percentOff: coupon.optional('number', 'percent_off'),
      amountOff,
      currency: amountOff === null ? null : coupon.optional('currency', 'currency'),
      products: productsOf(coupon),
    },
    promotionCodeId: code?.id() ?? null,
    code: codeOf(discount),
    isLimited: limitOf(coupon) !== null || limitOf(code) !== null,
  };
}

function productsOf(coupon: WireObject): readonly string[] | null {
  const products = coupon.optional('object', 'applies_to')?.array('products') ?? [];
  const ids = products.filter((id) => typeof id === 'string');
  return ids.length === 0 ? null : ids;
}

/** The metadata key under which a coupon that restores a discount names it. */
export const restoresDiscountKey = 'till_restores';

/** The discount that a coupon of Till restores. */
export function restoredDiscountOf(coupon: WireObject): string | null {
  const id = fieldsOf(coupon)?.[restoresDiscountKey];
  return typeof id === 'string' ? id : null;
}
