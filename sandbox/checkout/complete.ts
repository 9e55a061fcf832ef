import { invoicePaid } from '../billing/collect.ts';
import { countRedemption } from '../billing/coupon.ts';
import { createSubscription } from '../billing/create-subscription.ts';
import { termsOf } from '../billing/discount.ts';
import { createOneOffInvoice, finalizeInvoice } from '../billing/invoice.ts';
import { settledWith, usableBalance } from '../billing/invoice-balance.ts';
import { createInvoiceItem } from '../billing/invoice-item.ts';
import { pricingOf } from '../billing/price.ts';
import { existingCustomer, livingCustomer } from '../payments/customer.ts';
import type { Intent } from '../payments/intent.ts';
import { attemptPayment, createPaymentIntent } from '../payments/payment-intent.ts';
import { attemptSetup, createSetupIntent } from '../payments/setup-intent.ts';
import { newCustomer } from '../resources/customers.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type * as Wire from '../wire/objects.ts';
import { type ErrorBody, missingParam, WireError } from '../wire/wire-error.ts';
import { paidDiscounts, redeemableDiscounts } from './change.ts';
import { checkOpen, dropIntent, pageUrl, sessionIntent, shownSession } from './session.ts';

/** What the buyer enters on the payment page. */
export interface Buyer {
  /** Null if the page asks for no card. */
  readonly method: Wire.PaymentMethod | null;
  readonly details: Wire.PaymentMethod['billing_details'];
  /** Where the order is sent. Null if the page does not ask. */
  readonly shipping: Wire.CheckoutTerms['shipping'];
}

/** An attempt to complete a session. It stays open if the card is declined or must be authenticated. */
interface Completion {
  readonly session: Wire.CheckoutSession;
  readonly failure: ErrorBody | null;
}

/** Pays or saves the card. If that succeeds, creates everything else, and then completes the session. */
export function completeSession(
  store: Store,
  given: Wire.CheckoutSession,
  { method, details: entered, shipping }: Buyer,
): Completion {
  checkOpen(given, 'completed');
  redeemableDiscounts(store, given);
  if (method === null && needsCard(store, given)) throw missingParam('payment_method');
  const { address } = entered;
  const details = { ...entered, address: address?.country == null ? null : address };
  const customer = customerFor(store, given, details, shipping);
  const before = store.change(store.checkoutSessions, given, {
    terms: { ...given.terms, customer, buyer: details, shipping },
  });
  if (method === null || (before.mode === 'payment' && amountDue(store, before) === 0)) {
    dropIntent(store, before);
    return { session: finish(store, before, null), failure: null };
  }
  const { intent, failure } = attempt(store, before, method);
  const session = store.change(store.checkoutSessions, before, {
    payment_intent: before.mode === 'payment' ? intent.id : null,
    terms: { ...before.terms, intent: intent.id },
  });
  const isDone = failure === null && intent.status !== 'requires_action';
  return { session: isDone ? finish(store, session, intent) : session, failure };
}

/**
 * Whether the session of the intent, if it has one, can still complete. While the buyer is at the bank, the customer
 * may be deleted, and others may use up the same promotion code.
 */
export function canStillComplete(store: Store, { id, customer }: Intent): boolean {
  const [session] = store.checkoutSessions.allWithin('intent', id);
  if (session?.status !== 'open') return true;
  try {
    redeemableDiscounts(store, session);
  } catch (error) {
    if (error instanceof WireError) return false;
    throw error;
  }
  return customer === null || livingCustomer(store, customer) !== null;
}

/** Completes the open session whose intent the cardholder has authenticated. */
export function followCheckout(store: Store, intent: Intent): void {
  const [session] = store.checkoutSessions.allWithin('intent', intent.id);
  if (session?.status !== 'open') return;
  if (intent.status === 'succeeded' || intent.status === 'requires_capture') finish(store, session, intent);
}

