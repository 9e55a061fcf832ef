import { Failure } from '../errors.ts';
import { type Admission, ReservationHeld } from '../idempotency/operation.ts';
import { correct } from '../mirrors/refresh.ts';
import { groupOf } from '../model/plan.ts';
import type { Subscription } from '../model/subscription.ts';
import type { PlanService } from '../plans/plan-service.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import type { GroupReservationStore } from './group-reservation-store.ts';
import type { SubscriptionMirror } from './subscription-mirror.ts';
import type { SubscriptionStore } from './subscription-store.ts';

export interface GroupParts {
  readonly groups: GroupReservationStore;
  readonly store: SubscriptionStore;
  readonly plans: PlanService;
}

interface HolderParts extends Omit<GroupParts, 'plans'> {
  readonly database: Database;
  readonly mirror: SubscriptionMirror;
}

/** A subscription that is about to have a plan. */
export interface Joining {
  readonly customerId: string;
  readonly planId: string;
  /** This subscription itself does not count. */
  readonly subscriptionId: string;
  readonly claimId: string;
  readonly admission: Admission;
}

/** What the check needs. */
type Joined = Omit<Joining, 'claimId' | 'admission'>;

/**
 * Reserves the group of a plan for a claim, until the claim is recorded or released. Fails if the customer has a live
 * subscription to a plan that is in this group now. The reservation comes before the check: if it waited for another
 * claim, the check sees the subscription that the other claim recorded. A claim that was admitted is not checked again,
 * because its plan may have joined a taken group since.
 */
export async function reserveGroup(tx: Transaction, parts: GroupParts, joining: Joining): Promise<void> {
  const { groups, plans } = parts;
  const { customerId, planId, subscriptionId, claimId, admission } = joining;
  const [plan] = await plans.findAll(tx, [planId]);
  const groupName = plan === undefined ? null : groupOf(plan);
  if (groupName === null) return;
  if (admission !== 'new' && (await groups.hasReservation(tx, claimId))) return;
  const holder = await groups.reserve(tx, { customerId, groupName, subscriptionId, claimId });
  if (admission === 'again') return;
  const live = await findLive(tx, parts, joining, groupName);
  if (live !== undefined) throw alreadySubscribed(live.id);
  if (holder !== claimId) throw new ReservationHeld(holder, 'resume if same', alreadySubscribed(null));
}

/**
 * Corrects the row of the subscription for which an ended claim still holds a group. The claim was recorded while the row
 * changed, so the row may not show the new plan yet.
 */
export async function correctHolder(
  { database, groups, store, mirror }: HolderParts,
  claimId: string,
): Promise<void> {
  const subscriptionId = await groups.findSubscription(database, claimId);
  const [row] = subscriptionId === undefined ? [] : await store.find(database, [subscriptionId]);
  if (row !== undefined) await correct(mirror, row.processorSubscriptionId);
}

/** Fails if the customer has another live subscription to a plan of the group that this plan is in. Reserves nothing. */
export async function refuseTakenGroup(
  tx: Transaction,
  parts: Omit<GroupParts, 'groups'>,
  joining: Joined,
): Promise<void> {
  const [plan] = await parts.plans.findAll(tx, [joining.planId]);
  const groupName = plan === undefined ? null : groupOf(plan);
  const live = groupName === null ? undefined : await findLive(tx, parts, joining, groupName);
  if (live !== undefined) throw alreadySubscribed(live.id);
}

/** The oldest other live subscription of the customer to a plan of the group, or with a pending change to one. */
async function findLive(
  tx: Transaction,
  { store, plans }: Omit<GroupParts, 'groups'>,
  { customerId, subscriptionId }: Joined,
  groupName: string,
): Promise<Subscription | undefined> {
  const open = await store.listOpenOfCustomer(tx, customerId);
  const others = open.filter(({ id }) => id !== subscriptionId);
  if (others.length === 0) return undefined;
  // A pending change counts as if it had taken effect.
  const plansOf = ({ planId, pendingChange }: Subscription) => [planId, pendingChange?.planId ?? planId];
  const inGroup = new Set(
    (await plans.findAll(tx, [...new Set(others.flatMap(plansOf))]))
      .filter((plan) => groupOf(plan) === groupName)
      .map(({ id }) => id),
  );
  const [oldest] = others
    .filter((one) => plansOf(one).some((planId) => inGroup.has(planId)))
    .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  return oldest;
}

function alreadySubscribed(subscriptionId: string | null): Failure {
  return subscriptionId === null
    ? new Failure(
        'already_subscribed',
        'Another request is creating a subscription of this customer to a plan of the same group. Retry later.',
        { subscriptionId, retryAfterSeconds: 1 },
      )
    : new Failure(
        'already_subscribed',
        'The customer already has a subscription to a plan of the same group. Change that subscription, or cancel it ' +
          'first.',
        { subscriptionId },
      );
}
