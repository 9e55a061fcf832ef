import { randomUUID } from 'node:crypto';
import type { FoundClaim, OperationWrite } from '../../idempotency/operation.ts';
import { correct } from '../../mirrors/refresh.ts';
import type { Subscription } from '../../model/subscription.ts';
import type {
  ChangeableSubscription,
  InvoiceCharge,
} from '../../processor/port/subscription-change-calls.ts';
import { notReached } from '../../processor/refused-write.ts';
import type { SubscriptionParts } from '../subscription-creation.ts';
import { hasChangeMark, withChangeMark } from './change-marks.ts';
import { type ChangePlans, itemChange, readChangeable, type Target, targetOf } from './change-terms.ts';
import { dropPendingChange, voidChangeInvoice } from './drop-pending-change.ts';
import { refuseChange } from './refuse-change.ts';
import type { MadeChange } from './subscription-change.ts';
import type { ChangeNow } from './subscription-patch.ts';
import { markWaitingItems, restoreOfVoidedChanges, restoreWaitingItems } from './waiting-items.ts';

/**
 * Changes plan or quantity now. Every step depends on what the processor shows, so that a repeated request goes on where
 * the first one stopped: see decision 0026.
 */
export async function changeNow(
  parts: SubscriptionParts,
  change: ChangeNow,
  plans: ChangePlans,
  before: ChangeableSubscription,
  write: OperationWrite,
): Promise<MadeChange> {
  const { processor } = parts;
  const { subscription } = plans;
  // An earlier call of the same request may have made the change, or made it wait. Its claim may be lost.
  if (hasChangeMark(before.pendingUpdate?.changeMarks ?? [], write))
    return settleCharge(parts, plans, before, write);
  if (hasChangeMark(before.changeMarks, write))
    return { facts: before.subscription, subscription, clientSecret: null };
  const waiting = targetOf(before, change, plans);
  await refuseChange(processor, before, change, waiting);
  // A change that the processor will refuse drops nothing.
  const isDropped = isWithinPeriod(before, change) && (await dropPendingChange(processor, before, write));
  // The change that waited may have been paid meanwhile, and so be made.
  const found = isDropped ? await readChangeable(processor, subscription) : before;
  const target = targetOf(found, change, plans);
  if (target.isPresent) return { facts: found.subscription, subscription, clientSecret: null };
  if (mayBill(change, target)) await markWaitingItems(processor, found, write);
  const changeMarks = withChangeMark(found.changeMarks, write);
  const { changed, isReplayed } = await makeChange(parts, { change, target, changeMarks }, plans, write);
  if (changed.pendingUpdate !== null) return settleCharge(parts, plans, changed, write);
  const isOld = write.isRepeated || isReplayed;
  const { subscription: facts } = isOld ? await readChangeable(processor, subscription) : changed;
  return { facts, subscription, clientSecret: null };
}

/**
 * A change of this subscription was abandoned, perhaps between its declined charge and the end of its pending update.
 * Paying that invoice later would make the change, so it is voided. What earlier changes left to bill must not be lost
 * with it, nor with an invoice that the change itself has voided. Null unless the subscription has the mark of the change.
 */
export async function endAbandonedChange(
  parts: SubscriptionParts,
  subscription: Subscription,
  { resourceId, mark }: FoundClaim,
): Promise<MadeChange | null> {
  await dropDeclinedChange(parts, subscription);
  await restoreOfVoidedChanges(parts.processor, subscription.processorSubscriptionId);
  const found = await readChangeable(parts.processor, subscription);
  const isMade = hasChangeMark(found.changeMarks, { id: resourceId, mark });
  return isMade ? { facts: found.subscription, subscription, clientSecret: null } : null;
}

async function dropDeclinedChange(
  { processor, mirror }: SubscriptionParts,
  { processorSubscriptionId }: Subscription,
): Promise<void> {
  const { subscriptionChanges } = processor;
  const found = await subscriptionChanges.read(processorSubscriptionId);
  const invoiceId = found?.pendingUpdate?.processorInvoiceId ?? null;
  if (invoiceId === null) return;
  const charge = await subscriptionChanges.readCharge(invoiceId);
  if (charge === null || charge.decline === null || !isVoidable(charge)) return;
  await voidChangeInvoice(processor, invoiceId, randomUUID());
  await correct(mirror, processorSubscriptionId);
}

