import type { Stripe } from 'stripe';
import type { InvoiceItem, InvoiceItemCalls } from '../../port/invoice-item-calls.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, missing, refused } from '../wire/attempt.ts';
import { fetchPages, lookUpPagesMax } from '../wire/listing.ts';
import { mapInvoiceItem, restoredItemParams, waitedMark } from './map-invoice-item.ts';

export function createInvoiceItemCalls(context: AdapterContext): InvoiceItemCalls {
  const { stripe, call } = context;
  const list = async (filter: Stripe.InvoiceItemListParams): Promise<readonly InvoiceItem[]> => {
    const pages = fetchPages(
      context,
      'invoice_items.list',
      (page, options) => stripe.invoiceItems.list({ ...filter, ...page }, options),
      lookUpPagesMax,
      mapInvoiceItem,
    );
    return (await Array.fromAsync(pages)).flat();
  };
  return {
    listWaiting: (customer) => list({ customer, pending: true }),

    listOfInvoice: (invoice) => list({ invoice }),

    listSince: ({ processorCustomerId, since }) =>
      list({ customer: processorCustomerId, created: { gte: since.getTime() / 1_000 } }),

    markWaiting: ({ processorInvoiceItemId, idempotencyKey }) =>
      call('invoice_items.update', {
        kind: 'write',
        send: (options) =>
          stripe.invoiceItems.update(
            processorInvoiceItemId,
            { metadata: waitedMark },
            { ...options, idempotencyKey },
          ),
        take: () => done(null),
        // The call carries none of the caller's values, so any other refusal is about the item's state.
        refused: (refusal) => missing(refusal) ?? refused('wrong_state', refusal),
      }),

    restore: ({ idempotencyKey, ...item }) =>
      call('invoice_items.create', {
        kind: 'write',
        send: (options) =>
          stripe.invoiceItems.create(restoredItemParams(item), { ...options, idempotencyKey }),
        take: () => done(null),
        refused: (refusal) => refused('wrong_state', refusal),
      }),
  };
}
