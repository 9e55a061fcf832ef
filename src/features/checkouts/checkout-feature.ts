import type { Feature } from '#engine/feature.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { registerCheckoutRoutes } from './checkout-routes.ts';
import type { CheckoutService } from './checkout-service.ts';

interface Context {
  readonly checkouts: CheckoutService;
  readonly customers: CustomerService;
}

export const checkoutFeature: Feature<Context> = {
  tags: [
    {
      name: 'checkouts',
      description: 'Pages of the processor on which customers subscribe, pay or save a card.',
    },
  ],
  routes: (app, { checkouts, customers }) => registerCheckoutRoutes(app, checkouts, customers),
  operations: ({ checkouts }) => [checkouts.creation],
};
