import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isGrouped } from '#core/model/plan.ts';
import { hasEnded, type Subscription } from '#core/model/subscription.ts';
import { parentOf } from '#engine/idempotency/claim.ts';
import type { CheckedOperation, FoundClaim } from '#engine/idempotency/operation.ts';
import { applyInTransaction, applyResponse, correct } from '#engine/mirrors/refresh.ts';
import { waitForAddOnChange } from '../add-ons.ts';
import { correctHolder, type Joining, reserveGroup } from '../reserve-group.ts';
import type { SubscriptionContext } from '../subscription-creation.ts';
import { type ChangePlans, plansOfChange } from './change-terms.ts';
import { type ChangeEffect, hasChangeMark, makeChange, type PreparedChange } from './make-change.ts';
import type { SubscriptionPatch, WantedTerms } from './subscription-patch.ts';

interface SubscriptionUpdateRequest {
  readonly subscriptionId: string;
  readonly change: SubscriptionPatch;
}

export interface ChangedSubscription {
  readonly subscription: Subscription;
  /**
   * Confirms the payment of the change. Passed on to the caller and never stored. Null if there is nothing to confirm.
   */
  readonly clientSecret: string | null;
}

export type SubscriptionUpdate = CheckedOperation<
  SubscriptionUpdateRequest,
  PreparedChange,
  ChangeEffect,
  ChangedSubscription
>;

/** The steps of changing a subscription. The call is in make-change.ts. */
export function subscriptionUpdate(context: SubscriptionContext): SubscriptionUpdate {
  const { database, store, groups, mirror, processor, turns } = context;
  return {
    name: 'subscriptions.update',
    isChange: true,
    parentIdOf: ({ subscriptionId }) => subscriptionId,
    inTurn: (claim, work) => turns.runClaim(claim, work),
    prepare: (request, id, admission) => prepareChange(context, request, { claimId: id, admission }),
    call: (_request, prepared, write) => makeChange(context, prepared, write),
    record: async (tx, id, { facts, subscription, clientSecret, failure }) => {
      const { needsRefresh } = await applyInTransaction(tx, mirror, facts, subscription);
      // The group stays reserved until the row shows the new plan.
      if (!needsRefresh || failure !== undefined) await groups.endReservation(tx, id);
      return {
        result: { subscription: await store.read(tx, subscription.id), clientSecret },
        needsRefresh,
        ...(failure === undefined ? {} : { failure }),
      };
    },
    refresh: async ({ subscription, clientSecret }, claimId) => {
      await correct(mirror, subscription.processorSubscriptionId);
      await groups.endReservation(database, claimId);
      return { subscription: await store.read(database, subscription.id), clientSecret };
    },
    find: (claim) => findChange(context, claim),
    finishReservation: (claimId) => correctHolder(context, claimId),
    release: (tx, { resourceId }) => groups.endReservation(tx, resourceId),
    /**
     * The first request may have died before it refreshed a row that had changed meanwhile. If the change is still
     * pending, its client secret is read again.
     */
    replay: async (id, claim) => {
      const subscription = await store.read(database, parentOf(claim));
      const current = await processor.subscriptionChanges.read(subscription.processorSubscriptionId);
      await applyResponse(database, mirror, current.subscription, subscription);
      await groups.endReservation(database, id);
      const { changeInvoiceId } = current;
      const clientSecret =
        changeInvoiceId === null ? null : await processor.invoices.readClientSecret(changeInvoiceId);
      return { subscription: await store.read(database, subscription.id), clientSecret };
    },
  };
}

/** Reads the row and the plans of a change. Reserves the group of a new plan before the processor is called. */
async function prepareChange(
  context: SubscriptionContext,
  { subscriptionId, change }: SubscriptionUpdateRequest,
  claim: Pick<Joining, 'claimId' | 'admission'>,
): Promise<PreparedChange> {
  const subscription = await context.store.read(context.database, subscriptionId);
  if (change.kind === 'now' || change.kind === 'periodEnd')
    return {
      kind: 'terms',
      subscription,
      change,
      plans: await reservePlans(context, subscription, change, claim),
    };
  if (change.metadata !== undefined)
    await context.customers.refuseMetadataChange(subscription, change.metadata);
  return change.kind === 'settings'
    ? { kind: 'settings', subscription, change }
    : { kind: 'metadata', subscription, change };
}

async function reservePlans(
  context: SubscriptionContext,
  subscription: Subscription,
  change: WantedTerms,
  claim: Pick<Joining, 'claimId' | 'admission'>,
): Promise<ChangePlans> {
  const plans = await plansOfChange(context.plans, subscription, change);
  const { customerId, id: subscriptionId, planId } = subscription;
  const { wanted } = plans;
  waitForAddOnChange([...(wanted === null ? [] : [wanted]), ...(plans.addOns ?? []).map(({ plan }) => plan)]);
  if (wanted !== null && wanted.id !== planId && isGrouped(wanted))
    await context.database.transaction((tx) =>
      reserveGroup(tx, context, { customerId, planId: wanted.id, subscriptionId, ...claim }),
    );
  return plans;
}

/**
 * A change of plan or quantity that took effect is found by its mark. Repeating any other change has the same effect.
 * A declined change must not stay pending, even if the request is not repeated.
 */
async function findChange(
  { database, store, mirror, processor }: SubscriptionContext,
  claim: FoundClaim,
): Promise<ChangeEffect | null> {
  const subscription = await store.read(database, parentOf(claim));
  if (hasEnded(subscription.status)) return null;
  const { processorSubscriptionId } = subscription;
  const order = { processorSubscriptionId, idempotencyKey: randomUUID() };
  const found = await processor.subscriptionChanges.settleAbandonedChange(order);
  const { subscription: facts, changeMarks } = found;
  if (hasChangeMark(changeMarks, { id: claim.resourceId, mark: claim.mark }))
    return { facts, subscription, clientSecret: null };
  await applyResponse(database, mirror, facts, subscription);
  return null;
}

/**
 * Whether the subscription waits for the payment of this change. When a request is repeated, it may wait for another
 * one.
 */
export function isWaiting(
  change: SubscriptionPatch,
  {
    planId,
    quantity,
    addOns,
    pendingChange,
  }: Pick<Subscription, 'planId' | 'quantity' | 'addOns' | 'pendingChange'>,
): boolean {
  if (change.kind !== 'now' || pendingChange === null || pendingChange.at !== null) return false;
  const wanted = { planId, quantity, addOns, ...change };
  // An add-on that becomes the main plan is no longer an add-on.
  const others = wanted.addOns.filter((addOn) => addOn.planId !== wanted.planId);
  return (
    pendingChange.planId === wanted.planId &&
    pendingChange.quantity === wanted.quantity &&
    isDeepStrictEqual(pendingChange.addOns, others)
  );
}
