import type { Store } from '../state/store.ts';
import type { InvoiceItem, Subscription } from '../wire/objects.ts';
import { pendingItems } from './invoice-item.ts';

type ProrationDetails = NonNullable<InvoiceItem['proration_details']>;

/** The charge that a credit for the subscription item reverses: an item that waits for an invoice, or a line of one. */
export function creditedItems(
  store: Store,
  subscription: Subscription,
  subscriptionItem: string,
): ProrationDetails['credited_items'] {
  const { id, customer, currency } = subscription;
  const waiting = pendingItems(store, { customer, currency, subscription: id }).findLast(
    ({ amount, parent }) => amount > 0 && parent?.subscription_details.subscription_item === subscriptionItem,
  );
  if (waiting !== undefined) return { type: 'invoice_item', invoice_item: waiting.id };
  const end = subscription.items.data.find((item) => item.id === subscriptionItem)?.current_period_end;
  const billed = store.invoices
    .allWithin('subscription', id)
    .filter(({ status }) => status !== 'draft' && status !== 'void')
    .flatMap((invoice) =>
      invoice.lines.data
        .filter(
          ({ amount, parent, period }) =>
            amount > 0 &&
            period.end === end &&
            parent?.subscription_item_details?.subscription_item === subscriptionItem,
        )
        .map((line) => ({ invoice: invoice.id, created: invoice.created, line: line.id })),
    )
    .sort((a, b) => a.created - b.created)
    .at(-1);
  if (billed === undefined) return null;
  return {
    type: 'invoice_line_items',
    invoice_line_item_details: { invoice: billed.invoice, invoice_line_items: [billed.line] },
  };
}
