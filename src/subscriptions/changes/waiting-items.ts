import type { OperationWrite } from '../../idempotency/operation.ts';
import type { InvoiceItem } from '../../processor/port/invoice-item-calls.ts';
import type { Processor } from '../../processor/port/processor.ts';
import type { ChangeableSubscription } from '../../processor/port/subscription-change-calls.ts';
import { notReached } from '../../processor/refused-write.ts';

type Calls = Pick<Processor, 'subscriptionChanges' | 'invoiceItems'>;

/** Few enough to leave most of the processor's rate limit to others. There are two items for each earlier change. */
const marksAtOnce = 5;

/**
 * Marks the items that wait for an invoice, before a change that bills them too. If the invoice of the change is voided,
 * the marks tell them from the items of the change itself. Items that name no subscription are billed with it as well.
 */
export async function markWaitingItems(
  { invoiceItems }: Pick<Processor, 'invoiceItems'>,
  { subscription: { processorSubscriptionId, processorCustomerId }, currency }: ChangeableSubscription,
  { idempotencyKey }: Pick<OperationWrite, 'idempotencyKey'>,
): Promise<void> {
  if (processorCustomerId === null) return;
  const waiting = await invoiceItems.listWaiting(processorCustomerId);
  const unmarked = waiting.filter(
    (item) =>
      !hasWaited(item) &&
      item.currency === currency &&
      [null, processorSubscriptionId].includes(item.processorSubscriptionId),
  );
  for (let start = 0; start < unmarked.length; start += marksAtOnce)
    await Promise.all(
      // An item that cannot be marked any more was billed or deleted meanwhile.
      unmarked.slice(start, start + marksAtOnce).map(({ processorInvoiceItemId }) =>
        invoiceItems.markWaiting({
          processorInvoiceItemId,
          idempotencyKey: `${idempotencyKey}-wait-${processorInvoiceItemId}`,
        }),
      ),
    );
}

/**
 * Makes the marked items of a voided invoice wait again. The processor does not do that itself. Each item is created
 * once: its key follows from the item that it restores, and after the processor has forgotten the key the new item still
 * names that one.
 */
export async function restoreWaitingItems(
  { subscriptionChanges, invoiceItems }: Calls,
  processorInvoiceId: string,
): Promise<void> {
  const lost = (await invoiceItems.listOfInvoice(processorInvoiceId)).filter(
    (item) => hasWaited(item) && item.amount !== 0,
  );
  const [first] = lost;
  if (first === undefined) return;
  const invoice = await subscriptionChanges.readCharge(processorInvoiceId);
  // Until the invoice is void, the customer can pay these items with it.
  if (invoice?.status !== 'void') return;
  const { processorCustomerId } = first;
  const newer = await invoiceItems.listSince({ processorCustomerId, since: invoice.createdAt });
  const restored = new Set(newer.map(({ restores }) => restores));
  // The oldest first, so that the next invoice shows them in their order.
  for (const item of lost.toReversed())
    if (!restored.has(item.processorInvoiceItemId)) await restore(invoiceItems, item);
}

/** The same for all changes of a subscription that were voided recently, by a process that may have died after that. */
export async function restoreOfVoidedChanges(calls: Calls, processorSubscriptionId: string): Promise<void> {
  for (const invoiceId of await calls.subscriptionChanges.listVoidedChanges(processorSubscriptionId))
    await restoreWaitingItems(calls, invoiceId);
}

async function restore(invoiceItems: Processor['invoiceItems'], item: InvoiceItem): Promise<void> {
  const idempotencyKey = `till-restore-${item.processorInvoiceItemId}`;
  const attempt = await invoiceItems.restore({ ...item, idempotencyKey });
  if (attempt.outcome !== 'done') throw notReached(attempt, 'invoice', 'void');
}

function hasWaited({ waited, restores }: InvoiceItem): boolean {
  return waited || restores !== null;
}
