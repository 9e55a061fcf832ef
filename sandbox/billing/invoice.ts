import { newId } from '../ids.ts';
import { updateCustomer } from '../payments/customer.ts';
import { cancelPaymentIntent, createPaymentIntent } from '../payments/payment-intent.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, InvoiceLine, InvoicePayment, PaymentIntent, Subscription } from '../wire/objects.ts';
import { wrongState } from '../wire/wire-error.ts';
import { testClockIdOf } from './test-clock.ts';

/** A renewal invoice stays a draft for an hour, so that it can still be changed. */
export const draftSeconds = 60 * 60;

export interface NewInvoice {
  readonly id?: string;
  readonly reason: 'subscription_create' | 'subscription_cycle' | 'subscription_update' | 'upcoming';
  readonly lines: readonly InvoiceLine[];
  readonly periodStart: number;
  readonly periodEnd: number;
  /** The invoice is finalized automatically after an hour and then collected. */
  readonly autoAdvance: boolean;
}

/** Creates a draft. The caller sets the subscription's latest invoice. */
export function draftInvoice(store: Store, subscription: Subscription, made: NewInvoice): Invoice {
  const invoice = store.put(store.invoices, invoiceObject(store, subscription, made));
  store.emit('invoice.created', invoice);
  return invoice;
}

/** An invoice that is not stored yet. */
export function invoiceObject(store: Store, subscription: Subscription, made: NewInvoice): Invoice {
  const customer = store.customers.get(subscription.customer);
  const buyer = customer === undefined || customer.deleted ? undefined : customer;
  const now = store.now();
  const id = made.id ?? store.invoices.newId();
  const total = made.lines.reduce((sum, line) => sum + line.amount, 0);
  return {
    id,
    object: 'invoice',
    ...unusedInvoiceParts,
    account_country: 'US',
    account_name: 'Sandbox',
    amount_due: total,
    amount_paid: 0,
    amount_remaining: total,
    attempt_count: 0,
    attempted: false,
    auto_advance: made.autoAdvance,
    automatically_finalizes_at:
      made.autoAdvance && made.reason === 'subscription_cycle' ? now + draftSeconds : null,
    billing_reason: made.reason,
    collection_method: 'charge_automatically',
    created: now,
    currency: subscription.currency,
    customer: subscription.customer,
    test_clock: testClockIdOf(store, subscription.customer),
    customer_address: buyer?.address ?? null,
    customer_email: buyer?.email ?? null,
    customer_name: buyer?.name ?? null,
    customer_phone: buyer?.phone ?? null,
    customer_tax_exempt: buyer?.tax_exempt ?? 'none',
    default_payment_method: null,
    description: null,
    effective_at: null,
    ending_balance: null,
    hosted_invoice_url: null,
    invoice_pdf: null,
    lines: {
      object: 'list',
      data: made.lines.map((line) => ({ ...line, invoice: id })),
      has_more: false,
      url: `/v1/invoices/${id}/lines`,
    },
    livemode: false,
    metadata: {},
    next_payment_attempt:
      made.autoAdvance && made.reason === 'subscription_cycle' ? now + draftSeconds : null,
    number: null,
    parent: {
      quote_details: null,
      subscription_details: { metadata: subscription.metadata, subscription: subscription.id },
      type: 'subscription_details',
    },
    period_end: made.periodEnd,
    period_start: made.periodStart,
    status: 'draft',
    status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
    subtotal: total,
    subtotal_excluding_tax: total,
    total,
    total_excluding_tax: total,
  };
}

/** Finalizes the invoice and creates its payment intent, with a payment method if it only waits for confirmation. */
export function finalizeInvoice(
  store: Store,
  draft: Invoice,
  baseUrl: string,
  paymentMethod: string | null = null,
): Invoice {
  if (draft.status !== 'draft')
    throw wrongState('Only a draft invoice can be finalized.', 'invoice_not_editable');
  const invoice = store.change(store.invoices, draft, {
    status: 'open',
    automatically_finalizes_at: null,
    effective_at: store.now(),
    ending_balance: 0,
    hosted_invoice_url: `${baseUrl}/sandbox/invoices/${draft.id}`,
    next_payment_attempt: null,
    number: nextNumber(store, draft),
    status_transitions: { ...draft.status_transitions, finalized_at: store.now() },
  });
  if (invoice.amount_due > 0) makePayment(store, invoice, paymentMethod);
  store.emit('invoice.finalized', invoice);
  return invoice;
}

export function markInvoicePaid(store: Store, before: Invoice): Invoice {
  const now = store.now();
  const payment = paymentOf(store, before);
  const invoice = store.change(store.invoices, before, {
    status: 'paid',
    amount_paid: before.amount_due,
    amount_remaining: 0,
    attempted: true,
    auto_advance: false,
    next_payment_attempt: null,
    status_transitions: { ...before.status_transitions, paid_at: now },
  });
  if (payment !== undefined) {
    const paid = store.change(store.invoicePayments, payment, {
      status: 'paid',
      amount_paid: before.amount_due,
      status_transitions: { ...payment.status_transitions, paid_at: now },
    });
    store.emitUpdated('invoice.updated', before, invoice);
    store.emit('invoice_payment.paid', paid);
  }
  store.emit('invoice.paid', invoice);
  store.emit('invoice.payment_succeeded', invoice);
  return invoice;
}

