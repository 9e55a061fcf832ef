import type { Stripe } from 'stripe';
import { type Attempt, notReached } from '../../port/attempt.ts';
import type {
  ChangeableSubscription,
  ChangeResult,
  ItemChange,
  ItemsChange,
  SubscriptionChangeCalls,
} from '../../port/subscription-changes.ts';
import { type InvoiceCharge, readCharge } from '../objects/invoice-charge.ts';
import { termExpansions } from '../objects/map-subscription.ts';
import { voidInvoice } from '../objects/void-invoice.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, missing } from '../wire/responses.ts';
import { mainMarkKey } from '../wire/wire-metadata.ts';
import { changeMarksKey, mapChangeable, readChangeable } from './changeable-subscription.ts';
import { releaseSchedule } from './planned-changes.ts';
import { restoreVoided } from './restore-voided.ts';
import { markWaitingItems } from './waiting-items.ts';

type Order = Parameters<SubscriptionChangeCalls['changeNow']>[0];

/** Changes plans or quantities now: see decisions 0016 and 0012. */
export async function changeNow(context: AdapterContext, order: Order): Promise<ChangeResult> {
  const { found, idempotencyKey, isRepeated, processorSubscriptionId } = order;
  if (mayBillNow(order)) await markWaitingItems(context, found, idempotencyKey);
  const attempt = await change(context, order);
  if (attempt.outcome !== 'done') throw notReached(attempt, 'subscription', 'unchanged');
  const changed = attempt.value;
  if (isWaiting(changed)) return settleWaitingChange(context, changed, idempotencyKey);
  if (!isApplied(order, changed)) throw notReached(attempt, 'subscription', 'unchanged');
  const isOld = isRepeated || attempt.isReplayed === true || changed.subscription.hasMoreItems === true;
  const { subscription } = isOld ? await readChangeable(context, processorSubscriptionId) : changed;
  return { facts: subscription, clientSecret: null, declined: null };
}

/**
 * Settles the charge of a change that waits for its payment. A declined change is dropped, and the subscription stays
 * as it was.
 */
export async function settleWaitingChange(
  context: AdapterContext,
  found: ChangeableSubscription,
  idempotencyKey: string,
): Promise<ChangeResult> {
  const settled = await settleCharge(context, found, idempotencyKey);
  const { subscription } = await readChangeable(context, found.subscription.processorSubscriptionId);
  return { facts: subscription, ...settled };
}

/**
 * The state of the payment of a waiting change. If it was declined, its invoice is voided, because a later payment of
 * that invoice would apply the change.
 */
export async function settleCharge(
  context: AdapterContext,
  { changeInvoiceId: invoiceId }: ChangeableSubscription,
  idempotencyKey: string,
): Promise<Omit<ChangeResult, 'facts'>> {
  const charge = invoiceId === null ? null : await readCharge(context, invoiceId);
  if (invoiceId === null || charge === null) return { clientSecret: null, declined: null };
  const { declined, clientSecret } = charge;
  const isDropped =
    declined !== null && (await isVoided(context, invoiceId, charge, `${idempotencyKey}-void`));
  return isDropped ? { clientSecret: null, declined } : { clientSecret, declined: null };
}

/**
 * The parameters of a change and of its preview, so that both cost the same. What is billed follows from them:
 * `invoice` bills the proration now, a new period bills it with the whole period now, `nextInvoice` leaves it to the
 * next invoice, and `none` bills nothing.
 */
export function changeParams({ items, proration, prorationDate, startsPeriod }: ItemsChange) {
  return {
    ...(items.length === 0 ? {} : { items: items.map(itemParams) }),
    proration_behavior: prorationBehaviors[proration],
    ...(prorationDate === undefined ? {} : { proration_date: prorationDate.getTime() / 1_000 }),
    ...(startsPeriod ? { billing_cycle_anchor: { type: 'now' as const } } : {}),
  };
}

function itemParams(change: ItemChange) {
  if ('isRemoved' in change) return { id: change.processorItemId, deleted: true };
  const { processorItemId: id, processorPriceId: price, quantity } = change;
  return { ...(id === null ? {} : { id }), ...(price === undefined ? {} : { price }), quantity };
}

const prorationBehaviors = {
  nextInvoice: 'create_prorations',
  invoice: 'always_invoice',
  none: 'none',
} as const satisfies Record<ItemsChange['proration'], Stripe.SubscriptionUpdateParams.ProrationBehavior>;

