import type { Feature } from '#engine/feature.ts';
import { registerMeterRoutes } from './meter-routes.ts';
import type { MeterService } from './meter-service.ts';
import { UsageErasureStore } from './usage-erasure-store.ts';
import { usageEvents } from './usage-limits.ts';
import { registerUsageRoutes, type UsageServices } from './usage-routes.ts';

interface Context extends UsageServices {
  readonly meters: MeterService;
}

export const usageFeature: Feature<Context> = {
  tags: [{ name: 'usage', description: 'What customers use of each meter, counted and limited.' }],
  routes: (app, context) => {
    registerMeterRoutes(app, context.meters);
    registerUsageRoutes(app, context);
  },
  operations: ({ meters }) => [meters.creation, meters.updating],
  events: [usageEvents],
  searched: [new UsageErasureStore()],
};
