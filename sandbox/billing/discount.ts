import { livingCustomer } from '../payments/customer.ts';
import { previousAttributes } from '../state/previous-attributes.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type * as Wire from '../wire/objects.ts';
import { addIntervals } from './calendar.ts';
import { countRedemption, couponTerms, returnRedemption } from './coupon.ts';

/** A discount that a subscription will have: a new one, or one that it already has. */
export type WantedDiscount = NewDiscount | { readonly existing: Wire.Discount };
export interface NewDiscount {
  readonly coupon: Wire.Coupon;
  readonly code: Wire.PromotionCode | null;
}

/**
 * Creates the discounts of a new subscription, or of a customer. The caller emits their events after that of the
 * subscription.
 */
export function redeem(
  store: Store,
  wanted: readonly WantedDiscount[],
  owner: { readonly id: string | null; readonly customer: string },
): Wire.Discount[] {
  const { id: subscription, customer } = owner;
  return wanted.map((one) => {
    if ('existing' in one) return one.existing;
    countRedemption(store, one);
    const discount = discountObject(store, one, { subscription, customer, checkout_session: null });
    return store.put(store.discounts, discount);
  });
}

/** A discount that is not redeemed yet. */
export function discountObject(
  store: Store,
  { coupon, code }: NewDiscount,
  owner: Pick<Wire.Discount, 'checkout_session' | 'customer' | 'subscription'>,
): Wire.Discount {
  const start = store.now();
  return {
    id: store.discounts.newId(),
    object: 'discount',
    ...owner,
    ...nulls('customer_account invoice invoice_item subscription_item'),
    end:
      coupon.duration === 'repeating' ? addIntervals(start, 'month', coupon.duration_in_months ?? 0) : null,
    promotion_code: code?.id ?? null,
    source: { type: 'coupon', coupon: coupon.id },
    start,
  };
}

/** Replaces the discounts of a subscription. Replacing one discount with another is an update of the discount. */
export function changeDiscounts(
  store: Store,
  before: Wire.Subscription,
  wanted: readonly WantedDiscount[],
): string[] {
  const discounts = redeem(store, wanted, before);
  const ids = discounts.map(({ id }) => id);
  const added = discounts.filter(({ id }) => !before.discounts.includes(id));
  const removed = before.discounts.flatMap((id) => {
    const discount = ids.includes(id) ? undefined : store.discounts.get(id);
    return discount === undefined ? [] : [discount];
  });
  const [from, to] = [removed[0], added[0]];
  if (removed.length === 1 && added.length === 1 && from !== undefined && to !== undefined)
    store.emit('customer.discount.updated', to, previousAttributes(from, to));
  else {
    for (const discount of removed) store.emit('customer.discount.deleted', discount);
    for (const discount of added) store.emit('customer.discount.created', discount);
  }
  return ids;
}

/** Replaces the discount of a customer. It applies to invoices whose subscription has none of its own. */
export function changeCustomerDiscount(
  store: Store,
  before: Wire.Customer,
  wanted: NewDiscount | null,
): Wire.Customer {
  const from = before.discount ?? null;
  if (from === null && wanted === null) return before;
  const [to = null] = redeem(store, wanted === null ? [] : [wanted], { id: null, customer: before.id });
  const after: Wire.Customer = { ...before, discount: to };
  store.put(store.customers, after);
  if (to === null) store.emit('customer.discount.deleted', from ?? before);
  else if (from === null) store.emit('customer.discount.created', to);
  else store.emit('customer.discount.updated', to, previousAttributes(from, to));
  return after;
}

/** Removes expired discounts from the subscription. */
export function endDiscounts(
  store: Store,
  before: Wire.Subscription,
  over: readonly string[],
): Wire.Subscription {
  const [left, ended] = [
    before.discounts.filter((id) => !over.includes(id)),
    before.discounts.filter((id) => over.includes(id)),
  ];
  if (ended.length === 0) return before;
  for (const id of ended) {
    const discount = store.discounts.get(id);
    if (discount !== undefined) store.emit('customer.discount.deleted', discount);
  }
  return store.update('customer.subscription.updated', store.subscriptions, before, { discounts: left });
}

