import type { Plan } from '#core/model/plan.ts';
import type { Feature } from '#engine/feature.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byFields, byIds, byKey, type SearchSource } from '#engine/search/search-source.ts';
import { comparedWith } from '#engine/search/searched-words.ts';
import type { EventRule } from '#engine/sync/event-rule.ts';
import { adoptingPlans, type ImportContext, planStage } from './plan-import.ts';
import { planEvents, planKind } from './plan-kind.ts';
import type { PlanMirror } from './plan-mirror.ts';
import { registerPlanRoutes } from './plan-routes.ts';
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

/** Products and prices share the rows of plans. */
function planRule(plans: PlanMirror): EventRule {
  return {
    sharedRows: {
      subjects: ['product', 'price'],
      lock: (tx, about) => plans.lock(tx, about('product'), about('price')),
    },
  };
}

function planSources(store: PlanStore): readonly SearchSource[] {
  return [
    byIds(store, showPlan),
    byKey((db, text) => store.findByProductIds(db, [text]), showPlan),
    byFields((...by) => store.searchNames(...by), showPlan, ['name'], comparedWith),
  ];
}

function showPlan({ id, name, amount, currency, interval, active, createdAt }: Plan): Found {
  const status = active ? 'active' : 'archived';
  const shown = { objectType: 'plan', objectId: id, label: name, description: interval };
  return { ...nothing, ...shown, status, amount, currency, createdAt };
}
