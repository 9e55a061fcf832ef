import { intentOf } from '../billing/invoice-payment.ts';
import { periodOf } from '../billing/subscription-life.ts';
import type { StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import type { Charge, Invoice, PaymentIntent, Subscription } from '../wire/objects.ts';
import { renderEvent } from './render-event.ts';

/** Since this version, items have the period, and invoices refer to payments. */
const newerShapeSince = '2025-03-31';

export function wantsOlderShape(version: string): boolean {
  return version < newerShapeSince;
}

/** The event for an endpoint with an older version. Translates only the fields that moved. */
export function olderShape(store: Store, event: StoredEvent, version: string): object {
  const rendered = renderEvent(store, event);
  const data = {
    object: olderObject(store, event.subject),
    ...(event.previous === null ? {} : { previous_attributes: olderPrevious(event) }),
  };
  return { ...rendered, api_version: version, data };
}

function olderObject(store: Store, subject: StoredEvent['subject']): object {
  // The `object` field determines the type.
  switch (subject.object) {
    case 'subscription':
      return olderSubscription(subject as Subscription);
    case 'invoice':
      return olderInvoice(store, subject as Invoice);
    case 'payment_intent':
      return { ...subject, invoice: invoiceIdOf(store, (subject as PaymentIntent).id) };
    case 'charge':
      return { ...subject, invoice: invoiceIdOf(store, (subject as Charge).payment_intent) };
    default:
      return subject;
  }
}

function olderSubscription(subscription: Subscription): object {
  const { start, end } = periodOf(subscription);
  return {
    ...subscription,
    current_period_start: start,
    current_period_end: end,
    items: {
      ...subscription.items,
      data: subscription.items.data.map(
        ({ current_period_start: _, current_period_end: __, ...item }) => item,
      ),
    },
  };
}

function olderInvoice(store: Store, invoice: Invoice): object {
  const { parent, total_taxes: _, ...rest } = invoice;
  const intent = intentOf(store, invoice);
  return {
    ...rest,
    charge: intent?.latest_charge ?? null,
    paid: invoice.status === 'paid',
    paid_out_of_band: false,
    payment_intent: intent?.id ?? null,
    subscription: parent?.subscription_details.subscription ?? null,
    subscription_details: parent === null ? null : { metadata: parent.subscription_details.metadata },
    tax: null,
    total_tax_amounts: [],
    lines: {
      ...rest.lines,
      data: rest.lines.data.map(({ parent: lineParent, pricing, ...line }) => ({
        ...line,
        price: store.prices.get(pricing.price_details.price) ?? null,
        subscription_item: lineParent?.subscription_item_details?.subscription_item ?? null,
        type: 'subscription',
      })),
    },
  };
}

/** In the older shape, a new period is a change of the subscription itself. */
function olderPrevious(event: StoredEvent): object {
  if (event.subject.object !== 'subscription' || event.previous === null || !('items' in event.previous))
    return event.previous ?? {};
  const { items, ...rest } = event.previous;
  // Previous attributes contain arrays in full, so `items` has the complete list.
  const [item] = (items as Subscription['items']).data ?? [];
  return {
    ...rest,
    ...(item === undefined
      ? {}
      : { current_period_start: item.current_period_start, current_period_end: item.current_period_end }),
  };
}

function invoiceIdOf(store: Store, intentId: string | null): string | null {
  const [payment] = intentId === null ? [] : store.invoicePayments.allWithin('payment_intent', intentId);
  return payment?.invoice ?? null;
}
