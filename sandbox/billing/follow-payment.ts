import type { Store } from '../state/store.ts';
import type { PaymentIntent, SetupIntent } from '../wire/objects.ts';
import { invoicePaid, paymentFailed } from './collect.ts';
import { updateSubscription } from './subscription-change.ts';

/** Somebody confirmed a payment intent: if it is the one behind an invoice, the invoice follows. */
export function followPaymentIntent(store: Store, intent: PaymentIntent): void {
  const [payment] = store.invoicePayments.allWithin('payment_intent', intent.id);
  const invoice = payment === undefined ? undefined : store.invoices.get(payment.invoice);
  if (invoice === undefined || invoice.status === 'paid' || invoice.status === 'void') return;
  if (intent.status === 'succeeded') invoicePaid(store, invoice, intent);
  else if (intent.status === 'requires_action') store.emit('invoice.payment_action_required', invoice);
  else if (intent.status === 'requires_payment_method' && intent.last_payment_error !== null) {
    // A person's attempt does not use up one of the dunning schedule's.
    if (invoice.billing_reason === 'subscription_create') paymentFailed(store, invoice, intent);
    else store.emit('invoice.payment_failed', invoice);
  }
}

/** A card was saved: a trial that waited for one takes it. */
export function followSetupIntent(store: Store, intent: SetupIntent): void {
  if (intent.status !== 'succeeded' || intent.payment_method === null) return;
  for (const subscription of store.subscriptions.allWithin('pending_setup_intent', intent.id))
    updateSubscription(store, subscription, {
      default_payment_method: intent.payment_method,
      pending_setup_intent: null,
    });
}
