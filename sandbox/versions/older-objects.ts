import { couponTerms, shownCoupon } from '../billing/coupon.ts';
import { itemIdOf } from '../billing/invoice-item.ts';
import { intentOf } from '../billing/invoice-payment.ts';
import { planOf } from '../billing/price.ts';
import { periodOf } from '../billing/subscription-items.ts';
import type { Store } from '../state/store.ts';
import { sees } from '../wire/api-version.ts';
import type * as Wire from '../wire/objects.ts';

/** Converts objects of the store, anywhere in a value, to the shape of a version. */
export type Shape = (value: unknown) => unknown;

/** Undefined if the version has the shape of the store. */
export function shapeOf(store: Store, version: string | null): Shape | undefined {
  return sees(version, 'uiModes') ? undefined : (value) => older(store, version, value);
}

function older(store: Store, version: string | null, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => older(store, version, item));
  if (typeof value !== 'object' || value === null) return value;
  // An event keeps the version in which it was created.
  if ('object' in value && value.object === 'event') return value;
  const shaped = isWireObject(value) ? olderObject(store, version, value) : value;
  // Metadata is the caller's own, even if it looks like an object.
  return Object.fromEntries(
    Object.entries(shaped).map(([name, part]) => [
      name,
      name === 'metadata' ? part : older(store, version, part),
    ]),
  );
}

function isWireObject(value: object): value is Wire.WireObject {
  return 'id' in value && 'object' in value && !('deleted' in value);
}

/** The object as it was in this version. Its parts are still in the current shape. */
function olderObject(store: Store, version: string | null, value: Wire.WireObject): object {
  if (value.object === 'checkout.session') return olderSession(value as Omit<Wire.CheckoutSession, 'terms'>);
  if (sees(version, 'invoicePayments')) return value;
  // The `object` field determines the type.
  switch (value.object) {
    case 'subscription':
      return olderSubscription(store, value as Wire.Subscription);
    case 'subscription_item':
      return olderSubscriptionItem(value as Wire.SubscriptionItem);
    case 'invoice':
      return olderInvoice(store, value as Wire.Invoice);
    case 'line_item':
      return olderLine(store, value as Wire.InvoiceLine);
    case 'invoiceitem':
      return olderInvoiceItem(store, value as Wire.InvoiceItem);
    case 'discount':
      return withCoupon(store, value, (value as Wire.Discount).source, 'source');
    case 'promotion_code':
      return withCoupon(store, value, (value as Wire.PromotionCode).promotion, 'promotion');
    case 'payment_intent':
      return { ...value, invoice: invoiceIdOf(store, (value as Wire.PaymentIntent).id) };
    case 'charge':
      return { ...value, invoice: invoiceIdOf(store, (value as Wire.Charge).payment_intent) };
    default:
      return value;
  }
}

/** The UI modes before 2026-03-25. */
export const olderUiModes = { elements: 'custom', embedded_page: 'embedded', hosted_page: 'hosted' } as const;

function olderSession(session: Omit<Wire.CheckoutSession, 'terms'>): object {
  const modes: Readonly<Record<string, string>> = olderUiModes;
  return { ...session, ui_mode: modes[session.ui_mode ?? ''] ?? session.ui_mode };
}

function olderSubscription(store: Store, subscription: Wire.Subscription): object {
  const { status_details: _, ...rest } = subscription;
  const { start, end } = periodOf(subscription);
  const discount = firstDiscount(store, subscription.discounts);
  const [item, second] = subscription.items.data;
  const only = second === undefined ? item : undefined;
  return {
    ...rest,
    current_period_start: start,
    current_period_end: end,
    discount,
    // Only a subscription with one item had these.
    plan: only?.plan ?? null,
    quantity: only?.quantity ?? null,
  };
}

/** The only discount that the oldest clients support. It still has the current shape. */
function firstDiscount(store: Store, [first]: readonly string[]): Wire.Discount | null {
  return first === undefined ? null : (store.discounts.get(first) ?? null);
}

