import type { Feature } from '#engine/feature.ts';
import { registerPlanRoutes } from './plan-routes.ts';
import type { PlanService } from './plan-service.ts';

interface Context {
  readonly plans: PlanService;
}

export const planFeature: Feature<Context> = {
  tags: [{ name: 'plans', description: 'The price and the billing interval of a subscription.' }],
  routes: (app, { plans }) => registerPlanRoutes(app, plans),
  operations: ({ plans }) => [plans.creation, plans.updating],
};
