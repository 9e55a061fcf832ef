import type { Subscription } from '#core/model/subscription.ts';
import type { Feature } from '#engine/feature.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byIds, type SearchSource } from '#engine/search/search-source.ts';
import type { EventReading, EventRule, RefreshTarget } from '#engine/sync/event-rule.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import {
  registerSubscriptionPreviewRoutes,
  registerSubscriptionUpdateRoutes,
} from './changes/subscription-change-routes.ts';
import { registerEntitlementRoutes } from './entitlements/entitlement-routes.ts';
import type { EntitlementService } from './entitlements/entitlement-service.ts';
import { registerSubscriptionPaymentRoutes } from './paying/subscription-payment-routes.ts';
import { adoptingSubscriptions, type ImportContext, subscriptionStage } from './subscription-import.ts';
import { erasedSubscription, subscriptionEvents, subscriptionKind } from './subscription-kind.ts';
import { type CountedStores, countedSubscriptions } from './subscription-overview.ts';
import { registerSubscriptionRoutes } from './subscription-routes.ts';
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

/** The items that a voided invoice has taken must wait again. */
const subscriptionRule: EventRule = { alsoRefreshed: voidedInvoicesOf };

function voidedInvoicesOf({ subject, facts }: EventReading): readonly RefreshTarget[] {
  if (subject !== 'invoice') return [];
  return facts.flatMap(({ mayLose, processorSubscriptionId: key }) =>
    mayLose === true && key !== null ? [{ subject: 'voidedInvoice', key } as const] : [],
  );
}

function subscriptionSources(store: SubscriptionStore): readonly SearchSource[] {
  return [byIds(store, showSubscription)];
}

function showSubscription(row: Subscription): Found {
  const { id, customerId, planId, status, createdAt } = row;
  const label = row.processorSubscriptionId;
  const shown = { objectType: 'subscription', objectId: id, customerId, planId, label };
  return { ...nothing, ...shown, status, createdAt };
}