/** The terms of the discounts for an invoice that is created now. */
export function currentTerms(
  store: Store,
  { customer, currency, discounts }: Pick<Wire.Subscription, 'currency' | 'customer' | 'discounts'>,
): DiscountTerms[] {
  const inherited = discounts.length > 0 ? undefined : livingCustomer(store, customer)?.discount?.id;
  return termsNow(store, [...discounts, ...(inherited === undefined ? [] : [inherited])], currency);
}

function termsNow(store: Store, ids: readonly string[], currency: string): DiscountTerms[] {
  const current = ids.filter((id) => {
    const end = store.discounts.get(id)?.end ?? null;
    const code = couponOf(store, id)?.currency ?? null;
    return (end === null || end > store.now()) && (code === null || code === currency);
  });
  return termsOf(store, current);
}

/** The terms of the discounts for a preview. Those that are new are not redeemed. */
export function previewedTerms(
  store: Store,
  wanted: readonly WantedDiscount[],
  currency: string,
): DiscountTerms[] {
  return wanted.flatMap((one) =>
    'existing' in one
      ? termsNow(store, [one.existing.id], currency)
      : [couponTermsFor(store.discounts.newId(), one.coupon)],
  );
}

export function termsOf(store: Store, ids: readonly string[]): DiscountTerms[] {
  return ids.flatMap((id) => {
    const coupon = couponOf(store, id);
    return coupon === undefined ? [] : [couponTermsFor(id, coupon)];
  });
}

/** What a coupon takes off, as the discount with this id. */
export function couponTermsFor(id: string, coupon: Wire.Coupon): DiscountTerms {
  const { percent_off: percentOff, amount_off: amountOff, applies_to: appliesTo } = coupon;
  return { id, percentOff, amountOff, products: appliesTo?.products ?? null };
}

/** The discounts that apply only once and that the invoice has used. */
function usedUpBy(store: Store, invoice: Wire.Invoice): readonly string[] {
  return (invoice.total_discount_amounts ?? []).flatMap(({ amount, discount }) =>
    amount > 0 && typeof discount === 'string' && couponOf(store, discount)?.duration === 'once'
      ? [discount]
      : [],
  );
}

/** Gives back what a voided invoice has used up, as far as the settings of the account say. */
export function returnDiscounts(store: Store, invoice: Wire.Invoice): void {
  const { voidedDiscounts = 'used' } = store.settings;
  if (voidedDiscounts === 'used') return;
  for (const id of usedUpBy(store, invoice)) {
    const discount = store.discounts.get(id);
    if (discount === undefined || ownerOf(store, discount) != null) continue;
    if (voidedDiscounts === 'redeemable') returnRedemption(store, discount);
    else giveBack(store, discount, invoice.discounts);
  }
}

/** The owner has the discount again, at its place among the others. */
function giveBack(store: Store, discount: Wire.Discount, order: readonly string[]): void {
  const { id, customer, subscription: owner } = discount;
  if (owner === null) {
    const found = livingCustomer(store, customer);
    if (found === null || found.discount != null) return;
    store.put(store.customers, { ...found, discount });
  } else {
    const found = store.subscriptions.get(owner);
    if (found === undefined || found.ended_at !== null) return;
    const all = [...found.discounts, id];
    const discounts = [
      ...order.filter((one) => all.includes(one)),
      ...all.filter((one) => !order.includes(one)),
    ];
    store.update('customer.subscription.updated', store.subscriptions, found, { discounts });
  }
  store.emit('customer.discount.created', discount);
}

/** Ends the discounts of a subscription that apply only once, after an invoice has used them. */
export function useUpDiscounts(store: Store, invoice: Wire.Invoice): void {
  const used = usedUpBy(store, invoice);
  const owner = invoice.parent?.subscription_details.subscription;
  const subscription = store.subscriptions.get(owner);
  if (subscription !== undefined) endDiscounts(store, subscription, used);
  const customer = livingCustomer(store, invoice.customer);
  if (customer?.discount != null && used.includes(customer.discount.id))
    changeCustomerDiscount(store, customer, null);
}

function couponOf(store: Store, discountId: string): Wire.Coupon | undefined {
  const discount = store.discounts.get(discountId);
  return discount === undefined ? undefined : couponTerms(store, discount.source.coupon);
}

