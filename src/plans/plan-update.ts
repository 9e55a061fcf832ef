import { applyInTransaction } from '../mirrors/refresh.ts';
import { type UpdateOperation, updateSteps } from '../mirrors/update-operation.ts';
import { refuseTooManyKeys } from '../model/metadata.ts';
import {
  type ChangedPlanFacts,
  foundPlan,
  isPlanChangeIgnored,
  type Plan,
  type PlanChange,
  planInUse,
  refuseGroupOfAddOn,
} from '../model/plan.ts';
import type { Queryable } from '../platform/postgres.ts';
import type { PlanParts } from './plan-creation.ts';

export type PlanUpdate = UpdateOperation<Plan, PlanChange, ChangedPlanFacts>;

/** The steps of changing a plan, which is a change of its product, and for `addOn` of its price. */
export function planUpdate({ database, store, mirror, processor }: PlanParts): PlanUpdate {
  const findRow = async (db: Queryable, id: string) => foundPlan((await store.find(db, [id]))[0]);
  return {
    ...updateSteps<Plan, PlanChange, ChangedPlanFacts>({
      name: 'plans.update',
      resource: 'plan',
      ...{ database, mirror, partMirror: mirror.products, findRow },
      keyOf: ({ processorPriceId }) => processorPriceId,
      send: ({ processorProductId, processorPriceId }, change, idempotencyKey) =>
        processor.plans.update({ ...change, processorProductId, processorPriceId, idempotencyKey }),
      read: async ({ processorPriceId }) => {
        const facts = await processor.plans.read(processorPriceId);
        return facts && { ...facts.product, price: facts.price };
      },
      isIgnored: isPlanChangeIgnored,
    }),
    prepare: async ({ id, change }) => {
      const plan = await findRow(database, id);
      const { addOn = plan.addOn, group, metadata = {} } = change;
      refuseTooManyKeys(plan.metadata, metadata);
      refuseGroupOfAddOn(addOn, group);
      if (addOn !== plan.addOn && (await store.isInUse(database, id))) throw planInUse();
      return plan;
    },
    record: async (tx, _id, { facts, row }) => {
      if (facts === null) return { result: await findRow(tx, row.id) };
      const product = await applyInTransaction(tx, mirror.products, facts, row);
      const current = await findRow(tx, row.id);
      // The product changed the row in this transaction, so its new revision counts, unless the row needs a refresh.
      const known = product.needsRefresh ? row : current;
      const price = facts.price && (await applyInTransaction(tx, mirror.prices, facts.price, known));
      const needsRefresh = product.needsRefresh || price?.needsRefresh === true;
      return { result: price ? await findRow(tx, row.id) : current, needsRefresh };
    },
  };
}
