import type { Feature } from '#engine/feature.ts';
import { registerCustomerRoutes } from './customer-routes.ts';
import type { CustomerService } from './customer-service.ts';

interface Context {
  readonly customers: CustomerService;
  readonly checkouts: { expireOfCustomer(customerId: string): Promise<void> };
  readonly subscriptions: { correctOfCustomer(customerId: string): Promise<void> };
}

export const customerFeature: Feature<Context> = {
  tags: [{ name: 'customers', description: 'People or companies that pay you.' }],
  routes: (app, { customers, checkouts, subscriptions }) =>
    registerCustomerRoutes(app, {
      customers,
      expireCheckouts: (customerId) => checkouts.expireOfCustomer(customerId),
      correctSubscriptions: (customerId) => subscriptions.correctOfCustomer(customerId),
    }),
  operations: ({ customers }) => [customers.creation, customers.updating],
};