interface MarkedChange {
  readonly change: ChangeNow;
  readonly target: Target;
  readonly changeMarks: readonly string[];
}

async function makeChange(
  { processor, mirror, plans }: SubscriptionParts,
  { change, target, changeMarks }: MarkedChange,
  { subscription }: ChangePlans,
  { idempotencyKey }: OperationWrite,
): Promise<{ readonly changed: ChangeableSubscription; readonly isReplayed: boolean }> {
  const { planId, quantity } = change;
  const attempt = await processor.subscriptionChanges
    .change({ ...itemChange(change, target, subscription), changeMarks, idempotencyKey })
    .catch(async (error: unknown) => {
      throw planId === undefined ? error : await plans.explainRefusal(error, planId);
    });
  if (attempt.outcome !== 'done') {
    await correct(mirror, subscription.processorSubscriptionId);
    throw notReached(attempt, 'subscription', 'unchanged');
  }
  const { pendingUpdate, items } = attempt.value;
  // A change outside Till may have changed what this one leaves as it is.
  const isMade = items.some(
    (item) =>
      item.processorItemId === target.item.processorItemId &&
      (planId === undefined || item.processorPriceId === target.processorPriceId) &&
      (quantity === undefined || item.quantity === quantity),
  );
  if (pendingUpdate === null && !isMade) throw notReached(attempt, 'subscription', 'unchanged');
  return { changed: attempt.value, isReplayed: attempt.isReplayed === true };
}

/** What became of the charge of a change that waits: a declined one is dropped, and the subscription stays as it was. */
async function settleCharge(
  { processor }: SubscriptionParts,
  { subscription }: ChangePlans,
  { pendingUpdate }: ChangeableSubscription,
  { idempotencyKey }: OperationWrite,
): Promise<MadeChange> {
  const invoiceId = pendingUpdate?.processorInvoiceId ?? null;
  const charge = invoiceId === null ? null : await processor.subscriptionChanges.readCharge(invoiceId);
  const decline = charge?.decline ?? null;
  const isVoid =
    charge !== null &&
    decline !== null &&
    invoiceId !== null &&
    (await isVoided(processor, { invoiceId, charge }, `${idempotencyKey}-void`));
  const { subscription: facts } = await readChangeable(processor, subscription);
  if (decline === null || !isVoid) return { facts, subscription, clientSecret: charge?.clientSecret ?? null };
  const { message, declineCode } = decline;
  const failure = { code: 'payment_declined', detail: message, declineCode } as const;
  return { facts, subscription, clientSecret: null, failure };
}

/** Voids an invoice that is not, unless it was paid meanwhile. An earlier call may have voided it. */
async function isVoided(
  processor: SubscriptionParts['processor'],
  { invoiceId, charge }: { readonly invoiceId: string; readonly charge: InvoiceCharge },
  idempotencyKey: string,
): Promise<boolean> {
  if (isVoidable(charge)) return (await voidChangeInvoice(processor, invoiceId, idempotencyKey)) === 'void';
  await restoreWaitingItems(processor, invoiceId);
  return true;
}

/** Whether the processor may bill the change now. If it does not show what the item costs, that is not certain. */
function mayBill({ proration }: ChangeNow, { startsPeriod, item }: Target): boolean {
  return proration === 'invoice' || startsPeriod || item.unitAmount === null;
}

function isWithinPeriod({ subscription }: ChangeableSubscription, { prorationDate }: ChangeNow): boolean {
  const { currentPeriodStart, currentPeriodEnd } = subscription.items[0];
  const date = prorationDate === undefined ? currentPeriodStart : new Date(prorationDate);
  return date >= currentPeriodStart && date <= currentPeriodEnd;
}

function isVoidable({ status }: InvoiceCharge): boolean {
  return status === 'open' || status === 'uncollectible';
}
