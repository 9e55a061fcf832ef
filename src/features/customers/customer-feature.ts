import type { Feature } from '#engine/feature.ts';
import { customerEvents, customerKind } from './customer-kind.ts';
import type { CustomerMirror } from './customer-mirror.ts';
import { registerCustomerRoutes } from './customer-routes.ts';
import type { CustomerService } from './customer-service.ts';

interface Context {
  readonly mirrors: { readonly customers: CustomerMirror };
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
  events: [customerEvents],
  kinds: () => [customerKind],
  subjects: ({ mirrors }) => ({ customer: mirrors.customers }),
};
