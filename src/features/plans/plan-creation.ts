import type { Plan, PlanFacts } from '#core/model/plan.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import { type CheckedOperation, lookUpOf, ofSameRequest } from '#engine/idempotency/operation.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { untilSettled } from '#engine/mirrors/refresh.ts';
import type { PlanValues } from '#processor/port/processor.ts';
import { type PlanMirror, toPlan } from './plan-mirror.ts';
import type { PlanStore } from './plan-store.ts';

export interface PlanContext extends MirrorContext {
  readonly idempotency: IdempotencyService;
  readonly store: PlanStore;
  readonly mirror: PlanMirror;
}

export type PlanCreation = CheckedOperation<PlanValues, undefined, PlanFacts, Plan>;

/** The steps of creating a plan. */
export function planCreation({ database, store, mirror, processor, clock }: PlanContext): PlanCreation {
  return {
    name: 'plans.create',
    parentIdOf: () => null,
    prepare: async () => undefined,
    call: (values, _, write) => processor.plans.create({ ...values, ...write }),
    record: async (tx, id, facts) => {
      const plan = toPlan(id, facts, clock.now());
      if (plan === undefined) {
        const { processorPriceId } = facts.price;
        throw new Error(
          `the plan of price ${processorPriceId} has no name, no whole amount or no simple interval`,
        );
      }
      await store.insert(tx, [plan]);
      return { result: await store.read(tx, id) };
    },
    idOf: ({ price }) => price.localId,
    find: async (claim) => ofSameRequest(claim, await processor.plans.find(lookUpOf(claim))),
    refresh: async ({ id, processorPriceId }) => {
      await untilSettled(() => mirror.refresh(processorPriceId));
      return store.read(database, id);
    },
    replay: (id) => store.read(database, id),
  };
}
