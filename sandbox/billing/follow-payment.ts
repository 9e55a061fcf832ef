import type { Store } from '../state/store.ts';
import type { PaymentIntent, SetupIntent } from '../wire/objects.ts';
import { invoicePaid, paymentFailed } from './collect.ts';
import { updateSubscription } from './subscription-change.ts';

/** Updates the invoice that a confirmed payment intent pays, if there is one. */
export function followPaymentIntent(store: Store, intent: PaymentIntent): void {
  const [payment] = store.invoicePayments.allWithin('payment_intent', intent.id);
  const invoice = store.invoices.get(payment?.invoice);
  if (invoice === undefined || invoice.status === 'paid' || invoice.status === 'void') return;
  if (intent.status === 'succeeded') invoicePaid(store, invoice, intent);
  else if (intent.status === 'requires_action') store.emit('invoice.payment_action_required', invoice);
  else if (intent.status === 'requires_payment_method' && intent.last_payment_error !== null) {
    // A manual attempt does not count as one of the scheduled retries.
    if (invoice.billing_reason === 'subscription_create') paymentFailed(store, invoice, intent);
    else store.emit('invoice.payment_failed', invoice);
  }
}

/** Gives a saved card to the subscriptions that wait for it, such as trials. */
export function followSetupIntent(store: Store, intent: SetupIntent): void {
  if (intent.status !== 'succeeded' || intent.payment_method === null) return;
  for (const subscription of store.subscriptions.allWithin('pending_setup_intent', intent.id))
    updateSubscription(store, subscription, {
      default_payment_method: intent.payment_method,
      pending_setup_intent: null,
    });
}
