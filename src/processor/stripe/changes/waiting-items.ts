import type { Stripe } from 'stripe';
import { type Attempt, notReached } from '../../port/attempt.ts';
import type { ChangeableSubscription } from '../../port/subscription-changes.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchAll, fetchFrom } from '../wire/listing.ts';
import { done, missingOrWrongState, refused } from '../wire/responses.ts';
import { type InvoiceItem, mapInvoiceItem, restoredItemParams, waitedMark } from './map-invoice-item.ts';
import type { VoidedInvoice } from './map-voided-invoice.ts';

/** Few enough to leave most of the processor's rate limit to other calls. Each earlier change has two items. */
const marksAtOnce = 5;

/**
 * Marks the items that wait for an invoice, before a change whose invoice will bill them too. If that invoice is
 * voided, the marks distinguish them from the items of the change itself. The invoice also bills items that name no
 * subscription.
 */
export async function markWaitingItems(
  context: AdapterContext,
  { subscription: { processorSubscriptionId, processorCustomerId }, currency }: ChangeableSubscription,
  idempotencyKey: string,
): Promise<void> {
  if (processorCustomerId === null) return;
  const waiting = await listItems(context, { customer: processorCustomerId, pending: true });
  const unmarked = waiting.filter(
    (item) =>
      !isMarked(item) &&
      item.currency === currency &&
      [null, processorSubscriptionId].includes(item.processorSubscriptionId),
  );
  for (let start = 0; start < unmarked.length; start += marksAtOnce)
    await Promise.all(
      // An item that can no longer be marked was billed or deleted meanwhile.
      unmarked
        .slice(start, start + marksAtOnce)
        .map(({ processorInvoiceItemId: id }) => markWaiting(context, id, `${idempotencyKey}-wait-${id}`)),
    );
}

/**
 * Creates again the items of a voided invoice that had waited for it, because the processor does not restore them. Each
 * item is created once: its processor key is derived from the item that it restores. After the processor has forgotten
 * that key, the new item still names the restored one.
 */
export async function restoreWaitingItems(
  context: AdapterContext,
  invoice: Pick<VoidedInvoice, 'processorInvoiceId' | 'createdAt'>,
  which: (item: InvoiceItem) => boolean,
): Promise<void> {
  // The oldest first, so that the next invoice shows them in their order.
  for (const item of await listLost(context, invoice, which)) await restore(context, item);
}

/** The items that had waited for a voided invoice and that are not restored yet, the oldest first. */
export async function listLost(
  context: AdapterContext,
  { processorInvoiceId, createdAt }: Pick<VoidedInvoice, 'processorInvoiceId' | 'createdAt'>,
  which: (item: InvoiceItem) => boolean = hasWaited,
): Promise<readonly InvoiceItem[]> {
  const lost = (await listWaited(context, processorInvoiceId)).filter(which);
  const [first] = lost;
  if (first === undefined) return [];
  const newer = await listItems(context, {
    customer: first.processorCustomerId,
    created: { gte: createdAt.getTime() / 1_000 },
  });
  const restored = new Set(newer.map(({ restores }) => restores));
  return lost.filter(({ processorInvoiceItemId }) => !restored.has(processorInvoiceItemId)).toReversed();
}

/** The items that had waited for this invoice, the newest first. */
export async function listWaited(
  context: AdapterContext,
  invoiceId: string,
): Promise<readonly InvoiceItem[]> {
  const items = await listItems(context, { invoice: invoiceId });
  return items.filter((item) => hasWaited(item) && item.amount !== 0);
}

function listItems(
  context: AdapterContext,
  filter: Stripe.InvoiceItemListParams,
): Promise<readonly InvoiceItem[]> {
  const fetch = fetchFrom(context.stripe.invoiceItems, filter);
  return fetchAll(context, 'invoice_items.list', fetch, mapInvoiceItem);
}

function markWaiting(
  { stripe, call }: AdapterContext,
  itemId: string,
  idempotencyKey: string,
): Promise<Attempt<null>> {
  return call.write('invoice_items.update', {
    idempotencyKey,
    send: (options) => stripe.invoiceItems.update(itemId, { metadata: waitedMark }, options),
    take: () => done(null),
    refused: missingOrWrongState,
  });
}

async function restore({ stripe, call }: AdapterContext, item: InvoiceItem): Promise<void> {
  const idempotencyKey = `till-restore-${item.processorInvoiceItemId}`;
  const attempt = await call.write<Attempt<null>>('invoice_items.create', {
    idempotencyKey,
    send: (options) => stripe.invoiceItems.create(restoredItemParams(item), options),
    take: () => done(null),
    // A deleted customer has no further invoices.
    refused: (refusal) =>
      refusal.code === 'resource_missing' && refusal.param === 'customer'
        ? done(null)
        : refused('wrong_state', refusal),
  });
  if (attempt.outcome !== 'done') throw notReached(attempt, 'invoice', 'void');
}

/** A change or a new period creates only items of its subscription. Any other item had waited, even without a mark. */
export function hasWaited(item: InvoiceItem): boolean {
  return isMarked(item) || isOfCustomer(item);
}

function isMarked({ waited, restores }: InvoiceItem): boolean {
  return waited || restores !== null;
}

/** Any invoice of the customer can bill the item. */
export function isOfCustomer({ processorSubscriptionId }: InvoiceItem): boolean {
  return processorSubscriptionId === null;
}
