import { groupOf, type Plan } from '#core/model/plan.ts';

export type PlanView = ReturnType<typeof planView>;

/** A plan as the API shows it. */
export function planView(plan: Plan) {
  return {
    id: plan.id,
    processorProductId: plan.processorProductId,
    processorPriceId: plan.processorPriceId,
    name: plan.name,
    amount: plan.amount,
    currency: plan.currency,
    interval: plan.interval,
    intervalCount: plan.intervalCount,
    features: plan.features,
    group: groupOf(plan),
    addOn: plan.addOn,
    repeatable: plan.repeatable,
    active: plan.active,
    metadata: plan.metadata,
    createdAt: plan.createdAt.toISOString(),
    updatedAt: plan.updatedAt.toISOString(),
  };
}
