import type { Feature } from '#engine/feature.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { registerSubscriptionPreviewRoutes } from './changes/subscription-preview-routes.ts';
import { registerSubscriptionUpdateRoutes } from './changes/subscription-update-routes.ts';
import { registerEntitlementRoutes } from './entitlements/entitlement-routes.ts';
import type { EntitlementService } from './entitlements/entitlement-service.ts';
import { registerSubscriptionPaymentRoutes } from './paying/subscription-payment-routes.ts';
import { adoptingSubscriptions, type ImportContext, subscriptionStage } from './subscription-import.ts';
import { erasedSubscription, subscriptionEvents, subscriptionKind } from './subscription-kind.ts';
import { type CountedStores, countedSubscriptions } from './subscription-overview.ts';
import { registerSubscriptionRoutes } from './subscription-routes.ts';
import { subscriptionRule } from './subscription-rule.ts';
import { subscriptionSources } from './subscription-search.ts';
import type { SubscriptionService } from './subscription-service.ts';
import { ownedSubscriptions, type SubscriptionStore, subscriptionList } from './subscription-store.ts';

interface Context extends ImportContext {
  readonly stores: CountedStores & { readonly subscriptions: SubscriptionStore };
  readonly subscriptions: SubscriptionService;
  readonly entitlements: EntitlementService;
  readonly customers: CustomerService;
}

export const subscriptionFeature: Feature<Context> = {
  tags: [
    { name: 'subscriptions', description: 'Recurring payments.' },
    { name: 'entitlements', description: 'What customers may use now.' },
  ],
  routes: (app, { subscriptions, entitlements, customers }) => {
    registerSubscriptionRoutes(app, subscriptions, entitlements, customers);
    registerEntitlementRoutes(app, entitlements, subscriptions);
    registerSubscriptionUpdateRoutes(app, subscriptions, entitlements);
    registerSubscriptionPaymentRoutes(app, subscriptions, entitlements);
    registerSubscriptionPreviewRoutes(app, subscriptions);
  },
  operations: ({ subscriptions }) => [subscriptions.creation, subscriptions.updating, subscriptions.paying],
  events: [subscriptionEvents],
  kinds: ({ entitlements }) => [subscriptionKind(entitlements)],
  subjects: ({ mirrors: { subscriptions } }) => ({
    subscription: subscriptions,
    changedSubscription: subscriptions.changed,
    expiredChange: subscriptions.ofExpiredChanges,
    voidedInvoice: subscriptions.ofVoidedInvoices,
    detachedMethod: subscriptions.ofDetachedMethods,
  }),
  owned: [ownedSubscriptions],
  erased: { subscription: erasedSubscription },
  rules: () => [subscriptionRule],
  search: { subscription: ({ stores }) => subscriptionSources(stores.subscriptions) },
  lists: {
    subscription: {
      after: ['customer', 'plan'],
      open: ({ processor, mirrors }) => mirroredList(mirrors.subscriptions, processor.subscriptions),
      count: async ({ subscriptions }, customerId) =>
        (await subscriptions.list({ limit: 1, filters: { customerId } })).total,
      isOfCustomer: true,
    },
  },
  imports: {
    subscription: {
      after: ['customer'],
      open: (context, { refused }) => subscriptionStage(context, refused),
    },
  },
  adopting: adoptingSubscriptions,
  staleMirrors: ({ mirrors }) => [mirrors.subscriptions],
  counted: ({ stores }) => [countedSubscriptions(stores)],
  countedLists: [subscriptionList],
};
