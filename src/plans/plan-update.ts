import { type UpdateOperation, updateSteps } from '../mirrors/update-operation.ts';
import { refuseTooManyKeys } from '../model/metadata.ts';
import {
  foundPlan,
  isPlanChangeIgnored,
  type Plan,
  type PlanChange,
  type ProductFacts,
} from '../model/plan.ts';
import type { Queryable } from '../platform/postgres.ts';
import type { PlanParts } from './plan-creation.ts';

export type PlanUpdate = UpdateOperation<Plan, PlanChange, ProductFacts>;

/** The steps of changing a plan, which is a change of its product. */
export function planUpdate({ database, store, mirror, processor }: PlanParts): PlanUpdate {
  const findRow = async (db: Queryable, id: string) => foundPlan((await store.find(db, [id]))[0]);
  return {
    ...updateSteps<Plan, PlanChange, ProductFacts>({
      name: 'plans.update',
      resource: 'plan',
      ...{ database, mirror, partMirror: mirror.products, findRow },
      keyOf: ({ processorPriceId }) => processorPriceId,
      send: ({ processorProductId }, change, idempotencyKey) =>
        processor.plans.update({ ...change, processorProductId, idempotencyKey }),
      read: async ({ processorPriceId }) => (await processor.plans.read(processorPriceId))?.product ?? null,
      isIgnored: isPlanChangeIgnored,
    }),
    prepare: async ({ id, change }) => {
      const plan = await findRow(database, id);
      refuseTooManyKeys(plan.metadata, change.metadata ?? {});
      return plan;
    },
  };
}
