import { hasEnded, type SubscriptionStatus } from '../../model/subscription.ts';
import type { SubscriptionInvoice, SubscriptionToPay } from '../../processor/port/invoice-payment.ts';

/** An invoice that can be paid. A draft must be finalized first. */
export interface UnpaidInvoice extends SubscriptionInvoice {
  readonly status: 'draft' | 'open';
}

/** The statuses in which the processor collects drafts by itself, and does so an hour after a period began. */
const collecting: readonly SubscriptionStatus[] = ['active', 'trialing'];

/**
 * The invoice to pay if the caller names none: the latest one, because that decides the status. Paying an older one
 * would take money, and access would stay refused. Null if no payment is due for it. See decision 0025.
 */
export function invoiceToPay(present: SubscriptionToPay): UnpaidInvoice | null {
  const { subscription, isPaused } = present;
  const others = otherInvoices(present);
  const open = others.filter(isUnpaid).find(({ status }) => status === 'open') ?? null;
  // A subscription that has ended has no status to restore, and its customer had no access in a draft's period.
  if (hasEnded(subscription.status)) return open;
  // A period began after the invoices were read, so that none of them is the latest.
  if (!isShown(present, subscription.processorLatestInvoiceId)) return null;
  const latest = latestOf(present);
  if (latest !== null && isUnpaid(latest) && (latest.status === 'open' || isDue(latest, present)))
    return latest;
  // The latest period is paid. What was billed by hand after that is left, and all that a pause has left open.
  return isPaused || others[0] === open ? open : null;
}

/** The invoices that can be paid, and are older than the newest one, the newest first. */
export function olderUnpaid(present: SubscriptionToPay): readonly UnpaidInvoice[] {
  return otherInvoices(present).slice(1).filter(isUnpaid);
}

/** The invoice with this id, if it can be paid. */
export function unpaidInvoice({ invoices }: SubscriptionToPay, id: string): UnpaidInvoice | null {
  return invoices.filter(isUnpaid).find(({ processorInvoiceId }) => processorInvoiceId === id) ?? null;
}

/**
 * The invoice that decides the status: the latest one that is neither void, nor of a pending change, nor made by hand. A
 * change that was paid while the renewal was a draft is newer than the renewal, and does not decide if that is declined.
 */
function latestOf(present: SubscriptionToPay): SubscriptionInvoice | null {
  const { status, processorLatestInvoiceId: latest } = present.subscription;
  const decides = (invoice: SubscriptionInvoice) =>
    (invoice.processorInvoiceId === latest || !invoice.isOneOff) &&
    (invoice.status !== 'paid' || collecting.includes(status));
  return otherInvoices(present).find(decides) ?? null;
}

function isShown({ invoices }: SubscriptionToPay, id: string | null): boolean {
  return id === null || invoices.some(({ processorInvoiceId }) => processorInvoiceId === id);
}

function otherInvoices({ invoices, changeInvoiceId }: SubscriptionToPay): readonly SubscriptionInvoice[] {
  return invoices.filter(
    ({ processorInvoiceId, status }) => processorInvoiceId !== changeInvoiceId && status !== 'void',
  );
}

/** Whether the period of a draft has begun, and the processor does not collect it soon. */
function isDue({ billsFrom }: UnpaidInvoice, { subscription }: SubscriptionToPay): boolean {
  if (collecting.includes(subscription.status) || billsFrom === null) return false;
  return subscription.items.every(({ currentPeriodEnd }) => billsFrom < currentPeriodEnd);
}

function isUnpaid(invoice: SubscriptionInvoice): invoice is UnpaidInvoice {
  return invoice.status === 'draft' || invoice.status === 'open';
}
