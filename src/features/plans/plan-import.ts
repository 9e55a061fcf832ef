import type { PlanFacts } from '#core/model/plan.ts';
import { priceObstacles } from '#core/model/price-obstacle.ts';
import { withRecovery } from '#engine/mirrors/apply-facts.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { noRevisions } from '#engine/mirrors/refresh.ts';
import { ifFound, mapItems, withLocalId } from '#engine/sync/adopted-facts.ts';
import { rowsOf, type Stage, stageOf } from '#engine/sync/import-stage.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { PlanMirror } from './plan-mirror.ts';

export interface ImportContext {
  readonly processor: Processor;
  readonly mirrors: { readonly plans: PlanMirror };
}

export function planStage({ processor, mirrors }: ImportContext): Stage<PlanFacts> {
  return {
    ...stageOf(mirroredList(mirrors.plans, processor.plans), rowsOf(mirrors.plans, 'processorPriceId')),
    refuse: ({ product, price }) => {
      if (price.obstacle !== undefined) return priceObstacles[price.obstacle];
      if (product.deleted) return 'The product of the price is deleted.';
      return product.name === null ? 'The product of the price has no name.' : undefined;
    },
    apply: async (tx, facts) => {
      const created = await mirrors.plans.record(tx, facts);
      const applied = await mirrors.plans.apply(tx, facts, noRevisions);
      return withRecovery(applied, { created: created.map(({ processorPriceId }) => processorPriceId) });
    },
  };
}

export function adoptingPlans({ plans }: Processor): Pick<Processor, 'plans'> {
  return {
    plans: {
      ...plans,
      read: async (id) => ifFound(await plans.read(id), adoptPlan),
      list: (filter) => mapItems(plans.list(filter), adoptPlan),
    },
  };
}

/** A price that cannot be a Till plan may belong to other applications. */
function adoptPlan({ product, price }: PlanFacts): PlanFacts {
  const isPlan = price.obstacle === undefined;
  return { product, price: isPlan ? withLocalId(price, 'plan', price.processorPriceId) : price };
}
