import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, InvoiceItem, InvoiceLine, Subscription } from '../wire/objects.ts';
import { badParam, type WireError, wrongState } from '../wire/wire-error.ts';
import { termsOf } from './discount.ts';
import { withLines } from './invoice-object.ts';
import { taxesOn } from './tax.ts';
import { testClockIdOf } from './test-clock.ts';

/** The processor's own limit for one invoice. */
export const invoiceLinesMax = 250;

type Given = 'amount' | 'currency' | 'pricing' | 'quantity';
type Described = 'description' | 'discountable' | 'metadata' | 'period' | 'tax_rates';

export interface NewInvoiceItem extends Pick<InvoiceItem, Given>, Partial<Pick<InvoiceItem, Described>> {
  readonly customer: string;
  /** The draft to add the item to. Without one, the item waits for the customer's next invoice. */
  readonly invoice?: Invoice | null;
  readonly subscription?: string | null;
  /** For a proration: the subscription item that changes, and the charge that a credit reverses. */
  readonly prorated?: {
    readonly subscriptionItem: string;
    readonly creditedItems: NonNullable<InvoiceItem['proration_details']>['credited_items'];
  };
}

export function createInvoiceItem(store: Store, input: NewInvoiceItem): InvoiceItem {
  const { invoice = null } = input;
  if (invoice !== null) checkRoom(invoice);
  const item = addInvoiceItem(store, invoiceItemObject(store, input));
  if (invoice !== null) redraft(store, invoice, [...invoice.lines.data, lineOf(item)]);
  return item;
}

export function addInvoiceItem(store: Store, item: InvoiceItem): InvoiceItem {
  return store.record('invoiceitem.created', store.invoiceItems, item);
}

/** An item that is not stored yet. */
export function invoiceItemObject(store: Store, input: NewInvoiceItem): InvoiceItem {
  const now = store.now();
  const { subscription = null, prorated, invoice = null, ...fields } = input;
  return {
    id: store.invoiceItems.newId(),
    object: 'invoiceitem',
    customer_account: null,
    date: now,
    description: null,
    discountable: true,
    discounts: [],
    livemode: false,
    metadata: {},
    period: { start: now, end: now },
    tax_rates: [],
    ...fields,
    invoice: invoice?.id ?? null,
    net_amount: input.amount,
    parent:
      subscription === null
        ? null
        : {
            subscription_details: {
              subscription,
              ...(prorated !== undefined && { subscription_item: prorated.subscriptionItem }),
            },
            type: 'subscription_details',
          },
    proration: prorated !== undefined,
    ...(prorated !== undefined && {
      proration_details: { credited_items: prorated.creditedItems, discount_amounts: [] },
    }),
    quantity_decimal: String(input.quantity),
    test_clock: testClockIdOf(store, input.customer),
  };
}

/** Changes the item, and its line if it is on a draft. */
export function changeInvoiceItem(
  store: Store,
  before: InvoiceItem,
  changes: Partial<InvoiceItem>,
): InvoiceItem {
  const draft = draftOf(store, before);
  const item = store.change(store.invoiceItems, before, changes);
  const lines = draft?.lines.data.map((line) => (itemIdOf(line) === item.id ? lineOf(item, line.id) : line));
  if (draft !== null) redraft(store, draft, lines ?? []);
  return item;
}

/** Deletes the item, and its line if it is on a draft. */
export function deleteInvoiceItem(store: Store, item: InvoiceItem): void {
  const draft = draftOf(store, item);
  store.remove(store.invoiceItems, item.id);
  store.emit('invoiceitem.deleted', item);
  const lines = draft?.lines.data.filter((line) => itemIdOf(line) !== item.id);
  if (draft !== null) redraft(store, draft, lines ?? []);
}

/**
 * The customer's items that wait for an invoice in this currency. An invoice of a subscription takes the items of that
 * subscription and those without a subscription.
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

export function pendingOf(store: Store, { id, customer, currency }: Subscription): InvoiceItem[] {
  return pendingItems(store, { customer, currency, subscription: id });
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
  store.update(
    'invoice.updated',
    store.invoices,
    before,
    withLines(before, lines, termsOf(store, before.discounts), (id) => store.taxRates.get(id)),
  );
}

/** The invoice item that the line bills, if it bills one. */
export function itemIdOf({ parent }: InvoiceLine): string | null {
  return (parent?.invoice_item_details ?? parent?.subscription_item_details)?.invoice_item ?? null;
}

/** The line of an invoice that bills the item. */
export function lineOf(item: InvoiceItem, id = newId('il_')): InvoiceLine {
  const subscription = item.parent?.subscription_details.subscription ?? null;
  const subscriptionItem = item.parent?.subscription_details.subscription_item;
  const details = {
    invoice_item: item.id,
    proration: item.proration,
    proration_details: {
      credited_items: item.proration_details?.credited_items?.invoice_line_item_details ?? null,
    },
    subscription,
  };
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
    parent:
      subscriptionItem === undefined
        ? { invoice_item_details: details, subscription_item_details: null, type: 'invoice_item_details' }
        : {
            invoice_item_details: null,
            subscription_item_details: { ...details, subscription_item: subscriptionItem },
            type: 'subscription_item_details',
          },
    period: item.period,
    pretax_credit_amounts: [],
    pricing: item.pricing,
    quantity: item.quantity,
    quantity_decimal: item.quantity_decimal,
    subscription,
    subtotal: item.amount,
    taxes: taxesOn(0, item.tax_rates ?? []),
  };
}
