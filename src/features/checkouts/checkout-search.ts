import type { Checkout } from '#core/model/checkout.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byIds, type SearchSource } from '#engine/search/search-source.ts';
import type { CheckoutStore } from './checkout-store.ts';

export function checkoutSources(store: CheckoutStore): readonly SearchSource[] {
  return [byIds(store, showCheckout)];
}

function showCheckout(row: Checkout): Found {
  const { id, customerId, planId, status, amount, currency, createdAt } = row;
  const label = row.processorCheckoutSessionId;
  const shown = { objectType: 'checkout', objectId: id, customerId, planId, label };
  return { ...nothing, ...shown, status, amount, currency, createdAt };
}
