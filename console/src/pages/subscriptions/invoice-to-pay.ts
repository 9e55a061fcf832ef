import type { Invoice, Subscription } from '@till/client';
import { hasEnded } from './terms.ts';

/** The statuses in which the processor collects drafts by itself. */
const collecting: readonly Subscription['status'][] = ['active', 'trialing'];

/**
 * The invoice that Till charges if the request names none, as far as the API shows it. The invoices are those of the
 * subscription, newest first.
 */
export function invoiceToPay(
  invoices: readonly Invoice[],
  subscription: Pick<Subscription, 'status' | 'latestInvoiceId' | 'pendingChange'>,
): Invoice | undefined {
  const { status, latestInvoiceId, pendingChange } = subscription;
  // A change that waits for its payment has the latest invoice, which does not decide the status.
  const changeInvoiceId = pendingChange !== null && pendingChange.at === null ? latestInvoiceId : null;
  const others = invoices.filter((one) => one.id !== changeInvoiceId && one.status !== 'void');
  const open = others.find((one) => one.status === 'open');
  if (hasEnded(subscription)) return open;
  // The latest invoice decides the status. A period can begin after the invoices were read.
  if (latestInvoiceId !== null && !invoices.some(({ id }) => id === latestInvoiceId)) return undefined;
  const isCollecting = collecting.includes(status);
  const latest = others.find((one) => one.status !== 'paid' || isCollecting);
  const isDue = latest?.status === 'open' || (latest?.status === 'draft' && !isCollecting);
  if (isDue) return latest;
  return others[0] === open ? open : undefined;
}

export function isUnpaid({ status }: Invoice): boolean {
  return status === 'open' || status === 'draft';
}
