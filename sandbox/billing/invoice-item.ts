import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, InvoiceItem, InvoiceLine, Pricing } from '../wire/objects.ts';
import { badParam, type WireError, wrongState } from '../wire/wire-error.ts';
import { termsOf } from './discount.ts';
import { withLines } from './invoice-object.ts';
import { testClockIdOf } from './test-clock.ts';

/** The processor's own limit for one invoice. */
export const invoiceLinesMax = 250;

interface NewInvoiceItem {
  readonly customer: string;
  readonly currency: string;
  readonly amount: number;
  readonly quantity: number;
  readonly pricing: Pricing;
  readonly description: string | null;
  readonly discountable: boolean;
  readonly metadata: Record<string, string>;
  readonly period: { readonly start: number; readonly end: number } | null;
  /** The draft to add the item to. Without it, the item waits for the customer's next invoice. */
  readonly invoice: Invoice | null;
  readonly subscription: string | null;
}

export function createInvoiceItem(store: Store, made: NewInvoiceItem): InvoiceItem {
  const now = store.now();
  if (made.invoice !== null) checkRoom(made.invoice);
  const item = store.put(store.invoiceItems, {
    id: store.invoiceItems.newId(),
    object: 'invoiceitem',
    amount: made.amount,
    currency: made.currency,
    customer: made.customer,
    customer_account: null,
    date: now,
    description: made.description,
    discountable: made.discountable,
    discounts: [],
    invoice: made.invoice?.id ?? null,
    livemode: false,
    metadata: made.metadata,
    net_amount: made.amount,
    parent:
      made.subscription === null
        ? null
        : { subscription_details: { subscription: made.subscription }, type: 'subscription_details' },
    period: made.period ?? { start: now, end: now },
    pricing: made.pricing,
    proration: false,
    quantity: made.quantity,
    quantity_decimal: String(made.quantity),
    tax_rates: [],
    test_clock: testClockIdOf(store, made.customer),
  });
  store.emit('invoiceitem.created', item);
  if (made.invoice !== null) redraft(store, made.invoice, [...made.invoice.lines.data, lineOf(item)]);
  return item;
}

/** Changes the item, and its line if it is on a draft. */
export function changeInvoiceItem(
  store: Store,
  before: InvoiceItem,
  changes: Partial<InvoiceItem>,
): InvoiceItem {
  const draft = draftOf(store, before);
  const item = store.change(store.invoiceItems, before, changes);
  if (draft !== null)
    redraft(
      store,
      draft,
      draft.lines.data.map((line) => (isLineOf(line, item) ? lineOf(item, line.id) : line)),
    );
  return item;
}

/** Deletes the item, and its line if it is on a draft. */
export function deleteInvoiceItem(store: Store, item: InvoiceItem): void {
  const draft = draftOf(store, item);
  store.remove(store.invoiceItems, item.id);
  store.emit('invoiceitem.deleted', item);
  if (draft !== null)
    redraft(
      store,
      draft,
      draft.lines.data.filter((line) => !isLineOf(line, item)),
    );
}

/**
 * The customer's items that wait for an invoice in this currency. An invoice of a subscription takes the items of that
 * subscription and those that name none.
 */
export function pendingItems(
  store: Store,
  of: { readonly customer: string; readonly currency: string; readonly subscription: string | null },
): InvoiceItem[] {
  return store.invoiceItems.allWithin('pending', of.customer).filter(({ currency, parent }) => {
    const subscription = parent?.subscription_details.subscription ?? null;
    return currency === of.currency && (subscription === null || subscription === of.subscription);
  });
}

/** Marks pending items as billed by a new draft. */
export function takeItems(store: Store, items: readonly InvoiceItem[], invoice: string): void {
  for (const item of items) store.change(store.invoiceItems, item, { invoice });
}

/** Makes the items of a deleted draft pending again. */
export function releaseItems(store: Store, invoice: string): void {
  for (const item of store.invoiceItems.allWithin('invoice', invoice))
    store.change(store.invoiceItems, item, { invoice: null });
}

export function notEditable(invoice: Invoice): WireError {
  return wrongState(
    `This invoice is ${invoice.status}, so it can no longer be changed.`,
    'invoice_not_editable',
  );
}

function draftOf(store: Store, item: InvoiceItem): Invoice | null {
  if (item.invoice === null) return null;
  const invoice = store.invoices.get(item.invoice);
  if (invoice === undefined) return null;
  if (invoice.status !== 'draft') throw notEditable(invoice);
  return invoice;
}

function checkRoom(invoice: Invoice): void {
  if (invoice.status !== 'draft') throw notEditable(invoice);
  if (invoice.lines.data.length >= invoiceLinesMax)
    throw badParam(`An invoice can have at most ${invoiceLinesMax} line items.`, 'invoice');
}

function redraft(store: Store, before: Invoice, lines: readonly InvoiceLine[]): void {
  const after = store.change(
    store.invoices,
    before,
    withLines(before, lines, termsOf(store, before.discounts)),
  );
  store.emitUpdated('invoice.updated', before, after);
}

function isLineOf(line: InvoiceLine, item: InvoiceItem): boolean {
  return line.parent?.invoice_item_details?.invoice_item === item.id;
}

/** The line of an invoice that bills the item. */
export function lineOf(item: InvoiceItem, id = newId('il_')): InvoiceLine {
  const subscription = item.parent?.subscription_details.subscription ?? null;
  return {
    id,
    object: 'line_item',
    amount: item.amount,
    currency: item.currency,
    description: item.description,
    discount_amounts: [],
    discountable: item.discountable,
    discounts: [],
    invoice: item.invoice,
    livemode: false,
    metadata: item.metadata ?? {},
    parent: {
      invoice_item_details: {
        invoice_item: item.id,
        proration: item.proration,
        proration_details: { credited_items: null },
        subscription,
      },
      subscription_item_details: null,
      type: 'invoice_item_details',
    },
    period: item.period,
    pretax_credit_amounts: [],
    pricing: item.pricing,
    quantity: item.quantity,
    quantity_decimal: item.quantity_decimal,
    subscription,
    subtotal: item.amount,
    taxes: [],
  };
}
