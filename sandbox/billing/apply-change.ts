import { cardError } from '../payments/payment-intent.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, Subscription } from '../wire/objects.ts';
import { type ErrorBody, WireError } from '../wire/wire-error.ts';
import { awaitAction, collectInvoice, invoicePaid, methodFor, noPaymentMethod } from './collect.ts';
import { draftSubscriptionInvoice, finalizeInvoice } from './invoice.ts';
import { addInvoiceItem } from './invoice-item.ts';
import { settlePaused } from './pause.ts';
import { holdUpdate } from './pending-update.ts';
import type { PlannedChange } from './planned-change.ts';
import { updateSubscription } from './subscription-change.ts';
import { periodOf } from './subscription-items.ts';

type PaymentBehavior =
  | 'allow_incomplete'
  | 'default_incomplete'
  | 'error_if_incomplete'
  | 'pending_if_incomplete';

interface ChangeOptions {
  readonly behavior: PaymentBehavior;
  readonly offSession: boolean;
  /** A planned change is not refused for want of a payment method: its payment fails. */
  readonly isPlanned?: boolean;
  /** The metadata in the request, which a pending update keeps. */
  readonly metadata?: Record<string, string> | null;
}

/**
 * Applies a planned change, together with other changes of the same request, and collects what it bills at once. If the
 * payment fails, `behavior` decides: the subscription becomes past due, the change is refused, or it waits for the
 * payment.
 */
export function applyChange(
  store: Store,
  before: Subscription,
  plan: PlannedChange,
  changes: Partial<Subscription>,
  options: ChangeOptions,
): Subscription {
  const items = plan.prorations.map((item) => addInvoiceItem(store, item));
  if (plan.bill === null) return updateSubscription(store, before, changes);
  const { pause_collection: pause } = plan.subscription;
  const isHeld = options.behavior === 'pending_if_incomplete' && pause === null;
  const draft = draftSubscriptionInvoice(store, plan.subscription, {
    reason: 'subscription_update',
    lines: plan.bill.lines,
    items: plan.bill.includesPending ? undefined : items,
    periodStart: periodOf(before).start,
    periodEnd: store.now(),
    autoAdvance:
      !isHeld && pause === null && options.behavior !== 'default_incomplete' && before.status !== 'unpaid',
  });
  if (isHeld) return makeOncePaid(store, before, draft, changes, options);
  const updated = updateSubscription(store, before, { ...changes, latest_invoice: draft.id });
  if (pause !== null) settlePaused(store, draft, pause.behavior);
  // The invoices of an unpaid subscription stay drafts.
  else if (before.status !== 'unpaid') settle(store, draft, options);
  return store.subscriptions.get(before.id) ?? updated;
}

/** Collects the invoice first. Unless it is paid, the change waits as a pending update. */
function makeOncePaid(
  store: Store,
  before: Subscription,
  draft: Invoice,
  changes: Partial<Subscription>,
  options: ChangeOptions,
): Subscription {
  collect(store, draft, options);
  const current = store.subscriptions.get(before.id) ?? before;
  if (store.invoices.get(draft.id)?.status !== 'paid')
    return holdUpdate(store, current, draft.id, changes, options.metadata ?? null);
  return updateSubscription(store, current, {
    ...changes,
    latest_invoice: draft.id,
    ...(current.status === 'past_due' || current.status === 'unpaid' ? { status: 'active' } : {}),
  });
}

function settle(store: Store, draft: Invoice, options: ChangeOptions): void {
  const { behavior } = options;
  if (behavior === 'default_incomplete' && draft.collection_method === 'charge_automatically') {
    const method = methodFor(store, draft);
    const invoice = finalizeInvoice(store, draft, { paymentMethod: method?.id ?? null });
    if (invoice.amount_due === 0) invoicePaid(store, invoice);
    else awaitAction(store, invoice);
    return;
  }
  const failure = collect(store, draft, options);
  const invoice = store.invoices.get(draft.id) ?? draft;
  if (invoice.status === 'paid' || invoice.collection_method === 'send_invoice') return;
  if (behavior === 'error_if_incomplete') {
    const { status, body } = cardError(failure ?? authenticationNeeded);
    throw new WireError(status, body, { remembered: true });
  }
  if (failure === null) awaitAction(store, invoice);
}

/** Finalizes the draft and attempts to collect it. The processor refuses the attempt without a payment method. */
function collect(
  store: Store,
  draft: Invoice,
  { offSession, isPlanned = false }: ChangeOptions,
): ErrorBody | null {
  const invoice = finalizeInvoice(store, draft);
  const isCharged = invoice.collection_method === 'charge_automatically';
  if (!isPlanned && isCharged && invoice.amount_due > 0 && methodFor(store, invoice) === undefined)
    throw new WireError(400, noPaymentMethod);
  return collectInvoice(store, invoice, { offSession });
}

const authenticationNeeded = {
  type: 'card_error' as const,
  code: 'subscription_payment_intent_requires_action',
  message: 'The customer must authenticate the payment before the subscription can be changed.',
};
