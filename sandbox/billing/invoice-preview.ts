import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, InvoiceItem, Subscription } from '../wire/objects.ts';
import { refusal, type WireError } from '../wire/wire-error.ts';
import type { DiscountTerms } from './discount.ts';
import { draftSeconds, subscriptionInvoice } from './invoice.ts';
import { settledWith } from './invoice-balance.ts';
import { pendingOf } from './invoice-item.ts';
import { billOf, withNewPeriod } from './pause.ts';
import type { PlannedChange } from './planned-change.ts';
import { periodOf, renewal } from './subscription-items.ts';

/**
 * The invoice that will contain the planned change: the one that bills it at once, or the next renewal. It is built
 * from the same plan as the change itself, so both have the same amounts.
 */
export function previewChange(
  store: Store,
  before: Subscription,
  { subscription, prorations, bill }: PlannedChange,
  added: readonly InvoiceItem[],
  discounts?: readonly DiscountTerms[],
): Invoice {
  if (bill === null) return upcomingInvoice(store, subscription, [...added, ...prorations], discounts);
  const waiting = bill.includesPending ? pendingOf(store, subscription) : [];
  return preview(store, subscription, {
    lines: bill.lines,
    items: [...waiting, ...added, ...prorations],
    discounts,
    periodStart: periodOf(before).start,
    periodEnd: store.now(),
    autoAdvance: true,
  });
}

/** The invoice that resuming a paused subscription would create. */
export function previewResumption(store: Store, before: Subscription): Invoice {
  const moved = withNewPeriod(store, before, 'now');
  return preview(store, moved, { ...billOf(store, before, moved), autoAdvance: false });
}

/**
 * The next renewal, with its pending items, and others that are not stored. A subscription that ends with its period
 * has only the pending items.
 */
export function upcomingInvoice(
  store: Store,
  subscription: Subscription,
  added: readonly InvoiceItem[] = [],
  discounts?: readonly DiscountTerms[],
): Invoice {
  const { start, end } = periodOf(subscription);
  const endsAt = subscription.cancel_at ?? (subscription.cancel_at_period_end ? end : null);
  const ends = subscription.ended_at !== null || (endsAt !== null && endsAt <= end);
  const items = [...pendingOf(store, subscription), ...added];
  if (ends && !items.some(({ proration }) => proration)) throw noUpcoming(subscription.customer);
  const lines = ends ? [] : renewal(store, subscription, end).lines;
  const renewed = { lines, items, discounts, periodStart: start, periodEnd: end, autoAdvance: true };
  return preview(store, subscription, renewed, end + draftSeconds);
}

export function noUpcoming(customer: string): WireError {
  return refusal(404, `No upcoming invoices for customer: ${customer}`, 'invoice_upcoming_none');
}

function preview(
  store: Store,
  subscription: Subscription,
  input: Omit<Parameters<typeof subscriptionInvoice>[2], 'id' | 'reason'>,
  nextAttempt = store.now(),
): Invoice {
  const ids = { id: newId('upcoming_in_'), reason: 'upcoming' as const };
  const invoice = subscriptionInvoice(store, subscription, { ...input, ...ids });
  return {
    ...invoice,
    ending_balance: settledWith(invoice.total, invoice.starting_balance).ending,
    next_payment_attempt: nextAttempt,
  };
}
