import { Failure } from '#core/errors.ts';
import { groupOf, type Plan, soldGroupOf } from '#core/model/plan.ts';
import type { Subscription } from '#core/model/subscription.ts';
import type { Database, Transaction } from '#core/platform/postgres.ts';
import { type Admission, RecoverFirst, ReservationHeld } from '#engine/idempotency/operation.ts';
import { correct } from '#engine/mirrors/refresh.ts';
import type { PlanService } from '../plans/plan-service.ts';
import type { SubscriptionMirror } from './subscription-mirror.ts';
import type { GroupReservationStore, SubscriptionStore } from './subscription-store.ts';

export interface Grouping {
  readonly groups: GroupReservationStore;
  readonly store: SubscriptionStore;
  readonly plans: Pick<PlanService, 'findAll'>;
  readonly lostCommits: LostCommits;
}

/** What a failover or a restore lost, while recovery has not passed. */
export interface LostCommits {
  /** Whether the open checkouts and live subscriptions of the customer were recovered in this history. */
  areRecovered(customerId: string, history: number): boolean;
  recoverOf(customerId: string, history: number): Promise<void>;
}

interface HolderParts extends Pick<Grouping, 'groups' | 'store'> {
  readonly plans: Pick<PlanService, 'findAll' | 'finishAddOnChange'>;
  readonly database: Database;
  readonly mirror: SubscriptionMirror;
  readonly openCheckouts: OpenCheckouts;
}

/** The open checkouts, which hold the groups of their plans. */
export interface OpenCheckouts {
  /** Expires the checkout with this id, if it exists and is open. Fails if the processor refuses. */
  expireIfOpen(checkoutId: string): Promise<void>;
}

/** A subscription that is about to have a plan. */
export interface Joining {
  readonly customerId: string;
  readonly planId: string;
  /** Checkouts sell a plan without a group once. Other requests may subscribe to it again. */
  readonly isSold?: true;
  /** This subscription itself does not count. */
  readonly subscriptionId: string;
  readonly claimId: string;
  readonly admission: Admission;
  /** Whether this request can use the subscription or checkout for which the group is held. */
  readonly shares?: (holderId: string) => Promise<boolean>;
  /** The caller ends incomplete subscriptions itself. */
  readonly replacesIncomplete?: true;
}

/** What the check needs. */
export type Joined = Pick<Joining, 'customerId' | 'planId' | 'isSold' | 'subscriptionId'>;

/**
 * Reserves the group of a plan for a claim, until the claim is recorded or released. Fails if the customer has a live
 * subscription to a plan that is in this group now. The reservation comes before the check: if it waited for another
 * claim, the check sees the subscription that the other claim recorded. A claim that was admitted before is not checked
 * again, because its plan may have joined a taken group since. If commits may be lost, the processor is asked first,
 * and every claim is checked. Returns the claim or the open checkout that holds the group. Null if there is no group.
 */
export async function reserveGroup(
  tx: Transaction,
  context: Grouping,
  joining: Joining,
): Promise<string | null> {
  const { groups } = context;
  const { customerId, subscriptionId, claimId, admission } = joining;
  const groupName = await groupToJoin(tx, context, joining);
  if (groupName === null) return null;
  const held = admission === 'new' ? [] : await groups.listGroups(tx, claimId);
  const own = held.find((one) => one.groupName === groupName);
  if (own?.newHistory === null) return claimId;
  const reservation = { customerId, groupName, subscriptionId, claimId };
  const { claimId: holder, newHistory } = await groups.reserve(tx, reservation);
  requireRecovered(context, customerId, newHistory);
  // The plan was moved to another group after the claim was admitted.
  if (own === undefined && held.length > 0) return claimId;
  if (admission === 'again' && newHistory === null) return holder;
  const others = await listLive(tx, context, joining, groupName);
  const live = others.find(({ status }) => !(joining.replacesIncomplete && status === 'incomplete'));
  if (live !== undefined) throw alreadySubscribed(live.id);
  if (holder !== claimId && !(await joining.shares?.(holder))) throw groupHeld(holder);
  return holder;
}

/** Throws `RecoverFirst` if commits may be lost, which the `newHistory` of a reservation shows. */
export function requireRecovered(
  { lostCommits }: Pick<Grouping, 'lostCommits'>,
  customerId: string,
  newHistory: number | null,
): void {
  if (newHistory === null || lostCommits.areRecovered(customerId, newHistory)) return;
  throw new RecoverFirst(() => lostCommits.recoverOf(customerId, newHistory));
}

/**
 * Reserves the group of its plan for an open checkout. Usually the request that created the checkout has done so.
 * Otherwise the group may be taken: then the result is false, and the checkout holds nothing.
 */
