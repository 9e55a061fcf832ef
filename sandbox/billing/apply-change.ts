import type { Store } from '../state/store.ts';
import type { Invoice, Price, Subscription, SubscriptionItem, TaxRate } from '../wire/objects.ts';
import { applyMetadata, type MetadataChange } from '../wire/params.ts';
import { badParam, type ErrorBody, missingParam, WireError } from '../wire/wire-error.ts';
import {
  awaitAction,
  collectInvoice,
  incomplete,
  invoicePaid,
  methodFor,
  noPaymentMethod,
} from './collect.ts';
import { draftSubscriptionInvoice, finalizeInvoice } from './invoice.ts';
import { addInvoiceItem } from './invoice-item.ts';
import { settlePaused } from './pause.ts';
import { holdUpdate } from './pending-update.ts';
import { type PlannedChange, restarted } from './planned-change.ts';
import { updateSubscription } from './subscription-change.ts';
import * as subscriptionItems from './subscription-items.ts';

interface ChangeOptions {
  readonly behavior: `${'allow' | 'error_if' | 'default' | 'pending_if'}_incomplete`;
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
    periodStart: subscriptionItems.periodOf(before).start,
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
  if (behavior === 'error_if_incomplete') throw incomplete(failure, 'subscription can be changed');
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

interface ItemChange {
  readonly id: string | undefined;
  readonly price: Price | undefined;
  readonly quantity: number | undefined;
  readonly metadata: MetadataChange | undefined;
  readonly deleted: boolean;
  readonly taxRates?: TaxRate[] | undefined;
  /** The name of a field of the change, for errors. */
  readonly param: (field: string) => string;
}

/**
 * The items after the changes, which apply together. A change with an id updates or removes that item. A change without
 * an id adds an item, whose first period is the rest of the current one.
 */
export function changedItems(
  store: Store,
  subscription: Subscription,
  changes: readonly ItemChange[],
): Subscription['items'] {
  let items = subscription.items.data;
  for (const change of changes) {
    if (change.id === undefined) {
      items = [...items, addedItem(store, subscription, change)];
      continue;
    }
    const existing = items.find(({ id }) => id === change.id);
    if (existing === undefined)
      throw badParam(`No such subscription item: '${change.id}'`, change.param('id'), 'resource_missing');
    items = items.flatMap((item) => {
      if (item !== existing) return [item];
      return change.deleted ? [] : [changedItem(store, subscription, item, change)];
    });
  }
  if (items.length === 0)
    throw badParam(
      'A subscription must have at least one active plan. To cancel a subscription, please use the cancel API endpoint on /v1/subscriptions.',
    );
  checkPricesDiffer(items);
  return { ...subscription.items, data: items };
}

function addedItem(store: Store, subscription: Subscription, change: ItemChange): SubscriptionItem {
  const { price, quantity, metadata, param, taxRates = [] } = change;
  if (price === undefined) throw missingParam(param('price'));
  const now = store.now();
  const { end } = subscriptionItems.cycleAt(price, subscription.billing_cycle_anchor, now);
  const fields = { quantity, metadata: applyMetadata({}, metadata), start: now, end, taxRates };
  return subscriptionItems.newItem(store, subscription.id, price, fields);
}

/** Another price resets the quantity. Another interval starts a period, except in a trial. */
function changedItem(
  store: Store,
  { status, billing_cycle_anchor: anchor }: Subscription,
  item: SubscriptionItem,
  { price = item.price, quantity, metadata, taxRates = item.tax_rates ?? [] }: ItemChange,
): SubscriptionItem {
  const changed = {
    ...subscriptionItems.withPrice(
      item,
      price,
      price.id === item.price.id ? (quantity ?? item.quantity) : quantity,
    ),
    metadata: applyMetadata(item.metadata, metadata),
    tax_rates: taxRates,
  };
  const moves =
    subscriptionItems.intervalOf(price) !== subscriptionItems.intervalOf(item.price) &&
    status !== 'trialing' &&
    status !== 'paused';
  return moves ? subscriptionItems.startItem(changed, anchor, store.now()) : changed;
}

function checkPricesDiffer(items: readonly SubscriptionItem[]): void {
  for (const [index, { price }] of items.entries()) {
    const other = items.slice(0, index).find((item) => item.price.id === price.id);
    if (other !== undefined)
      throw badParam(
        `A new item with Price ${price.id} can't be added to this Subscription because an existing Subscription Item ${other.id} is already using that Price. If you want to update the existing item (e.g., to adjust the quantity), pass the existing Subscription Item's \`id\` in your update request: https://stripe.com/docs/api/subscriptions/update#update_subscription-items-id`,
        'plan',
      );
  }
}

/** Starts a new period with these changes, billed immediately and in full. */
export function startPeriodNow(
  store: Store,
  before: Subscription,
  changes: Partial<Subscription>,
): Subscription {
  const moved = restarted(store, { ...before, ...changes }, changes.items ?? before.items);
  const { items, billing_cycle_anchor, cancel_at } = moved;
  return applyChange(
    store,
    before,
    {
      subscription: moved,
      prorations: [],
      bill: { lines: subscriptionItems.invoiceLines(store, moved), includesPending: true },
    },
    { ...changes, items, billing_cycle_anchor, cancel_at },
    { behavior: 'allow_incomplete', offSession: true, isPlanned: true },
  );
}
