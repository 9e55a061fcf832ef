import type { Feature } from '#engine/feature.ts';
import { registerPaymentMethodRoutes } from './payment-method-routes.ts';
import type { PaymentMethodService } from './payment-method-service.ts';

interface Context {
  readonly paymentMethods: PaymentMethodService;
}

export const paymentMethodFeature: Feature<Context> = {
  tags: [{ name: 'payment methods', description: 'Saved cards, passed through from the processor.' }],
  routes: (app, { paymentMethods }) => registerPaymentMethodRoutes(app, paymentMethods),
  operations: ({ paymentMethods }) => [paymentMethods.creation],
};
