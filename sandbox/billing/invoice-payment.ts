import { cancelPaymentIntent, createPaymentIntent } from '../payments/payment-intent.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, InvoicePayment, PaymentIntent, Subscription } from '../wire/objects.ts';

/** The subscription that the invoice bills. A one-off invoice has none. */
export function subscriptionOf(store: Store, invoice: Invoice): Subscription | undefined {
  const id = invoice.parent?.subscription_details.subscription;
  return store.subscriptions.get(id);
}

/**
 * Whether the payment of the invoice decides the status of its subscription. The latest invoice does, or the one before
 * if the latest is void or only pays for a pending update. A change can be paid while the renewal of its period is
 * still a draft. If the renewal is declined later, it decides.
 */
export function decidesStatus(store: Store, subscription: Subscription, invoice: Invoice): boolean {
  if (subscription.latest_invoice === invoice.id) return subscription.pending_update === null;
  const latest = store.invoices.get(subscription.latest_invoice);
  const isSettled = latest?.status === 'void' || latest?.status === 'paid';
  if (!isSettled && subscription.pending_update === null) return false;
  const isNewer = (other: Invoice) =>
    other.id !== subscription.latest_invoice &&
    other.created > invoice.created &&
    other.billing_reason !== 'manual' &&
    other.status !== 'draft' &&
    other.status !== 'paid' &&
    other.status !== 'void';
  return !store.invoices.allWithin('subscription', subscription.id).some(isNewer);
}

/** The payment intent of the invoice. An invoice with amount zero has none. */
export function intentOf(store: Store, invoice: Invoice): PaymentIntent | undefined {
  const payment = paymentOf(store, invoice);
  return store.paymentIntents.get(payment?.payment.payment_intent);
}

export function paymentOf(store: Store, invoice: Invoice): InvoicePayment | undefined {
  return store.invoicePayments.allWithin('invoice', invoice.id)[0];
}

/** The payment intent for a new invoice. */
export function newPayment(store: Store, invoice: Invoice, paymentMethod: string | null): PaymentIntent {
  const subscription = subscriptionOf(store, invoice);
  const saves = subscription?.payment_settings?.save_default_payment_method === 'on_subscription';
  return createPaymentIntent(store, {
    amount: invoice.amount_due,
    currency: invoice.currency,
    customer: invoice.customer,
    payment_method: paymentMethod,
    capture_method: 'automatic',
    description: purposeOf(invoice),
    setup_future_usage: saves ? 'off_session' : null,
  });
}

export function makePayment(store: Store, invoice: Invoice, intent: PaymentIntent): void {
  store.put(store.invoicePayments, {
    ...store.blank(store.invoicePayments, 'invoice_payment'),
    amount_paid: null,
    amount_requested: invoice.amount_due,
    currency: invoice.currency,
    invoice: invoice.id,
    is_default: true,
    payment: { type: 'payment_intent', payment_intent: intent.id },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  });
}

export function dropPayment(store: Store, invoice: Invoice): void {
  const payment = paymentOf(store, invoice);
  const intent = intentOf(store, invoice);
  if (payment === undefined || intent === undefined) return;
  if (intent.status !== 'canceled') cancelPaymentIntent(store, intent, 'void_invoice');
  store.change(store.invoicePayments, payment, {
    status: 'canceled',
    status_transitions: { ...payment.status_transitions, canceled_at: store.now() },
  });
}

function purposeOf(invoice: Invoice): string {
  if (invoice.parent === null) return 'Payment for Invoice';
  return invoice.billing_reason === 'subscription_create' ? 'Subscription creation' : 'Subscription update';
}