/** When the discount ends. Null if that is unknown, or if nothing has it any more. */
export function discountDueAt(discount: Wire.Discount, _doneUntil: number, store: Store): number | null {
  const isUsed = ownerOf(store, discount) != null;
  return isUsed ? discount.end : null;
}

export function discountFallsDue(store: Store, discount: Wire.Discount): void {
  const owner = ownerOf(store, discount);
  if (owner?.object === 'subscription') endDiscounts(store, owner, [discount.id]);
  else if (owner != null) changeCustomerDiscount(store, owner, null);
}

/** The subscription or the customer that still has the discount. */
function ownerOf(store: Store, { id, customer, subscription: owner }: Wire.Discount) {
  if (owner === null) {
    const found = livingCustomer(store, customer);
    return found?.discount?.id === id ? found : null;
  }
  const subscription = store.subscriptions.get(owner);
  return subscription?.ended_at === null && subscription.discounts.includes(id) ? subscription : undefined;
}

/** What a coupon takes off. */
export interface DiscountTerms {
  /** The id of the discount. */
  readonly id: string;
  readonly percentOff: number | null;
  readonly amountOff: number | null;
  /** The products that it applies to. Null means all. */
  readonly products: readonly string[] | null;
}

interface Discountable {
  readonly amount: number;
  readonly discountable: boolean;
  readonly product: string | null;
}

export function discountableLine({ amount, discountable, pricing }: Wire.InvoiceLine): Discountable {
  return { amount, discountable, product: pricing.price_details?.product ?? null };
}

/** What one discount takes off one line. */
interface LineDiscount {
  readonly amount: number;
  readonly discount: string;
}

/**
 * The amount that the discounts take off each line. Each discount applies to the amount that remains after the one
 * before it. A percentage is rounded for each line, to a multiple of the unit. A fixed amount is split in proportion to
 * the amounts of the lines, and never exceeds their sum. A discount for some products ignores the lines of others.
 */
export function discountAmounts(
  lines: readonly Discountable[],
  discounts: readonly DiscountTerms[],
  unit = 1,
): LineDiscount[][] {
  let left = lines.map(({ amount, discountable }) => (discountable ? amount : 0));
  const taken: LineDiscount[][] = lines.map(() => []);
  for (const terms of discounts) {
    const { products } = terms;
    const eligible = left.map((amount, index) =>
      products === null || products.includes(lines[index]?.product ?? '') ? amount : 0,
    );
    const amounts =
      terms.percentOff === null
        ? splitAmount(eligible, terms.amountOff ?? 0, unit)
        : percentOf(eligible, terms, unit);
    for (const [index, amount] of amounts.entries())
      if (amount !== 0) taken[index]?.push({ amount, discount: terms.id });
    left = left.map((amount, index) => amount - (amounts[index] ?? 0));
  }
  return taken;
}

/** The sum for each discount, in order. A discount that took nothing off has the amount 0. */
export function totalDiscounts(
  taken: readonly (readonly LineDiscount[])[],
  discounts: readonly Pick<DiscountTerms, 'id'>[],
): LineDiscount[] {
  return discounts.map(({ id }) => ({
    amount: taken.flat().reduce((sum, { amount, discount }) => (discount === id ? sum + amount : sum), 0),
    discount: id,
  }));
}

function percentOf(left: readonly number[], { percentOff }: DiscountTerms, unit: number): number[] {
  // Percentages have at most two decimals, so this is exact before the division.
  const hundredths = Math.round((percentOff ?? 0) * 100);
  return left.map(
    (amount) => Math.sign(amount) * unit * Math.round((Math.abs(amount) * hundredths) / (10_000 * unit)),
  );
}

function splitAmount(left: readonly number[], amountOff: number, unit: number): number[] {
  const total = left.reduce((sum, amount) => sum + Math.max(0, amount), 0);
  const subtotal = left.reduce((sum, amount) => sum + amount, 0);
  const all = Math.min(amountOff, Math.max(0, subtotal));
  let before = 0;
  let given = 0;
  return left.map((amount) => {
    before += Math.max(0, amount);
    // Splitting the running total leaves no remainder.
    const upTo = total === 0 ? 0 : unit * Number((BigInt(all) * BigInt(before)) / BigInt(total * unit));
    const share = total === 0 ? 0 : upTo - given;
    given += share;
    return share;
  });
}
