import { livingCustomer, updateCustomer } from '../payments/customer.ts';
import type { AttemptOptions } from '../payments/intent.ts';
import { attemptPayment } from '../payments/payment-intent.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, PaymentIntent, PaymentMethod, SetupIntent, Subscription } from '../wire/objects.ts';
import { type ErrorBody, WireError } from '../wire/wire-error.ts';
import { markInvoicePaid } from './invoice.ts';
import { decidesStatus, intentOf, subscriptionOf } from './invoice-payment.ts';
import { applyUpdate, isPendingInvoice } from './pending-update.ts';
import * as subscriptions from './subscription-change.ts';

/** Three retries over two weeks with growing delays: the processor's classic schedule. */
const dunningDelaysSeconds: readonly number[] = [3, 5, 7].map((days) => days * 86_400);

/** Attempts to collect the invoice. Returns the error of a failed attempt, or null. */
export function collectInvoice(
  store: Store,
  invoice: Invoice,
  options: AttemptOptions & {
    readonly method?: PaymentMethod | undefined;
    /** The caller requested the attempt. Such an attempt counts for the retry schedule only if it is the first one. */
    readonly isManual?: boolean;
  },
): ErrorBody | null {
  if (invoice.amount_due === 0) {
    invoicePaid(store, invoice);
    return null;
  }
  // The customer pays such an invoice, on its page.
  if (invoice.collection_method === 'send_invoice' && options.isManual !== true) {
    store.emit('invoice.sent', invoice);
    return null;
  }
  const intent = intentOf(store, invoice);
  const method = options.method ?? methodFor(store, invoice);
  if (intent === undefined || method === undefined) {
    paymentFailed(store, invoice, null);
    return noPaymentMethod;
  }
  const attempt = attemptPayment(store, intent, method, options);
  const counts = options.isManual !== true || !invoice.attempted;
  if (attempt.failure !== null && counts) paymentFailed(store, invoice, attempt.intent);
  else if (attempt.failure !== null) store.emit('invoice.payment_failed', invoice);
  else if (attempt.intent.status === 'requires_action')
    store.emit('invoice.payment_action_required', invoice);
  else invoicePaid(store, invoice, attempt.intent, counts);
  return attempt.failure;
}

export const noPaymentMethod: ErrorBody = {
  type: 'invalid_request_error',
  code: 'resource_missing',
  message: 'The customer has no default payment method to charge.',
};

/** The error of a payment without which nothing happens: its failure, or the need for an authentication. */
export function incomplete(failure: ErrorBody | null, purpose: string): WireError {
  const needed: ErrorBody = {
    type: 'card_error',
    code: 'subscription_payment_intent_requires_action',
    message: `The customer must authenticate the payment before the ${purpose}.`,
  };
  return new WireError(402, failure ?? needed, { remembered: true });
}

/**
 * Marks the invoice as paid, activates its subscription or applies its pending update, and saves the payment method if
 * requested. After the first attempt, only scheduled attempts count.
 */
export function invoicePaid(
  store: Store,
  before: Invoice,
  intent?: PaymentIntent,
  counts = before.attempt_count === 0,
): Invoice {
  const invoice = markInvoicePaid(store, {
    ...before,
    attempt_count: before.attempt_count + (intent !== undefined && counts ? 1 : 0),
  });
  updateCustomer(store, invoice.customer, { delinquent: false });
  const found = subscriptionOf(store, invoice);
  if (found === undefined) return invoice;
  const subscription = isPendingInvoice(found, invoice) ? applyUpdate(store, found) : found;
  const revives =
    decidesStatus(store, subscription, invoice) &&
    ['incomplete', 'past_due', 'unpaid'].includes(subscription.status);
  const saves =
    subscription.payment_settings?.save_default_payment_method === 'on_subscription' &&
    intent !== undefined &&
    intent.payment_method !== null &&
    subscription.ended_at === null;
  const saved = saves ? { default_payment_method: intent.payment_method } : {};
  if (subscriptions.isResumption(subscription, invoice))
    subscriptions.leavePaused(store, subscription, { status: 'active', ...saved });
  else {
    const settled = subscriptions.updateSubscription(store, subscription, {
      ...(revives && { status: 'active' }),
      ...saved,
    });
    subscriptions.resumeAfterFailure(store, settled, invoice);
  }
  return invoice;
}

