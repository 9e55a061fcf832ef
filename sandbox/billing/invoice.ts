import { newId } from '../ids.ts';
import { livingCustomer, updateCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import type * as Wire from '../wire/objects.ts';
import { wrongState } from '../wire/wire-error.ts';
import { currentTerms, type DiscountTerms, returnDiscounts, useUpDiscounts } from './discount.ts';
import { accountParts, returnBalance, useBalance } from './invoice-balance.ts';
import * as invoiceItems from './invoice-item.ts';
import { automaticTax, invoiceObject, parentOf } from './invoice-object.ts';
import { dropPayment, makePayment, newPayment, paymentOf } from './invoice-payment.ts';
import { periodText, trialText } from './line-text.ts';
import { productName, trialDescription } from './subscription-items.ts';

/** An invoice that advances automatically stays a draft for an hour, so that it can still be changed. */
export const draftSeconds = 60 * 60;

interface NewSubscriptionInvoice {
  readonly id?: string;
  readonly reason: 'subscription_create' | 'subscription_cycle' | 'subscription_update' | 'upcoming';
  readonly lines: readonly Wire.InvoiceLine[];
  /** The invoice items to bill. By default, all items that wait for an invoice of the subscription. */
  readonly items?: readonly Wire.InvoiceItem[] | undefined;
  /** By default, the discounts that the subscription or its customer has. */
  readonly discounts?: readonly DiscountTerms[] | undefined;
  readonly periodStart: number;
  readonly periodEnd: number;
  /** The invoice is collected automatically. A renewal is finalized first, after an hour. */
  readonly autoAdvance: boolean;
}

/**
 * Creates a draft for a subscription. It also bills the customer's pending items. The caller sets the subscription's
 * latest invoice.
 */
export function draftSubscriptionInvoice(
  store: Store,
  subscription: Wire.Subscription,
  input: NewSubscriptionInvoice,
): Wire.Invoice {
  const invoice = store.put(store.invoices, subscriptionInvoice(store, subscription, input));
  invoiceItems.takeItems(store, pendingFor(store, subscription, input), invoice.id);
  store.emit('invoice.created', invoice);
  return invoice;
}

/** An invoice that is not stored yet, with its pending items. */
export function subscriptionInvoice(
  store: Store,
  subscription: Wire.Subscription,
  input: NewSubscriptionInvoice,
): Wire.Invoice {
  const now = store.now();
  return invoiceObject({
    ...input,
    id: input.id ?? store.invoices.newId(),
    lines: [
      ...pendingFor(store, subscription, input).map((item) => invoiceItems.lineOf(item)),
      ...input.lines.map((line) => described(store, line)),
    ],
    discounts: input.discounts ?? currentTerms(store, subscription),
    now,
    ...accountParts(store, subscription.customer),
    buyer: livingCustomer(store, subscription.customer),
    customer: subscription.customer,
    currency: subscription.currency,
    parent: parentOf(subscription),
    // The first invoice of a subscription waits only if its payment is not confirmed now.
    finalizesAt:
      input.autoAdvance && input.reason !== 'subscription_update' && input.reason !== 'upcoming'
        ? now + draftSeconds
        : null,
    details: {
      default_tax_rates: subscription.default_tax_rates ?? [],
      ...(subscription.automatic_tax.enabled && { automatic_tax: automaticTax }),
      ...(subscription.collection_method === 'send_invoice'
        ? {
            collection_method: 'send_invoice' as const,
            due_date: now + (subscription.days_until_due ?? 0) * 86_400,
            next_payment_attempt: null,
          }
        : {}),
    },
  });
}

function pendingFor(
  store: Store,
  subscription: Wire.Subscription,
  { lines, items = invoiceItems.pendingOf(store, subscription) }: NewSubscriptionInvoice,
): readonly Wire.InvoiceItem[] {
  return items.slice(0, invoiceItems.invoiceLinesMax - lines.length);
}

/** The line with a description that names the product and its price, unless it already has one. */
function described(store: Store, line: Wire.InvoiceLine): Wire.InvoiceLine {
  const price = store.prices.get(line.pricing.price_details?.price);
  if (price === undefined || (line.description !== null && line.description !== trialDescription))
    return line;
  const name = productName(store, price);
  return {
    ...line,
    description: line.description === null ? periodText(name, price, line.quantity ?? 1) : trialText(name),
  };
}

/** Finalizes the invoice and creates its payment intent. */
export function finalizeInvoice(
  store: Store,
  draft: Wire.Invoice,
  options: {
    /** For a payment that only waits for confirmation. */
    readonly paymentMethod?: string | null;
    /** The payment, if it exists before the invoice. */
    readonly intent?: Wire.PaymentIntent | undefined;
    /** False for an invoice that is voided or written off at once. It has no payment intent. */
    readonly isCollected?: boolean;
    /** When the invoice is charged, if the caller does not charge it. */
    readonly nextAttempt?: number | null;
  } = {},
): Wire.Invoice {
  if (draft.status !== 'draft')
    throw wrongState('Only a draft invoice can be finalized.', 'invoice_not_editable');
  const invoice = store.change(store.invoices, draft, {
    status: 'open',
    automatically_finalizes_at: null,
    effective_at: store.now(),
    ...useBalance(store, draft),
    hosted_invoice_url: `${store.baseUrl()}/sandbox/invoices/${draft.id}`,
    invoice_pdf: `${store.baseUrl()}/sandbox/invoices/${draft.id}/pdf`,
    next_payment_attempt: options.nextAttempt ?? null,
    number: nextNumber(store, draft),
    status_transitions: { ...draft.status_transitions, finalized_at: store.now() },
  });
  const { paymentMethod = null, intent, isCollected = true } = options;
  if (invoice.amount_due > 0 && isCollected)
    makePayment(store, invoice, intent ?? newPayment(store, invoice, paymentMethod));
  store.emit('invoice.finalized', invoice);
  useUpDiscounts(store, invoice);
  return invoice;
}

export function markInvoicePaid(store: Store, before: Wire.Invoice): Wire.Invoice {
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
  if (payment !== undefined) store.emitUpdated('invoice.updated', before, invoice);
  // A payment outside the processor has canceled it.
  if (payment?.status === 'open') {
    store.update('invoice_payment.paid', store.invoicePayments, payment, {
      status: 'paid',
      amount_paid: before.amount_due,
      status_transitions: { ...payment.status_transitions, paid_at: now },
    });
  }
  store.emit('invoice.paid', invoice);
  store.emit('invoice.payment_succeeded', invoice);
  return invoice;
}

export function voidInvoice(store: Store, before: Wire.Invoice): Wire.Invoice {
  if (before.status !== 'open' && before.status !== 'uncollectible')
    throw wrongState(`Only open or uncollectible invoices can be voided. This one is ${before.status}.`);
  dropPayment(store, before);
  returnBalance(store, before);
  const invoice = closed(store, before, 'void', { voided_at: store.now() });
  returnDiscounts(store, invoice);
  return invoice;
}

export function markInvoiceUncollectible(store: Store, before: Wire.Invoice): Wire.Invoice {
  if (before.status !== 'open')
    throw wrongState(`Only open invoices can be marked uncollectible. This one is ${before.status}.`);
  const invoice = closed(store, before, 'uncollectible', { marked_uncollectible_at: store.now() });
  updateCustomer(store, invoice.customer, { delinquent: false });
  return invoice;
}

function closed(
  store: Store,
  before: Wire.Invoice,
  status: 'uncollectible' | 'void',
  time: Partial<Wire.Invoice['status_transitions']>,
): Wire.Invoice {
  const invoice = store.update('invoice.updated', store.invoices, before, {
    status,
    auto_advance: false,
    next_payment_attempt: null,
    status_transitions: { ...before.status_transitions, ...time },
  });
  store.emit(status === 'void' ? 'invoice.voided' : 'invoice.marked_uncollectible', invoice);
  return invoice;
}

/** The customer's prefix and sequence number. */
function nextNumber(store: Store, invoice: Wire.Invoice): string {
  const customer = livingCustomer(store, invoice.customer);
  if (customer === null) return newId('', 8).toUpperCase();
  const sequence = customer.next_invoice_sequence ?? 1;
  store.change(store.customers, customer, { next_invoice_sequence: sequence + 1 });
  return `${customer.invoice_prefix ?? 'SANDBOX'}-${String(sequence).padStart(4, '0')}`;
}

interface NewOneOffInvoice {
  readonly customer: Wire.Customer;
  readonly currency: string;
  /** The invoice bills the pending items of this subscription. */
  readonly subscription: Wire.Subscription | null;
  readonly includesPending: boolean;
  readonly autoAdvance: boolean;
  readonly discounts?: readonly DiscountTerms[];
  readonly details: Partial<Wire.Invoice>;
}

/** Creates a draft on request, independent of any subscription period. */
export function createOneOffInvoice(store: Store, input: NewOneOffInvoice): Wire.Invoice {
  const now = store.now();
  const id = store.invoices.newId();
  const { customer, currency, subscription } = input;
  const owner = { customer: customer.id, currency };
  const pending = invoiceItems.pendingItems(store, { ...owner, subscription: subscription?.id ?? null });
  const items = input.includesPending ? pending.slice(0, invoiceItems.invoiceLinesMax) : [];
  const finalizesAt = input.autoAdvance ? now + draftSeconds : null;
  const invoice = store.put(
    store.invoices,
    invoiceObject({
      id,
      now,
      ...accountParts(store, customer.id),
      buyer: customer,
      ...owner,
      reason: 'manual',
      parent: subscription === null ? null : parentOf(subscription),
      lines: items.map((item) => invoiceItems.lineOf(item)),
      discounts:
        input.discounts ?? currentTerms(store, { ...owner, discounts: subscription?.discounts ?? [] }),
      periodStart: now,
      periodEnd: now,
      autoAdvance: input.autoAdvance,
      finalizesAt,
      details: {
        ...input.details,
        ...(input.details.collection_method === 'send_invoice' && { next_payment_attempt: null }),
      },
    }),
  );
  invoiceItems.takeItems(store, items, id);
  store.emit('invoice.created', invoice);
  return invoice;
}

/** Finalizes the invoice if it is still a draft, and sends it to the customer. */
export function sendInvoice(store: Store, invoice: Wire.Invoice): Wire.Invoice {
  if (invoice.collection_method !== 'send_invoice')
    throw wrongState("You can only manually send an invoice if its collection method is 'send_invoice'.");
  if (invoice.status !== 'draft' && invoice.status !== 'open' && invoice.status !== 'paid')
    throw wrongState(`This invoice is ${invoice.status}, so it cannot be sent.`);
  const final = invoice.status === 'draft' ? finalizeInvoice(store, invoice) : invoice;
  store.emit('invoice.sent', final);
  return final;
}

/** Deletes a draft. Its items wait for the customer's next invoice again. */
export function deleteDraft(store: Store, invoice: Wire.Invoice): void {
  if (invoice.status !== 'draft') throw invoiceItems.notEditable(invoice);
  if (invoice.parent !== null && invoice.billing_reason !== 'manual')
    throw wrongState(
      'This invoice belongs to a subscription, so it cannot be deleted. Finalize and void it instead.',
      'invoice_not_editable',
    );
  invoiceItems.releaseItems(store, invoice.id);
  store.remove(store.invoices, invoice.id);
  store.emit('invoice.deleted', invoice);
}
