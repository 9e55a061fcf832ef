import { groupOf, ownGroupOf, type Plan } from '#core/model/plan.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { ReservationHeld } from '#engine/idempotency/operation.ts';
import { type Grouping, type Joining, requireRecovered } from './reserve-group.ts';

/**
 * Whether another subscription of the customer ever had a trial to a plan of the same group. Without a group: to the
 * same plan.
 */
export async function hadTrial(
  tx: Transaction,
  { store, plans }: Pick<Grouping, 'store' | 'plans'>,
  plan: Plan,
  customerId: string,
  subscriptionId: string,
): Promise<boolean> {
  const planIds = await store.listPlansOfTrials(tx, customerId, subscriptionId);
  if (planIds.includes(plan.id)) return true;
  const groupName = groupOf(plan);
  if (groupName === null || planIds.length === 0) return false;
  return (await plans.findAll(tx, planIds)).some((other) => groupOf(other) === groupName);
}

/**
 * Reserves the customer's trial of a plan without a group, as `reserveGroup` reserves a group: until the claim is
 * recorded or released. From then on `hadTrial` sees the subscription. The plan is the group, so that an open checkout,
 * which may offer the trial too, is expired first. A claim is not finished for another request, because its caller may
 * no longer want a second subscription.
 */
export async function reserveTrial(
  tx: Transaction,
  context: Pick<Grouping, 'groups' | 'lostCommits'>,
  { customerId, planId, subscriptionId, claimId }: Omit<Joining, 'admission'>,
): Promise<void> {
  const groupName = ownGroupOf({ id: planId });
  const reservation = { customerId, groupName, subscriptionId, claimId };
  const { claimId: holder, newHistory } = await context.groups.reserve(tx, reservation);
  requireRecovered(context, customerId, newHistory);
  if (holder !== claimId) throw new ReservationHeld(holder, 'look up');
}