/**
 * Records that the invoice of a change waits until the customer confirms or authenticates its payment. Until then the
 * subscription is past due.
 */
export function awaitAction(store: Store, before: Invoice): void {
  if (before.auto_advance) {
    store.update('invoice.updated', store.invoices, before, {
      attempt_count: before.attempt_count + 1,
      attempted: true,
      next_payment_attempt: store.now() + (dunningDelaysSeconds[0] ?? 0),
    });
  }
  const subscription = subscriptionOf(store, before);
  if (subscription?.status === 'active')
    subscriptions.updateSubscription(store, subscription, { status: 'past_due' });
}

/** Records a failed attempt. A first invoice waits for another card. A renewal follows the dunning schedule. */
function paymentFailed(store: Store, before: Invoice, intent: PaymentIntent | null): void {
  const attempts = before.attempt_count + 1;
  const subscription = subscriptionOf(store, before);
  const isRenewal = before.billing_reason !== 'subscription_create' || subscription?.status === 'active';
  const delaySeconds = isRenewal && before.auto_advance ? dunningDelaysSeconds[attempts - 1] : undefined;
  const invoice = store.update('invoice.updated', store.invoices, before, {
    attempt_count: attempts,
    attempted: true,
    next_payment_attempt: delaySeconds === undefined ? null : store.now() + delaySeconds,
    ...(isRenewal && delaySeconds === undefined ? { auto_advance: false } : {}),
  });
  store.emit('invoice.payment_failed', invoice);
  if (intent?.last_payment_error?.code === 'authentication_required')
    store.emit('invoice.payment_action_required', invoice);
  if (isRenewal) updateCustomer(store, invoice.customer, { delinquent: true });
  if (!isRenewal || invoice.billing_reason === 'manual') return;
  if (subscription === undefined || subscription.ended_at !== null) return;
  if (subscription.status === 'paused') {
    // A resumption that is retried waits for its payment. Otherwise, an attempt resumes the subscription.
    if (subscriptions.isResumption(subscription, invoice) && !before.auto_advance)
      subscriptions.leavePaused(store, subscription, { status: 'past_due' });
    return;
  }
  if (delaySeconds !== undefined) {
    const pauses = attempts === 1 && store.settings.firstFailure === 'pause';
    if (pauses && subscriptions.pauseAfterFailure(store, subscription, invoice, 'first_payment_failure'))
      return;
    if (subscription.status === 'active' || subscription.status === 'trialing')
      subscriptions.updateSubscription(store, subscription, { status: 'past_due' });
    return;
  }
  if (before.auto_advance) endDunning(store, subscription, invoice);
}

function endDunning(store: Store, subscription: Subscription, invoice: Invoice): void {
  const { afterDunning } = store.settings;
  if (afterDunning === 'unpaid') becomeUnpaid(store, subscription);
  else if (
    afterDunning === 'cancel' ||
    !subscriptions.pauseAfterFailure(store, subscription, invoice, 'final_payment_failure')
  )
    subscriptions.cancelSubscription(store, subscription, 'payment_failed');
}

/** Stops all automatic charges, including those of later invoices that are being retried or are still drafts. */
function becomeUnpaid(store: Store, subscription: Subscription): void {
  for (const invoice of store.invoices.allWithin('subscription', subscription.id)) {
    if (!invoice.auto_advance || (invoice.status !== 'draft' && invoice.status !== 'open')) continue;
    store.update('invoice.updated', store.invoices, invoice, {
      auto_advance: false,
      automatically_finalizes_at: null,
      next_payment_attempt: null,
    });
  }
  subscriptions.updateSubscription(store, subscription, { status: 'unpaid' });
}

/** The payment method to charge: the default of the invoice, of the subscription, or of the customer, in this order. */
export function methodFor(store: Store, invoice: Invoice): PaymentMethod | undefined {
  const subscription = subscriptionOf(store, invoice);
  const customer = livingCustomer(store, invoice.customer);
  const id =
    invoice.default_payment_method ??
    subscription?.default_payment_method ??
    customer?.invoice_settings.default_payment_method ??
    customer?.default_source;
  const method = store.paymentMethods.get(id);
  // A detached card can no longer be charged.
  return method?.customer === invoice.customer ? method : undefined;
}

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
    subscriptions.updateSubscription(store, subscription, {
      default_payment_method: intent.payment_method,
      pending_setup_intent: null,
    });
}