/** Whether the page asks for a card. */
export function needsCard(store: Store, session: Wire.CheckoutSession): boolean {
  if (session.mode === 'setup' || amountDue(store, session) > 0) return true;
  return session.mode === 'subscription' && session.payment_method_collection !== 'if_required';
}

/** What the buyer pays now. The customer's balance reduces the first invoice of a subscription. */
export function amountDue(store: Store, session: Wire.CheckoutSession): number {
  const total = session.amount_total ?? 0;
  if (session.mode !== 'subscription') return total;
  const buyer = livingCustomer(store, session.terms.customer ?? session.customer);
  return settledWith(total, usableBalance(buyer, session.currency ?? '')).due;
}

/** The customer of the session, with what the buyer entered. A purchase without a later use needs none. */
function customerFor(
  store: Store,
  { customer, customer_email, customer_creation, invoice_creation, mode, terms }: Wire.CheckoutSession,
  { address, email, name, phone }: Buyer['details'],
  sentTo: Buyer['shipping'],
): string | null {
  const id = customer ?? terms.customer;
  const shipping = sentTo === null ? null : { ...sentTo, phone };
  if (id !== null) {
    const before = existingCustomer(store, id);
    const isNew = customer === null;
    store.update('customer.updated', store.customers, before, {
      ...(isNew && { email: customer_email ?? email, phone }),
      ...((isNew || terms.updates.name) && name !== null ? { name } : {}),
      ...((isNew || terms.updates.address) && address !== null ? { address } : {}),
      ...((isNew || terms.updates.shipping) && shipping !== null ? { shipping } : {}),
    });
    return id;
  }
  const isNeeded =
    mode === 'subscription' ||
    customer_creation === 'always' ||
    invoice_creation?.enabled === true ||
    (mode === 'payment' && terms.payment.setup_future_usage != null);
  if (!isNeeded) return null;
  const fields = { address, email: customer_email ?? email, name, phone, shipping };
  const created = { ...newCustomer(store, null), ...fields };
  store.emit('customer.created', store.put(store.customers, created));
  return created.id;
}

/** Charges the card, or saves it if nothing is due now. */
function attempt(
  store: Store,
  session: Wire.CheckoutSession,
  method: Wire.PaymentMethod,
): { readonly intent: Intent; readonly failure: ErrorBody | null } {
  const {
    mode,
    terms: { customer, shipping },
  } = session;
  const options = { offSession: false, returnUrl: pageUrl(session, store.baseUrl()) };
  const amount = amountDue(store, session);
  const current = sessionIntent(store, session);
  const kind = amount > 0 ? 'payment_intent' : 'setup_intent';
  if (current !== undefined && current.object !== kind) dropIntent(store, session);
  if (amount > 0) {
    const intent = current?.object === 'payment_intent' ? current : newPayment(store, session, amount);
    const sent = mode === 'payment' && shipping !== null ? { shipping } : {};
    return attemptPayment(store, { ...intent, amount, customer, ...sent }, method, options);
  }
  const intent = current?.object === 'setup_intent' ? current : createSetupIntent(store, { customer });
  return attemptSetup(store, { ...intent, customer }, method, options);
}

function newPayment(store: Store, session: Wire.CheckoutSession, amount: number): Wire.PaymentIntent {
  const { mode, currency, terms } = session;
  return createPaymentIntent(store, {
    amount,
    currency: currency ?? '',
    customer: terms.customer,
    ...(mode === 'payment' ? terms.payment : firstPayment),
  });
}

const firstPayment = {
  capture_method: 'automatic',
  description: 'Subscription creation',
  setup_future_usage: 'off_session',
} as const;