function change(
  { stripe, call }: AdapterContext,
  { processorSubscriptionId, changeMarks, idempotencyKey, ...order }: Order,
): Promise<Attempt<ChangeableSubscription>> {
  return call.write('subscriptions.update', {
    idempotencyKey,
    send: (options) =>
      stripe.subscriptions.update(
        processorSubscriptionId,
        // If the charge is not paid at once, the change must not apply: it then waits as a pending update.
        {
          ...changeParams({ processorSubscriptionId, ...order }),
          payment_behavior: 'pending_if_incomplete',
          metadata: {
            [changeMarksKey]: changeMarks.join(' '),
            ...(order.mainMark === undefined ? {} : { [mainMarkKey]: order.mainMark }),
          },
          expand: [...termExpansions],
        },
        options,
      ),
    take: (response, asOf) => done(mapChangeable(response, asOf), response),
    refused: missing,
  });
}

/**
 * Whether the processor may bill now and therefore also take the waiting items. It also bills now if a free
 * subscription becomes a paid one. If no item shows a price above zero and one item shows no price, that is unknown.
 */
function mayBillNow({ found: { items }, proration, startsPeriod }: Order): boolean {
  const isUnknown =
    items.some(({ unitAmount }) => unitAmount === null) &&
    items.every(({ unitAmount }) => unitAmount === null || unitAmount === 0);
  return proration === 'invoice' || startsPeriod || isUnknown;
}

function isWaiting({ subscription: { pendingChange } }: ChangeableSubscription): boolean {
  return pendingChange?.at === null;
}

/** Compares only the requested values, because a change outside Till may have changed the others. */
function isApplied({ items: changes }: Order, { items, subscription }: ChangeableSubscription): boolean {
  // The response shows only the first items, so the others are read later.
  if (subscription.hasMoreItems === true) return true;
  return changes.every((change) => {
    const { processorItemId: id } = change;
    const sameId = items.filter(({ processorItemId }) => id === null || processorItemId === id);
    if ('isRemoved' in change) return sameId.length === 0;
    const { processorPriceId: price, quantity } = change;
    return sameId.some(
      (item) => (price === undefined || item.processorPriceId === price) && item.quantity === quantity,
    );
  });
}

/** Voids the invoice, unless it was paid meanwhile or an earlier call already voided it. */
async function isVoided(
  context: AdapterContext,
  invoiceId: string,
  { status }: InvoiceCharge,
  idempotencyKey: string,
): Promise<boolean> {
  if (status === 'open' || status === 'uncollectible')
    return (await voidChangeInvoice(context, invoiceId, idempotencyKey)) === 'void';
  await restoreVoided(context, invoiceId);
  return true;
}

/**
 * Drops the change that waits for its payment, and releases the schedule. If another process died after it had voided
 * the invoice of a change, this restores what the invoice has taken. True if any of this was necessary. Then the
 * subscription that the caller has read is stale, and the dropped change may even have been paid and applied meanwhile.
 * The calls have their own processor keys, so that a repeated request repeats them.
 */
export async function dropPendingChange(
  context: AdapterContext,
  found: ChangeableSubscription,
  idempotencyKey: string,
  which: 'unpaid' | 'all' = 'all',
): Promise<boolean> {
  const { changeInvoiceId, unrestoredInvoiceId, processorPlanningId } = found;
  const isPlanned = which === 'all' && processorPlanningId !== null;
  if (changeInvoiceId !== null) await voidChangeInvoice(context, changeInvoiceId, `${idempotencyKey}-drop`);
  else if (unrestoredInvoiceId !== null) await restoreVoided(context, unrestoredInvoiceId);
  if (isPlanned) await releaseSchedule(context, found, idempotencyKey);
  return changeInvoiceId !== null || unrestoredInvoiceId !== null || isPlanned;
}

/**
 * Voids the invoice of a change, and restores what it has taken. If the invoice was paid meanwhile, the change has been
 * applied.
 */
async function voidChangeInvoice(
  context: AdapterContext,
  processorInvoiceId: string,
  idempotencyKey: string,
): Promise<'void' | 'paid'> {
  const ended = await voidInvoice(context, processorInvoiceId, idempotencyKey);
  if (ended === 'void') await restoreVoided(context, processorInvoiceId);
  return ended;
}
