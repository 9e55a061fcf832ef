import type { Feature } from '#engine/feature.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { adoptingPlans, type ImportContext, planStage } from './plan-import.ts';
import { planEvents, planKind } from './plan-kind.ts';
import { registerPlanRoutes } from './plan-routes.ts';
import { planRule } from './plan-rule.ts';
import { planSources } from './plan-search.ts';
import type { PlanService } from './plan-service.ts';
import type { PlanStore } from './plan-store.ts';

interface Context extends ImportContext {
  readonly stores: { readonly plans: PlanStore };
  readonly plans: PlanService;
}

export const planFeature: Feature<Context> = {
  tags: [{ name: 'plans', description: 'The price and the billing interval of a subscription.' }],
  routes: (app, { plans }) => registerPlanRoutes(app, plans),
  operations: ({ plans }) => [plans.creation, plans.updating],
  events: [planEvents],
  kinds: () => [planKind],
  subjects: ({ mirrors: { plans } }) => ({ product: plans.products, price: plans.prices }),
  rules: ({ mirrors }) => [planRule(mirrors.plans)],
  search: { plan: ({ stores }) => planSources(stores.plans) },
  lists: {
    plan: {
      open: ({ processor, mirrors }) => mirroredList(mirrors.plans, processor.plans),
      count: async ({ plans }) => (await plans.list(false)).length,
    },
  },
  imports: { plan: { open: planStage } },
  adopting: adoptingPlans,
};