export function voidInvoice(store: Store, before: Invoice): Invoice {
  if (before.status !== 'open' && before.status !== 'uncollectible')
    throw wrongState(`Only open or uncollectible invoices can be voided. This one is ${before.status}.`);
  dropPayment(store, before);
  const invoice = store.change(store.invoices, before, {
    status: 'void',
    auto_advance: false,
    next_payment_attempt: null,
    status_transitions: { ...before.status_transitions, voided_at: store.now() },
  });
  store.emitUpdated('invoice.updated', before, invoice);
  store.emit('invoice.voided', invoice);
  return invoice;
}

export function markInvoiceUncollectible(store: Store, before: Invoice): Invoice {
  if (before.status !== 'open')
    throw wrongState(`Only open invoices can be marked uncollectible. This one is ${before.status}.`);
  const invoice = store.change(store.invoices, before, {
    status: 'uncollectible',
    auto_advance: false,
    next_payment_attempt: null,
    status_transitions: { ...before.status_transitions, marked_uncollectible_at: store.now() },
  });
  store.emitUpdated('invoice.updated', before, invoice);
  store.emit('invoice.marked_uncollectible', invoice);
  updateCustomer(store, invoice.customer, { delinquent: false });
  return invoice;
}

/** The payment intent of the invoice. An invoice with a zero amount has none. */
export function intentOf(store: Store, invoice: Invoice): PaymentIntent | undefined {
  const payment = paymentOf(store, invoice);
  return payment === undefined ? undefined : store.paymentIntents.get(payment.payment.payment_intent);
}

function paymentOf(store: Store, invoice: Invoice): InvoicePayment | undefined {
  return store.invoicePayments.allWithin('invoice', invoice.id)[0];
}

function makePayment(store: Store, invoice: Invoice, paymentMethod: string | null): void {
  const subscription = store.subscriptions.get(invoice.parent.subscription_details.subscription);
  const saves = subscription?.payment_settings?.save_default_payment_method === 'on_subscription';
  const isFirst = invoice.billing_reason === 'subscription_create';
  const intent = createPaymentIntent(store, {
    amount: invoice.amount_due,
    currency: invoice.currency,
    customer: invoice.customer,
    metadata: {},
    automaticPaymentMethods: null,
    paymentMethod,
    captureMethod: 'automatic',
    description: isFirst ? 'Subscription creation' : 'Subscription update',
    setupFutureUsage: saves ? 'off_session' : null,
  });
  store.put(store.invoicePayments, {
    id: store.invoicePayments.newId(),
    object: 'invoice_payment',
    amount_paid: null,
    amount_requested: invoice.amount_due,
    created: store.now(),
    currency: invoice.currency,
    invoice: invoice.id,
    is_default: true,
    livemode: false,
    payment: { type: 'payment_intent', payment_intent: intent.id },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  });
}

function dropPayment(store: Store, invoice: Invoice): void {
  const payment = paymentOf(store, invoice);
  const intent = intentOf(store, invoice);
  if (payment === undefined || intent === undefined) return;
  if (intent.status !== 'canceled') cancelPaymentIntent(store, intent, 'void_invoice');
  store.change(store.invoicePayments, payment, {
    status: 'canceled',
    status_transitions: { ...payment.status_transitions, canceled_at: store.now() },
  });
}

/** The customer's prefix and sequence number. */
function nextNumber(store: Store, invoice: Invoice): string {
  const customer = invoice.customer === null ? undefined : store.customers.get(invoice.customer);
  if (customer === undefined || customer.deleted) return newId('', 8).toUpperCase();
  const sequence = customer.next_invoice_sequence ?? 1;
  store.change(store.customers, customer, { next_invoice_sequence: sequence + 1 });
  return `${customer.invoice_prefix ?? 'SANDBOX'}-${String(sequence).padStart(4, '0')}`;
}

/** Fields that the sandbox does not use. Objects are immutable, so all invoices share these values. */
const unusedInvoiceParts = {
  account_tax_ids: null,
  amount_overpaid: 0,
  amount_shipping: 0,
  application: null,
  automatic_tax: { disabled_reason: null, enabled: false, liability: null, provider: null, status: null },
  custom_fields: null,
  customer_account: null,
  customer_shipping: null,
  customer_tax_ids: [],
  default_source: null,
  default_tax_rates: [],
  discounts: [],
  due_date: null,
  footer: null,
  from_invoice: null,
  issuer: { type: 'self' },
  last_finalization_error: null,
  latest_revision: null,
  on_behalf_of: null,
  payment_settings: { default_mandate: null, payment_method_options: null, payment_method_types: null },
  post_payment_credit_notes_amount: 0,
  pre_payment_credit_notes_amount: 0,
  receipt_number: null,
  rendering: null,
  shipping_cost: null,
  shipping_details: null,
  starting_balance: 0,
  statement_descriptor: null,
  total_discount_amounts: [],
  total_pretax_credit_amounts: [],
  total_taxes: [],
  webhooks_delivered_at: null,
};