/** Discounts and promotion codes had the whole coupon instead of a reference to it. */
function withCoupon(store: Store, value: object, { coupon: id }: { readonly coupon: string }, field: string) {
  const coupon = couponTerms(store, id);
  const rest = Object.entries(value).filter(([name]) => name !== field);
  return { ...Object.fromEntries(rest), coupon: coupon === undefined ? null : shownCoupon(store, coupon) };
}

function olderSubscriptionItem(item: Wire.SubscriptionItem): object {
  const { current_period_start: _, current_period_end: __, ...rest } = item;
  return rest;
}

function olderInvoice(store: Store, invoice: Wire.Invoice): object {
  const { parent, total_taxes, ...rest } = invoice;
  const intent = intentOf(store, invoice);
  const isPaid = invoice.status === 'paid';
  return {
    ...rest,
    charge: intent?.latest_charge ?? null,
    discount: firstDiscount(store, invoice.discounts),
    paid: isPaid,
    paid_out_of_band: isPaid && intent?.status === 'canceled',
    payment_intent: intent?.id ?? null,
    quote: null,
    subscription: parent?.subscription_details.subscription ?? null,
    subscription_details: parent === null ? null : { metadata: parent.subscription_details.metadata },
    ...(parent?.subscription_details.subscription_proration_date !== undefined && {
      subscription_proration_date: parent.subscription_details.subscription_proration_date,
    }),
    tax:
      (total_taxes ?? []).length === 0
        ? null
        : (total_taxes ?? []).reduce((sum, { amount }) => sum + amount, 0),
    total_tax_amounts: olderTaxes(total_taxes),
    transfer_data: null,
  };
}

function olderLine(store: Store, line: Wire.InvoiceLine): object {
  const { parent, pricing, pretax_credit_amounts: _, subtotal: __, taxes, ...rest } = line;
  const invoiceItem = itemIdOf(line);
  const { price, plan } = olderPricing(store, pricing);
  return {
    ...rest,
    ...(invoiceItem !== null && { invoice_item: invoiceItem }),
    plan,
    price,
    proration: (parent?.invoice_item_details ?? parent?.subscription_item_details)?.proration ?? false,
    proration_details: (parent?.invoice_item_details ?? parent?.subscription_item_details)
      ?.proration_details ?? { credited_items: null },
    subscription: line.subscription,
    subscription_item: parent?.subscription_item_details?.subscription_item ?? null,
    tax_amounts: olderTaxes(taxes),
    tax_rates: taxes.flatMap(({ tax_rate_details: { tax_rate: id } }) => store.taxRates.get(id) ?? []),
    type: invoiceItem === null ? 'subscription' : 'invoiceitem',
    unit_amount_excluding_tax: pricing.unit_amount_decimal,
  };
}

function olderTaxes(taxes: Wire.Invoice['total_taxes']): object[] {
  return (taxes ?? []).map(({ tax_behavior: behavior, tax_rate_details: details, type: _, ...tax }) => ({
    ...tax,
    inclusive: behavior === 'inclusive',
    tax_rate: details?.tax_rate ?? null,
  }));
}

function olderInvoiceItem(store: Store, item: Wire.InvoiceItem): object {
  const { parent, pricing, net_amount: _, proration_details: __, ...rest } = item;
  const unit = Number(pricing.unit_amount_decimal);
  return {
    ...rest,
    ...olderPricing(store, pricing),
    subscription: parent?.subscription_details.subscription ?? null,
    ...(parent?.subscription_details.subscription_item !== undefined && {
      subscription_item: parent.subscription_details.subscription_item,
    }),
    unit_amount: Number.isInteger(unit) ? unit : null,
    unit_amount_decimal: pricing.unit_amount_decimal,
  };
}

function olderPricing(
  store: Store,
  pricing: Wire.InvoiceLine['pricing'],
): { price: Wire.Price | null; plan: unknown } {
  const id = pricing.price_details?.price;
  const price = store.prices.get(id);
  return {
    price: price ?? null,
    plan: price === undefined || price.recurring === null ? null : planOf(price),
  };
}

function invoiceIdOf(store: Store, intentId: string | null): string | null {
  const [payment] = intentId === null ? [] : store.invoicePayments.allWithin('payment_intent', intentId);
  return payment?.invoice ?? null;
}