export async function holdGroup(
  tx: Transaction,
  context: Omit<Grouping, 'lostCommits'>,
  plan: Plan,
  joining: Pick<Joining, 'customerId' | 'subscriptionId' | 'claimId'>,
): Promise<boolean> {
  const { groups } = context;
  const { customerId, subscriptionId, claimId } = joining;
  const groupName = soldGroupOf(plan);
  if (groupName === null) return true;
  const reserved = await groups.reserve(tx, { customerId, groupName, subscriptionId, claimId });
  if (reserved.claimId !== claimId) return false;
  if (!reserved.isNew || (await listLive(tx, context, joining, groupName)).length === 0) return true;
  await groups.endReservation(tx, claimId);
  return false;
}

/** Thrown if another claim, or an open checkout, holds the group. */
export function groupHeld(holderId: string): ReservationHeld {
  return new ReservationHeld(holderId, 'resume if same', alreadySubscribed(null));
}

/** The other live subscriptions of the customer to plans of the group that this plan is in. */
export async function listLiveOfGroup(
  tx: Transaction,
  context: Pick<Grouping, 'store' | 'plans'>,
  joining: Joined,
): Promise<readonly Subscription[]> {
  const groupName = await groupToJoin(tx, context, joining);
  return groupName === null ? [] : listLive(tx, context, joining, groupName);
}

/** The group that counts for this request. Null if there is none. */
async function groupToJoin(
  tx: Transaction,
  { plans }: Pick<Grouping, 'plans'>,
  { planId, isSold }: Pick<Joining, 'planId' | 'isSold'>,
): Promise<string | null> {
  const [plan] = await plans.findAll(tx, [planId]);
  if (plan === undefined) return null;
  return isSold ? soldGroupOf(plan) : groupOf(plan);
}

/**
 * Frees a group or a plan that a claim still holds although it has ended: corrects the plan, expires the open checkout,
 * or corrects the row of the subscription.
 */
export async function correctHolder(context: HolderParts, claimId: string): Promise<void> {
  await context.plans.finishAddOnChange(claimId);
  await context.openCheckouts.expireIfOpen(claimId);
  await correctReserved(context, claimId);
}

/**
 * Corrects the row of the subscription for which a claim reserved a group. The claim was recorded while the row
 * changed, so the row may not show the new plan yet.
 */
export async function correctReserved(
  { database, groups, store, mirror }: Omit<HolderParts, 'openCheckouts' | 'plans'>,
  claimId: string,
): Promise<void> {
  const subscriptionId = await groups.findSubscription(database, claimId);
  const [row] = subscriptionId === undefined ? [] : await store.find(database, [subscriptionId]);
  if (row !== undefined) await correct(mirror, row.processorSubscriptionId);
}

/**
 * Fails if the customer has another live subscription to a plan of the group that this plan is in. Reserves nothing.
 */
export async function refuseTakenGroup(
  tx: Transaction,
  context: Pick<Grouping, 'store' | 'plans'>,
  joining: Joined,
): Promise<void> {
  const [live] = await listLiveOfGroup(tx, context, joining);
  if (live !== undefined) throw alreadySubscribed(live.id);
}

/**
 * The other live subscriptions of the customer to plans of the group, or with a pending change to one, oldest first.
 */
async function listLive(
  tx: Transaction,
  { store, plans }: Pick<Grouping, 'store' | 'plans'>,
  { customerId, subscriptionId }: Pick<Joined, 'customerId' | 'subscriptionId'>,
  groupName: string,
): Promise<readonly Subscription[]> {
  const open = await store.listOpenOfCustomer(tx, customerId);
  const others = open.filter(({ id }) => id !== subscriptionId);
  if (others.length === 0) return [];
  // A pending change counts as if it had taken effect.
  const plansOf = ({ planId, pendingChange }: Subscription) => [planId, pendingChange?.planId ?? planId];
  const inGroup = new Set(
    (await plans.findAll(tx, [...new Set(others.flatMap(plansOf))]))
      .filter((plan) => soldGroupOf(plan) === groupName)
      .map(({ id }) => id),
  );
  return others
    .filter((one) => plansOf(one).some((planId) => inGroup.has(planId)))
    .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
}

export function alreadySubscribed(subscriptionId: string | null): Failure {
  return subscriptionId === null
    ? new Failure(
        'already_subscribed',
        'Another request is creating a subscription of this customer to a plan of the same group. Retry later.',
        { subscriptionId, retryAfterSeconds: 1 },
      )
    : new Failure(
        'already_subscribed',
        'The customer already has a subscription to this plan, or to another one of its group. Change that subscription, ' +
          'or cancel it first.',
        { subscriptionId },
      );
}
