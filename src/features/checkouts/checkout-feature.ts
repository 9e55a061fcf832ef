import type { Feature } from '#engine/feature.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { checkoutEvents, checkoutKind } from './checkout-kind.ts';
import type { CheckoutMirror } from './checkout-mirror.ts';
import { registerCheckoutRoutes } from './checkout-routes.ts';
import type { CheckoutService } from './checkout-service.ts';

interface Context {
  readonly mirrors: { readonly checkouts: CheckoutMirror };
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
  events: [checkoutEvents],
  kinds: () => [checkoutKind],
  subjects: ({ mirrors }) => ({ checkout: mirrors.checkouts }),
};
