import type { Feature } from '#engine/feature.ts';
import { registerPortalRoutes } from './portal-routes.ts';
import type { PortalService } from './portal-service.ts';

interface Context {
  readonly portal: PortalService;
}

export const portalFeature: Feature<Context> = {
  tags: [
    { name: 'portal', description: "The processor's pages for customers: cards, invoices, cancellation." },
  ],
  routes: (app, { portal }) => registerPortalRoutes(app, portal),
};
