import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, InvoiceItem, Subscription } from '../wire/objects.ts';
import { WireError } from '../wire/wire-error.ts';
import { draftSeconds, subscriptionInvoice } from './invoice.ts';
import { settledWith } from './invoice-balance.ts';
import { pendingItems } from './invoice-item.ts';
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
): Invoice {
  if (bill === null) return upcomingInvoice(store, subscription, prorations);
  const waiting = bill.includesPending ? pendingOf(store, subscription) : [];
  return preview(
    subscriptionInvoice(store, subscription, {
      id: newId('upcoming_in_'),
      reason: 'upcoming',
      lines: bill.lines,
      items: [...waiting, ...prorations],
      periodStart: periodOf(before).start,
      periodEnd: store.now(),
      autoAdvance: true,
    }),
    store.now(),
  );
}

/** The invoice that resuming a paused subscription would create. */
export function previewResumption(store: Store, before: Subscription): Invoice {
  const moved = withNewPeriod(store, before, 'now');
  return preview(
    subscriptionInvoice(store, moved, {
      id: newId('upcoming_in_'),
      reason: 'upcoming',
      ...billOf(store, before, moved),
      autoAdvance: false,
    }),
    store.now(),
  );
}

/** The next renewal, with its pending items. A subscription that ends with its period has only the pending items. */
export function upcomingInvoice(
  store: Store,
  subscription: Subscription,
  prorations: readonly InvoiceItem[] = [],
): Invoice {
  const { start, end } = periodOf(subscription);
  const endsAt = subscription.cancel_at ?? (subscription.cancel_at_period_end ? end : null);
  const ends = subscription.ended_at !== null || (endsAt !== null && endsAt <= end);
  const items = [...pendingOf(store, subscription), ...prorations];
  if (ends && !items.some(({ proration }) => proration)) throw noUpcoming(subscription.customer);
  return preview(
    subscriptionInvoice(store, subscription, {
      id: newId('upcoming_in_'),
      reason: 'upcoming',
      lines: ends ? [] : renewal(store, subscription, end).lines,
      items,
      periodStart: start,
      periodEnd: end,
      autoAdvance: true,
    }),
    end + draftSeconds,
  );
}

export function noUpcoming(customer: string): WireError {
  return new WireError(404, {
    type: 'invalid_request_error',
    code: 'invoice_upcoming_none',
    message: `No upcoming invoices for customer: ${customer}`,
  });
}

function pendingOf(store: Store, { id, customer, currency }: Subscription): InvoiceItem[] {
  return pendingItems(store, { customer, currency, subscription: id });
}

function preview(invoice: Invoice, nextAttempt: number): Invoice {
  return {
    ...invoice,
    ending_balance: settledWith(invoice.total, invoice.starting_balance).ending,
    next_payment_attempt: nextAttempt,
  };
}
