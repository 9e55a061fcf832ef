import type { PlanService } from '../../plans/plan-service.ts';
import { defineFamily } from './event-family.ts';

/** product.updated, product.deleted */
export function productEvents(plans: PlanService) {
  return defineFamily({
    pick: (event) => (event.resource === 'product' ? [event.product] : undefined),
    keyOf: ({ processorProductId }) => processorProductId,
    lock: (tx, batch) =>
      plans.lock(
        tx,
        batch.flatMap((event) => (event.resource === 'product' ? [event.product.processorProductId] : [])),
        batch.flatMap((event) => (event.resource === 'price' ? [event.price.processorPriceId] : [])),
      ),
    apply: (tx, facts) => plans.applyProducts(tx, facts, 'events'),
    refresh: (key) => plans.refreshByProduct(key),
  });
}

/** price.created, updated, deleted */
export function priceEvents(plans: PlanService) {
  return defineFamily({
    pick: (event) => (event.resource === 'price' ? [event.price] : undefined),
    keyOf: ({ processorPriceId }) => processorPriceId,
    apply: (tx, facts) => plans.applyPrices(tx, facts, 'events'),
    refresh: (key) => plans.refresh(key),
  });
}
