import { notFound } from '#core/errors.ts';
import { refuseTooManyKeys } from '#core/model/metadata.ts';
import {
  type ChangedPlanFacts,
  isPlanChangeIgnored,
  type Plan,
  type PlanChange,
  planInUse,
  refuseGroupOfAddOn,
} from '#core/model/plan.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import {
  type CheckedReservingOperation,
  type ReleasedClaim,
  ReservationHeld,
} from '#engine/idempotency/operation.ts';
import { applyInTransaction, untilSettled } from '#engine/mirrors/refresh.ts';
import {
  type Updated,
  type UpdateOperation,
  type UpdateRequest,
  updateSteps,
} from '#engine/mirrors/update-operation.ts';
import type { PlanContext } from './plan-creation.ts';

/** The operations that give plans to subscriptions. */
const joiningOperations = ['checkouts.create', 'subscriptions.create', 'subscriptions.update'];

export type PlanUpdate = UpdateOperation<Plan, PlanChange, ChangedPlanFacts>;
type AddOnUpdate = CheckedReservingOperation<
  UpdateRequest<PlanChange>,
  Plan,
  Updated<Plan, ChangedPlanFacts>,
  Plan
>;

/** The steps of a change that may change `addOn`: no subscription gets the plan while it is in progress. */
export function addOnUpdate(context: PlanContext): AddOnUpdate {
  return {
    ...planUpdate(context),
    reserve: async (tx, claimId, { id }) => {
      const holder = await context.store.reserveAddOn(tx, id, claimId);
      if (holder === undefined) throw notFound('plan');
      if (holder !== claimId) throw new ReservationHeld(holder, 'resume if same');
    },
  };
}

/**
 * Corrects the plan whose `addOn` an ended claim has changed, and lets subscriptions have it again. The claim was
 * recorded while the row changed, so the row may not show the change yet. A plan that the processor does not know has
 * not changed.
 */
export async function finishAddOnChange(
  { database, store, mirror }: Pick<PlanContext, 'database' | 'store' | 'mirror'>,
  claimId: string,
): Promise<void> {
  const plan = await store.findByAddOnClaim(database, claimId);
  if (plan === undefined) return;
  await untilSettled(() => mirror.refresh(plan.processorPriceId));
  await store.releaseAddOn(database, claimId);
}

/** The steps of changing a plan, which is a change of its product, and for `addOn` and `repeatable` of its price. */
export function planUpdate({ idempotency, database, store, mirror, processor }: PlanContext): PlanUpdate {
  return {
    ...updateSteps<Plan, PlanChange, ChangedPlanFacts>({
      name: 'plans.update',
      resource: 'plan',
      ...{ database, mirror, partMirror: mirror.products },
      findRow: (db, id) => store.read(db, id),
      keyOf: ({ processorPriceId }) => processorPriceId,
      send: ({ processorProductId, processorPriceId }, change, idempotencyKey) =>
        processor.plans.update({ ...change, processorProductId, processorPriceId, idempotencyKey }),
      read: async ({ processorPriceId }) => {
        const facts = await processor.plans.read(processorPriceId);
        return facts && { ...facts.product, price: facts.price };
      },
      isIgnored: isPlanChangeIgnored,
      endReservation: (db, claimId) => store.releaseAddOn(db, claimId),
    }),
    prepare: async ({ id, change }) => {
      const plan = await store.read(database, id);
      const { addOn = plan.addOn, group, metadata = {} } = change;
      refuseTooManyKeys(plan.metadata, metadata);
      refuseGroupOfAddOn(addOn, group);
      if (addOn !== plan.addOn) {
        // Later requests read the plan after their claim is stored, so they see that `addOn` is changing.
        await idempotency.waitForRunning(joiningOperations);
        if (await store.isInUse(database, id)) throw planInUse();
      }
      return plan;
    },
    finishReservation: (claimId) => finishAddOnChange({ database, store, mirror }, claimId),
    release: (tx: Transaction, { resourceId }: ReleasedClaim) => store.releaseAddOn(tx, resourceId),
    record: async (tx, id, { facts, row }) => {
      if (facts === null) return { result: await store.read(tx, row.id) };
      const { price, ...product } = facts;
      // A changed price is applied together with its product: the product alone would give the row a new revision, and
      // then the row does not show whether the price is current.
      const { needsRefresh } =
        price === undefined
          ? await applyInTransaction(tx, mirror.products, product, row)
          : await applyInTransaction(tx, mirror, { product, price }, row);
      // No subscription gets the plan until the row shows the change.
      if (!needsRefresh && row.addOnClaimId === id) await store.releaseAddOn(tx, id);
      return { result: await store.read(tx, row.id), needsRefresh };
    },
  };
}
