import { hasEnded, type SubscriptionStatus } from '#core/model/subscription.ts';
import type { SubscriptionInvoice, SubscriptionToPay } from '#processor/port/invoice-payment.ts';

/** An invoice that can be paid. A draft must be finalized first. */
interface UnpaidInvoice extends SubscriptionInvoice {
  readonly status: 'draft' | 'open';
}

/** The statuses in which the processor collects a draft by itself, an hour after its period began. */
const collecting: readonly SubscriptionStatus[] = ['active', 'trialing'];

/**
 * The invoice to pay if the caller names none: the latest one, because it decides the status. Paying an older one would
 * take money without restoring access. Null if the latest one cannot be paid. See decision 0015.
 */
export function invoiceToPay(current: SubscriptionToPay): UnpaidInvoice | null {
  const { subscription, isPaused } = current;
  const others = otherInvoices(current);
  const open = others.filter(isUnpaid).find(({ status }) => status === 'open') ?? null;
  // A subscription that has ended has no status to restore. Its drafts are not paid: the customer had no access in
  // their periods.
  if (hasEnded(subscription.status)) return open;
  // A new period began after the invoices were read, so none of them is the latest.
  if (!isShown(current, subscription.processorLatestInvoiceId)) return null;
  const latest = latestOf(current);
  if (latest !== null && isUnpaid(latest) && (latest.status === 'open' || isDue(latest, current)))
    return latest;
  // The latest period is paid. Only invoices remain that were created by hand later, or that a pause has left open.
  return isPaused || others[0] === open ? open : null;
}

/** The invoices that can be paid and are older than the newest one. Newest first. */
export function olderUnpaid(current: SubscriptionToPay): readonly UnpaidInvoice[] {
  return otherInvoices(current).slice(1).filter(isUnpaid);
}

/** The invoice with this id, if it can be paid. */
export function unpaidInvoice({ invoices }: SubscriptionToPay, id: string): UnpaidInvoice | null {
  return invoices.filter(isUnpaid).find(({ processorInvoiceId }) => processorInvoiceId === id) ?? null;
}

/**
 * The invoice that decides the status: the latest one that is neither void, nor of a pending change, nor created by
 * hand. If a change was paid while the renewal was a draft, the invoice of the change is newer, but a declined renewal
 * still decides.
 */
function latestOf(current: SubscriptionToPay): SubscriptionInvoice | null {
  const { status, processorLatestInvoiceId: latest } = current.subscription;
  const decides = (invoice: SubscriptionInvoice) =>
    (invoice.processorInvoiceId === latest || !invoice.isOneOff) &&
    (invoice.status !== 'paid' || collecting.includes(status));
  return otherInvoices(current).find(decides) ?? null;
}

function isShown({ invoices }: SubscriptionToPay, id: string | null): boolean {
  return id === null || invoices.some(({ processorInvoiceId }) => processorInvoiceId === id);
}

function otherInvoices({ invoices, changeInvoiceId }: SubscriptionToPay): readonly SubscriptionInvoice[] {
  return invoices.filter(
    ({ processorInvoiceId, status }) => processorInvoiceId !== changeInvoiceId && status !== 'void',
  );
}

/** Whether the period of a draft has begun, and the processor does not collect the draft by itself. */
function isDue({ billsFrom }: UnpaidInvoice, { subscription }: SubscriptionToPay): boolean {
  if (collecting.includes(subscription.status) || billsFrom === null) return false;
  return subscription.items.every(({ currentPeriodEnd }) => billsFrom < currentPeriodEnd);
}

function isUnpaid(invoice: SubscriptionInvoice): invoice is UnpaidInvoice {
  return invoice.status === 'draft' || invoice.status === 'open';
}