/** Creates what the buyer has bought, and completes the session. */
function finish(store: Store, before: Wire.CheckoutSession, intent: Intent | null): Wire.CheckoutSession {
  const { mode, terms, customer_email } = before;
  const customer = livingCustomer(store, terms.customer);
  const results =
    mode === 'subscription'
      ? subscribe(store, before, intent)
      : { invoice: mode === 'payment' ? sell(store, before, intent) : null };
  const session = store.change(store.checkoutSessions, before, {
    ...results,
    collected_information: { ...nulls('business_name individual_name'), shipping_details: terms.shipping },
    customer: terms.customer,
    customer_details: {
      address: mode === 'setup' ? null : (terms.buyer?.address ?? customer?.address ?? null),
      ...nulls('business_name individual_name'),
      email: customer?.email ?? customer_email ?? terms.buyer?.email ?? null,
      name: terms.buyer?.name ?? customer?.name ?? null,
      phone: terms.buyer?.phone ?? null,
      tax_exempt: customer?.tax_exempt ?? 'none',
      tax_ids: taxIds(terms.buyer?.tax_id ?? null),
    },
    payment_status:
      (before.amount_total ?? 0) === 0
        ? 'no_payment_required'
        : intent?.status === 'requires_capture'
          ? 'unpaid'
          : 'paid',
    status: 'complete',
    url: null,
  });
  store.emit('checkout.session.completed', shownSession(session));
  return session;
}

const european = /^(AT|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI|SK)/;

function taxIds(value: string | null): { type: string; value: string }[] {
  return value === null ? [] : [{ type: european.test(value) ? 'eu_vat' : 'unknown', value }];
}

/** Creates the subscription. Its first invoice also bills the lines that are paid once. */
function subscribe(
  store: Store,
  session: Wire.CheckoutSession,
  intent: Intent | null,
): Pick<Wire.CheckoutSession, 'invoice' | 'subscription'> {
  const { terms } = session;
  const { trialDays, trialEnd, details } = terms.subscription;
  const customer = terms.customer ?? '';
  const isRecurring = ({ price }: Wire.LineItem) => price.recurring !== null;
  const subscription = createSubscription(store, {
    customer,
    details: { ...details, default_payment_method: intent?.payment_method ?? null },
    items: terms.lines.filter(isRecurring).map(({ price, quantity }) => ({
      price,
      quantity: quantity ?? undefined,
      metadata: {},
    })),
    addedItems: terms.lines
      .filter((line) => !isRecurring(line))
      .map((line) => billedItem(store, line, customer, null)),
    trialEnd: trialDays === null ? trialEnd : store.now() + trialDays * 86_400,
    discounts: paidDiscounts(store, session),
    paidWith: intent?.object === 'payment_intent' ? intent : null,
  });
  return { subscription: subscription.id, invoice: subscription.latest_invoice };
}

/** Redeems the discounts of a purchase, and creates its invoice if the session wants one. */
function sell(store: Store, session: Wire.CheckoutSession, intent: Intent | null): string | null {
  const { terms, invoice_creation: wanted, currency } = session;
  for (const discount of paidDiscounts(store, session)) countRedemption(store, discount);
  for (const discount of terms.discounts) store.put(store.discounts, discount);
  const customer = livingCustomer(store, terms.customer);
  if (wanted?.enabled !== true || customer === null) return null;
  const { description, footer, metadata } = wanted.invoice_data;
  const discountIds = terms.discounts.map((discount) => discount.id);
  const { id } = createOneOffInvoice(store, {
    customer,
    currency: currency ?? '',
    subscription: null,
    includesPending: false,
    autoAdvance: false,
    discounts: termsOf(store, discountIds),
    details: { description, footer, metadata: metadata ?? {} },
  });
  const draft = () => store.invoices.existing(id);
  for (const line of terms.lines) billedItem(store, line, customer.id, draft());
  const payment = intent?.object === 'payment_intent' ? intent : undefined;
  invoicePaid(store, finalizeInvoice(store, draft(), { intent: payment }), payment);
  return id;
}

function billedItem(
  store: Store,
  line: Wire.LineItem,
  customer: string,
  invoice: Wire.Invoice | null,
): Wire.InvoiceItem {
  return createInvoiceItem(store, {
    customer,
    currency: line.currency,
    amount: line.amount_subtotal,
    quantity: line.quantity ?? 1,
    pricing: pricingOf(line.price),
    description: line.description,
    invoice,
  });
}
