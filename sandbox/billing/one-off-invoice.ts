import type { Store } from '../state/store.ts';
import type { Customer, Invoice, Subscription } from '../wire/objects.ts';
import { wrongState } from '../wire/wire-error.ts';
import { currentTerms } from './discount.ts';
import type { DiscountTerms } from './discount-amounts.ts';
import { draftSeconds, finalizeInvoice } from './invoice.ts';
import { accountParts } from './invoice-balance.ts';
import {
  invoiceLinesMax,
  lineOf,
  notEditable,
  pendingItems,
  releaseItems,
  takeItems,
} from './invoice-item.ts';
import { invoiceObject, parentOf } from './invoice-object.ts';

interface NewOneOffInvoice {
  readonly customer: Customer;
  readonly currency: string;
  /** The invoice bills the pending items of this subscription. */
  readonly subscription: Subscription | null;
  readonly includesPending: boolean;
  readonly autoAdvance: boolean;
  readonly discounts?: readonly DiscountTerms[];
  readonly details: Partial<Invoice>;
}

/** Creates a draft on request, independent of any subscription period. */
export function createOneOffInvoice(store: Store, input: NewOneOffInvoice): Invoice {
  const now = store.now();
  const id = store.invoices.newId();
  const { customer, currency, subscription } = input;
  const pending = pendingItems(store, {
    customer: customer.id,
    currency,
    subscription: subscription?.id ?? null,
  });
  const items = input.includesPending ? pending.slice(0, invoiceLinesMax) : [];
  const finalizesAt = input.autoAdvance ? now + draftSeconds : null;
  const invoice = store.put(
    store.invoices,
    invoiceObject({
      id,
      now,
      ...accountParts(store, customer.id),
      buyer: customer,
      customer: customer.id,
      currency,
      reason: 'manual',
      parent: subscription === null ? null : parentOf(subscription),
      lines: items.map((item) => lineOf(item)),
      discounts:
        input.discounts ??
        currentTerms(store, {
          customer: customer.id,
          currency,
          discounts: subscription?.discounts ?? [],
        }),
      periodStart: now,
      periodEnd: now,
      autoAdvance: input.autoAdvance,
      finalizesAt,
      details: {
        ...input.details,
        ...(input.details.collection_method === 'send_invoice' ? { next_payment_attempt: null } : {}),
      },
    }),
  );
  takeItems(store, items, id);
  store.emit('invoice.created', invoice);
  return invoice;
}

/** Finalizes the invoice if it is still a draft, and sends it to the customer. */
export function sendInvoice(store: Store, invoice: Invoice): Invoice {
  if (invoice.collection_method !== 'send_invoice')
    throw wrongState("You can only manually send an invoice if its collection method is 'send_invoice'.");
  if (invoice.status !== 'draft' && invoice.status !== 'open' && invoice.status !== 'paid')
    throw wrongState(`This invoice is ${invoice.status}, so it cannot be sent.`);
  const final = invoice.status === 'draft' ? finalizeInvoice(store, invoice) : invoice;
  store.emit('invoice.sent', final);
  return final;
}

/** Deletes a draft. Its items wait for the customer's next invoice again. */
export function deleteDraft(store: Store, invoice: Invoice): void {
  if (invoice.status !== 'draft') throw notEditable(invoice);
  if (invoice.parent !== null && invoice.billing_reason !== 'manual')
    throw wrongState(
      'This invoice belongs to a subscription, so it cannot be deleted. Finalize and void it instead.',
      'invoice_not_editable',
    );
  releaseItems(store, invoice.id);
  store.remove(store.invoices, invoice.id);
  store.emit('invoice.deleted', invoice);
}
