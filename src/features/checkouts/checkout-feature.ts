import type { Checkout } from '#core/model/checkout.ts';
import { erasedMetadata } from '#engine/events/outbox/personal-data.ts';
import type { Feature } from '#engine/feature.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byIds, type SearchSource } from '#engine/search/search-source.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { checkoutEvents, checkoutKind } from './checkout-kind.ts';
import type { CheckoutMirror } from './checkout-mirror.ts';
import { registerCheckoutRoutes } from './checkout-routes.ts';
import type { CheckoutService } from './checkout-service.ts';
import { type CheckoutStore, checkoutList, ownedCheckouts } from './checkout-store.ts';

interface Context {
  readonly stores: { readonly checkouts: CheckoutStore };
  readonly processor: Processor;
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
  owned: [ownedCheckouts],
  erased: { checkout: erasedMetadata },
  search: { checkout: ({ stores }) => checkoutSources(stores.checkouts) },
  lists: {
    // Only the open checkouts. An import adopts none of them.
    checkout: {
      after: ['subscription', 'invoice', 'payment'],
      open: ({ processor, mirrors }) => mirroredList(mirrors.checkouts, processor.checkouts),
      count: async ({ checkouts }, customerId) =>
        (await checkouts.list({ limit: 1, filters: { customerId, status: 'open' } })).total,
      isOfCustomer: true,
      // Those that have ended since are missing.
      unlisted: async function* ({ checkouts, mirrors }, { customerId }) {
        for await (const keys of checkouts.listOpen(customerId)) yield { mirror: mirrors.checkouts, keys };
      },
    },
  },
  staleMirrors: ({ mirrors }) => [mirrors.checkouts],
  countedLists: [checkoutList],
};

function checkoutSources(store: CheckoutStore): readonly SearchSource[] {
  return [byIds(store, showCheckout)];
}

function showCheckout(row: Checkout): Found {
  const { id, customerId, planId, status, amount, currency, createdAt } = row;
  const label = row.processorCheckoutSessionId;
  const shown = { objectType: 'checkout', objectId: id, customerId, planId, label };
  return { ...nothing, ...shown, status, amount, currency, createdAt };
}
