import { groupOf, type Plan } from '../model/plan.ts';
import type { PlanService } from '../plans/plan-service.ts';
import type { Database } from '../platform/postgres.ts';
import type { SubscriptionStore } from './subscription-store.ts';

interface TrialParts {
  readonly database: Database;
  readonly store: SubscriptionStore;
  readonly plans: PlanService;
}

/**
 * Whether another subscription of the customer ever had a trial to a plan of the same group. Without a group: to the same
 * plan.
 */
export async function hadTrial(
  { database, store, plans }: TrialParts,
  plan: Plan,
  customerId: string,
  subscriptionId: string,
): Promise<boolean> {
  const planIds = await store.listPlansOfTrials(database, customerId, subscriptionId);
  if (planIds.includes(plan.id)) return true;
  const groupName = groupOf(plan);
  if (groupName === null || planIds.length === 0) return false;
  const others = await database.transaction((tx) => plans.findAll(tx, planIds));
  return others.some((other) => groupOf(other) === groupName);
}
