import { couponTerms, shownCoupon, shownPromotionCode } from '../billing/coupon.ts';
import { totalDiscounts } from '../billing/discount.ts';
import { currencyOption } from '../billing/price.ts';
import { livingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import type { Shape } from '../versions/older-objects.ts';
import { shorten } from './form.ts';
import { badParam } from './wire-error.ts';

/** The processor's own limit. The `data` of a list counts as a level. */
const levelsMax = 4;

type Plain = Readonly<Record<string, unknown>>;

/** Copies the response and replaces the references at these paths with their objects, in this shape. */
export function expand(
  store: Store,
  result: object,
  paths: readonly string[],
  shape: Shape = (value) => value,
): object {
  let expanded: unknown = result;
  for (const path of paths) {
    const parts = path.split('.');
    if (parts.length > levelsMax)
      throw badParam(
        `You cannot expand more than ${levelsMax} levels of a property. Property: ${shorten(path)}`,
        undefined,
        'property_expansion_max_depth',
      );
    expanded = follow({ store, shape, path }, expanded, parts);
  }
  // `follow` returns an object for an object.
  return expanded as object;
}

interface Expansion {
  readonly store: Store;
  readonly shape: Shape;
  /** The whole path, for errors. */
  readonly path: string;
}

function follow(expansion: Expansion, value: unknown, parts: readonly string[]): unknown {
  const { store, shape, path } = expansion;
  const [field, ...rest] = parts;
  if (value === null || field === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => follow(expansion, item, parts));
  if (typeof value !== 'object') throw cannotExpand(path);
  // Not an array, so its fields can be read by name.
  const owner = value as Plain;
  const referred = expandedField(store, owner, field);
  if (referred === absent) return value;
  const isReference = referred !== undefined;
  const found = isReference ? shape(referred) : Object.hasOwn(owner, field) ? owner[field] : undefined;
  // Metadata has only the caller's own metadata keys, and a string that is not a reference cannot be expanded.
  if (found === undefined || field === 'metadata') throw cannotExpand(path);
  if (rest.length === 0 && !isReference && found !== null && !isExpanded(found)) throw cannotExpand(path);
  return { ...owner, [field]: follow(expansion, found, rest) };
}

function isExpanded(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'object' in value;
}

/** The object that the field refers to, or undefined if it is not a reference. */
function expandedField(store: Store, owner: Plain, field: string): unknown {
  const id = owner[field];
  if (typeof id === 'string') return referenced(store, field, id);
  // Included in the totals of a checkout session.
  if (field === 'breakdown') return id;
  if (Array.isArray(id) && field === 'discounts')
    return id.map((one: unknown) => (typeof one === 'string' ? (referenced(store, field, one) ?? one) : one));
  if (typeof owner['object'] !== 'string' || typeof owner['id'] !== 'string' || isExpanded(id))
    return undefined;
  return includedFields[`${owner['object']}.${field}`]?.(store, owner['id'], field);
}

/** The collections of the fields that are references. */
const references = new Map(
  Object.entries({
    balance_transactions: ['balance_transaction', 'failure_balance_transaction'],
    charges: ['charge', 'latest_charge'],
    customers: ['customer'],
    discounts: ['discount', 'discounts'],
    invoices: ['invoice', 'latest_invoice'],
    payment_intents: ['payment_intent'],
    payment_methods: ['payment_method', 'default_payment_method'],
    prices: ['price', 'default_price'],
    portal_configurations: ['configuration'],
    products: ['product', 'default_product'],
    setup_attempts: ['latest_attempt'],
    setup_intents: ['setup_intent', 'pending_setup_intent'],
    subscription_schedules: ['schedule'],
    subscriptions: ['subscription'],
    test_clocks: ['test_clock'],
  }).flatMap(([collection, fields]) => fields.map((field) => [field, collection])),
);

function referenced(store: Store, field: string, id: string): unknown {
  const coupon = field === 'coupon' ? couponTerms(store, id) : undefined;
  if (coupon !== undefined) return shownCoupon(store, coupon);
  const code = field === 'promotion_code' ? store.promotionCodes.get(id) : undefined;
  if (code !== undefined) return shownPromotionCode(store, code);
  return store.find(references.get(field) ?? '', id);
}

/** A field that can be expanded, but that this object does not have. */
const absent = Symbol('absent');

/** Fields that a response contains only when they are expanded, by the kind of the object. */
const includedFields: Readonly<Record<string, (store: Store, id: string, field: string) => unknown>> = {
  'invoice.confirmation_secret': confirmationSecret,
  'invoice.payments': ({ invoicePayments }, id) =>
    listed(invoicePayments.allWithin('invoice', id), `/v1/invoice_payments?invoice=${id}`),
  'customer.subscriptions': ({ subscriptions }, id) =>
    listed(
      subscriptions.allWithin('customer', id).filter(({ ended_at }) => ended_at === null),
      `/v1/customers/${id}/subscriptions`,
    ),
  'price.tiers': tiers,
  'plan.tiers': tiers,
  'price.currency_options': currencyOptions,
  'customer.tax': taxLocation,
  'customer.tax_ids': ({ taxIds }, id) =>
    listed(taxIds.allWithin('customer', id), `/v1/customers/${id}/tax_ids`),
  'coupon.applies_to': (store, id) => couponTerms(store, id)?.applies_to ?? absent,
  'checkout.session.line_items': includedInCheckout,
  'checkout.session.total_details': includedInCheckout,
  'item.discounts': includedInCheckout,
  'charge.refunds': ({ refunds }, id) => listed(refunds.allWithin('charge', id), `/v1/charges/${id}/refunds`),
};

function tiers(store: Store, id: string): unknown {
  return store.prices.get(id)?.billing_scheme === 'tiered' ? store.priceTiers.get(id)?.tiers : absent;
}

/** The price's own currency is one of its options. */
function currencyOptions(store: Store, id: string): object {
  const price = store.prices.get(id);
  const own =
    price === undefined
      ? {}
      : {
          [price.currency]: currencyOption(
            price.unit_amount ?? Number(price.unit_amount_decimal),
            price.tax_behavior,
          ),
        };
  return { ...own, ...store.priceTiers.get(id)?.currencies };
}

/** The place for taxes is the customer's address. */
function taxLocation(store: Store, id: string): object {
  const address = livingCustomer(store, id)?.address;
  const country = address?.country ?? null;
  return {
    automatic_tax: country === null ? 'unrecognized_location' : 'not_collecting',
    ip_address: null,
    location: country === null ? null : { country, source: 'billing_address', state: address?.state ?? null },
    provider: 'stripe',
  };
}

/** The lines of a session, its totals with their breakdown, or the discounts of one of its lines. */
function includedInCheckout(store: Store, id: string, field: string): unknown {
  const session = store.checkoutSessions.get(id) ?? store.checkoutSessions.allWithin('line', id)[0];
  if (session === undefined) return undefined;
  const { lines, taken, discounts } = session.terms;
  const shown = (parts: readonly { readonly amount: number; readonly discount: string }[]) =>
    parts.map(({ amount, discount }) => ({ amount, discount: discounts.find((one) => one.id === discount) }));
  if (field === 'discounts') return shown(taken[lines.findIndex((line) => line.id === id)] ?? []);
  if (field === 'line_items') return listed(lines.toReversed(), `/v1/checkout/sessions/${id}/line_items`);
  return session.total_details === null
    ? null
    : {
        ...session.total_details,
        breakdown: { discounts: shown(totalDiscounts(taken, discounts)), taxes: [] },
      };
}

function confirmationSecret(store: Store, invoiceId: string): object | null {
  const [payment] = store.invoicePayments.allWithin('invoice', invoiceId);
  const intent = store.paymentIntents.get(payment?.payment.payment_intent);
  return intent?.client_secret == null
    ? null
    : { client_secret: intent.client_secret, type: 'payment_intent' };
}

/** An included list holds the newest ten objects. Its URL lists the others. */
const includedMax = 10;

function listed(all: readonly object[], url: string): object {
  return {
    object: 'list',
    data: all.toReversed().slice(0, includedMax),
    has_more: all.length > includedMax,
    url,
  };
}

function cannotExpand(path: string) {
  return badParam(`This property cannot be expanded (${shorten(path)}).`, 'expand');
}
